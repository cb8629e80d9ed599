//! Bytes and time of a clone, as far as they follow from the plan.

use fathom_model::{Access, Amount, Direction, Nanos, PerDirection, Rate, Traffic};

use super::EstimatedJob;

/// Bytes of one clone. The minimum is 0 if a run time may end the job earlier. There is no maximum
/// if only a run time ends it, unless a rate limits it.
pub(super) fn amounts(one: &EstimatedJob) -> PerDirection<Amount> {
    PerDirection::from_fn(|d| amount(one, d))
}

fn amount(one: &EstimatedJob, direction: Direction) -> Amount {
    let job = one.job;
    let reads_back = direction == Direction::Read
        && job
            .verify
            .as_ref()
            .is_some_and(|verify| verify.after_writes && !verify.only);
    if !job.pattern.traffic.uses(direction) && !reads_back {
        return Amount::NONE;
    }
    if let Some(replay) = &job.pace.replay {
        let held = replay.bytes[direction];
        return Amount {
            min: if job.limits.runtime.is_none() {
                held
            } else {
                0
            },
            max: Some(held),
        };
    }
    let planned = planned(one).map(|all| share(one, direction, all, reads_back));
    let by_rate = by_rate(one, direction);
    let most = [planned, by_rate].into_iter().flatten().min();
    match job.limits.runtime {
        None if !reads_back => Amount {
            min: planned.unwrap_or(0),
            max: most,
        },
        _ => Amount { min: 0, max: most },
    }
}

/// Planned bytes of all directions of a clone; `None` if only time ends it.
pub(super) fn planned(one: &EstimatedJob) -> Option<u64> {
    if let Some(replay) = &one.job.pace.replay {
        return Some(
            replay
                .bytes
                .0
                .iter()
                .fold(0, |sum, bytes| sum.saturating_add(*bytes)),
        );
    }
    let by_bytes = one
        .of
        .bytes
        .or_else(|| one.of.passes.map(|passes| pass(one).saturating_mul(passes)));
    let largest = Direction::ALL
        .map(|d| one.job.pattern.block_size[d].max())
        .into_iter()
        .max()
        .unwrap_or(1);
    let by_ios = one.of.ios.map(|ios| ios.saturating_mul(u64::from(largest)));
    [by_bytes, by_ios].into_iter().flatten().min()
}

/// Bytes of one pass over the regions, without the gaps of sequential I/O that skips.
fn pass(one: &EstimatedJob) -> u64 {
    let block = block(one);
    let of_region = |(_, start, end): &(_, u64, u64)| match one.job.pattern.access {
        Access::Sequential { skip } if skip > 0 && end - start >= block => {
            ((end - start - block) / (block + skip.unsigned_abs()) + 1) * block
        }
        _ => end - start,
    };
    one.of.regions.iter().map(of_region).sum()
}

/// Smallest block of the directions used.
fn block(one: &EstimatedJob) -> u64 {
    let pattern = &one.job.pattern;
    let used = Direction::ALL
        .into_iter()
        .filter(|d| pattern.traffic.uses(*d));
    used.map(|d| u64::from(pattern.block_size[d].min()))
        .min()
        .unwrap_or(1)
        .max(1)
}

/// Rates of both directions of a mix, in bytes per second: then they decide the shares.
fn mixed_rates(one: &EstimatedJob) -> Option<(f64, f64)> {
    let Traffic::ReadWrite { read_percent } = one.job.pattern.traffic else {
        return None;
    };
    let bytes = |d: Direction| {
        Some(match one.job.pace.rate[d]? {
            Rate::Bandwidth(bytes) => bytes,
            Rate::Iops(ios) => ios * f64::from(one.job.pattern.block_size[d].max()),
        })
    };
    let rates = bytes(Direction::Read).zip(bytes(Direction::Write));
    rates.filter(|_| (1..100).contains(&read_percent))
}

fn share(one: &EstimatedJob, direction: Direction, all: u64, reads_back: bool) -> u64 {
    let traffic = one.job.pattern.traffic;
    if let Some((read, write)) = mixed_rates(one).filter(|_| !reads_back) {
        let rate = match direction {
            Direction::Read => read,
            _ => write,
        };
        return (all as f64 * rate / (read + write)) as u64;
    }
    let percent = |share: u8| (u128::from(all) * u128::from(share) / 100) as u64;
    match (traffic, direction) {
        (Traffic::ReadWrite { read_percent }, Direction::Read) if !reads_back => {
            percent(read_percent)
        }
        // Written data is read back.
        (Traffic::ReadWrite { .. }, Direction::Read) => all,
        (Traffic::ReadWrite { read_percent }, Direction::Write) => {
            percent(100 - read_percent.min(100))
        }
        _ => all,
    }
}

/// Bytes at the planned rate in the run time.
fn by_rate(one: &EstimatedJob, direction: Direction) -> Option<u64> {
    let limits = &one.job.limits;
    let seconds = limits.runtime?.saturating_add(limits.ramp).as_secs_f64();
    let per_second = match one.job.pace.rate[direction]? {
        Rate::Bandwidth(bytes) => bytes,
        Rate::Iops(ios) => ios * f64::from(one.job.pattern.block_size[direction].max()),
    };
    Some((per_second * seconds).ceil() as u64)
}

/// Shortest and longest time of one clone, including delay and warm-up.
pub(super) fn time(one: &EstimatedJob) -> (Nanos, Option<Nanos>) {
    let (job, limits) = (one.job, &one.job.limits);
    let before = job.start.delay.0;
    let most = limits.runtime.map(|run| {
        job.start
            .delay
            .1
            .saturating_add(limits.ramp)
            .saturating_add(run)
    });
    if let Some(run) = limits
        .runtime
        .filter(|_| limits.time_based && one.of.ios.is_none())
    {
        return (
            before.saturating_add(limits.ramp).saturating_add(run),
            most.filter(|_| !reads_back(one)),
        );
    }
    let least = paced(one).max(paused(one));
    let least = limits
        .runtime
        .map_or(least, |run| least.min(run.saturating_add(limits.ramp)));
    (
        before.saturating_add(least),
        most.filter(|_| !reads_back(one)),
    )
}

/// Whether written data is read back, which takes unlimited time after the run time.
fn reads_back(one: &EstimatedJob) -> bool {
    one.job
        .verify
        .as_ref()
        .is_some_and(|verify| verify.after_writes)
}

/// Due time of the last I/O, from the planned rate or the log.
fn paced(one: &EstimatedJob) -> Nanos {
    if let Some(replay) = &one.job.pace.replay {
        return replay.length;
    }
    let due = |d: Direction| -> Option<f64> {
        let bytes = share(one, d, planned(one)?, false) as f64;
        let largest = f64::from(one.job.pattern.block_size[d].max());
        match one.job.pace.rate[d]? {
            Rate::Bandwidth(rate) => Some((bytes - largest) / rate),
            Rate::Iops(rate) => Some((bytes / largest - 1.0) / rate),
        }
    };
    // The direction without a rate may do all of a mix.
    let is_mix = matches!(one.job.pattern.traffic, Traffic::ReadWrite { read_percent } if (1..100).contains(&read_percent));
    if is_mix && mixed_rates(one).is_none() {
        return Nanos::ZERO;
    }
    let used = Direction::ALL
        .into_iter()
        .filter(|d| one.job.pattern.traffic.uses(*d));
    used.filter_map(due)
        .map(seconds)
        .max()
        .unwrap_or(Nanos::ZERO)
}

/// Sum of the pauses between groups of I/Os.
fn paused(one: &EstimatedJob) -> Nanos {
    let (Some(think), Some(all)) = (one.job.pace.think, planned(one)) else {
        return Nanos::ZERO;
    };
    let largest = Direction::ALL
        .map(|d| one.job.pattern.block_size[d].max())
        .into_iter()
        .max()
        .unwrap_or(1)
        .max(1);
    let ios = all / u64::from(largest);
    Nanos::new(ios.saturating_sub(1) / u64::from(think.blocks.max(1)) * think.time.get())
}

fn seconds(seconds: f64) -> Nanos {
    Nanos::new((seconds.max(0.0) * 1e9) as u64)
}
