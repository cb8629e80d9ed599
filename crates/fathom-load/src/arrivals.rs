//! Due times of an open loop, exact to the nanosecond and independent of the target.

use fathom_model::{
    Arrivals, BlockSizes, Direction, Job, Nanos, PerDirection, Rate, Replay, Traffic,
};

use crate::rng::Rng;

/// Fraction bits of a nanosecond that are carried from gap to gap, so that rates are exact over any
/// number of I/Os.
const FRACTION: u32 = 24;
const SEED_ARRIVALS: u64 = 5;
const SEED_MIXED: u64 = 6;
/// Gaps drawn in one batch: the processor computes their logarithms in parallel, and none between
/// an I/O and the one due right after it.
const AHEAD: usize = 64;

/// Exponential variates of mean 1, drawn in advance.
#[derive(Clone, Debug)]
struct Exponential {
    rng: Rng,
    drawn: [f64; AHEAD],
    next: usize,
}

impl Exponential {
    fn new(rng: Rng) -> Self {
        Exponential {
            rng,
            drawn: [0.0; AHEAD],
            next: AHEAD,
        }
    }

    #[inline]
    fn draw(&mut self) -> f64 {
        if self.next == AHEAD {
            self.refill();
        }
        self.next += 1;
        self.drawn[self.next - 1]
    }

    #[cold]
    fn refill(&mut self) {
        self.drawn = std::array::from_fn(|_| -self.rng.unit().ln());
        self.next = 0;
    }
}

/// Draws due times.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Time of the next I/O, in units of 2^-24 ns.
    next: u128,
    /// Mean gap per I/O, or per byte, in the same unit.
    gap: f64,
    per_byte: bool,
    poisson: Option<Exponential>,
}

impl Schedule {
    /// The schedule of a job; `None` for a closed loop.
    pub fn new(job: &Job, start: Nanos) -> Option<Schedule> {
        if job.pace.replay.as_ref().is_some_and(Replay::is_open_loop) {
            return Some(Schedule {
                next: u128::from(start.get()) << FRACTION,
                gap: 0.0,
                per_byte: false,
                poisson: None,
            });
        }
        if has_rates_by_direction(job) {
            return None;
        }
        let rate = job_rate(job)?;
        Some(Schedule::of_rate(job, rate, start, SEED_ARRIVALS))
    }

    /// A schedule of `(amount per second, whether that is bytes)`.
    fn of_rate(job: &Job, (per_second, per_byte): (f64, bool), start: Nanos, seed: u64) -> Self {
        let gap = 1e9 * (1u64 << FRACTION) as f64 / per_second;
        // Rounded up, so that the I/O that is due exactly at the end of the run never falls before it.
        let gap = if per_byte { gap } else { gap.ceil() };
        let poisson = (job.pace.process == Arrivals::Poisson)
            .then(|| Exponential::new(Rng::new(job.pattern.seed, seed)));
        let mut schedule = Schedule {
            next: u128::from(start.get()) << FRACTION,
            gap,
            per_byte,
            poisson,
        };
        if schedule.poisson.is_some() {
            // The first arrival of a Poisson process is one gap after its start.
            schedule.advance(1);
        }
        schedule
    }

    /// When the next I/O is due.
    #[inline]
    pub fn due(&self) -> u64 {
        (self.next >> FRACTION) as u64
    }

    /// Sets the due time of the next I/O, as read from a log.
    #[inline]
    pub fn set(&mut self, due: u64) {
        self.next = u128::from(due) << FRACTION;
    }

    /// Delays all remaining due times by this many nanoseconds.
    pub fn postpone(&mut self, by: u64) {
        self.next += u128::from(by) << FRACTION;
    }

    /// Advances to the I/O after one of `len` bytes.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        let gap = if self.per_byte {
            self.gap * f64::from(len)
        } else {
            self.gap
        };
        let factor = match &mut self.poisson {
            None => 1.0,
            Some(variates) => variates.draw(),
        };
        let step = gap * factor;
        // Converting through 64 bits is faster; it has room for a quarter of an hour.
        self.next += if step < (1u64 << 63) as f64 {
            u128::from(step as u64)
        } else {
            step as u128
        };
    }
}

/// Whether reads and writes of a job each have their own due times: a mix with a planned rate. A
/// job that only checks what another run wrote cannot repeat the order in which that run chose the
/// directions, so it keeps its mix.
pub(crate) fn has_rates_by_direction(job: &Job) -> bool {
    let mixed = matches!(job.pattern.traffic, Traffic::ReadWrite { read_percent } if (1..100).contains(&read_percent));
    let rate = &job.pace.rate;
    mixed
        && (rate[Direction::Read].is_some() || rate[Direction::Write].is_some())
        && job.pace.replay.is_none()
        && job.engine.kind.file_operation().is_none()
        && !job.verify.as_ref().is_some_and(|verify| verify.only)
}

/// The due times of a mix. Each direction keeps its own rate, whatever share of the I/Os it then
/// has; one without a rate may always start.
#[derive(Clone, Debug)]
pub(crate) struct MixedRates {
    schedules: PerDirection<Option<Schedule>>,
    read_percent: u8,
    rng: Rng,
}

impl MixedRates {
    /// The due times of a mixed job; `None` for other jobs and for a closed loop.
    pub fn new(job: &Job, start: Nanos) -> Option<MixedRates> {
        let Traffic::ReadWrite { read_percent } = job.pattern.traffic else {
            return None;
        };
        let schedule = |direction: Direction| {
            let rate =
                match job.pace.rate[direction].filter(|_| job.pattern.traffic.uses(direction))? {
                    Rate::Iops(ios) => (ios, false),
                    Rate::Bandwidth(bytes) => (bytes, true),
                };
            let seed = SEED_ARRIVALS | (direction as u64) << 32;
            Some(Schedule::of_rate(job, rate, start, seed))
        };
        has_rates_by_direction(job).then(|| MixedRates {
            schedules: PerDirection::from_fn(schedule),
            read_percent,
            rng: Rng::new(job.pattern.seed, SEED_MIXED),
        })
    }

    /// The direction that may start an I/O at `now`, and since when. Where both may, the mix
    /// decides. `fixed` is the direction of an I/O that has been drawn already.
    pub fn choose(&mut self, fixed: Option<Direction>, now: u64) -> Option<(Direction, u64)> {
        let due = |direction: Direction| {
            let since = self.schedules[direction]
                .as_ref()
                .map_or(now, Schedule::due);
            (since <= now).then_some((direction, since))
        };
        if let Some(direction) = fixed {
            return due(direction);
        }
        match (due(Direction::Read), due(Direction::Write)) {
            (Some(read), Some(write)) => Some(if self.rng.percent(self.read_percent) {
                read
            } else {
                write
            }),
            (read, write) => read.or(write),
        }
    }

    /// The direction with a rate whose next I/O is due first, and when.
    pub fn first_due(&self) -> Option<(Direction, u64)> {
        let due = |(direction, schedule): (Direction, &Option<Schedule>)| {
            Some((direction, schedule.as_ref()?.due()))
        };
        self.schedules
            .iter()
            .filter_map(due)
            .min_by_key(|(_, due)| *due)
    }

    /// A direction that may always start.
    pub fn unrated(&self) -> Option<Direction> {
        [Direction::Read, Direction::Write]
            .into_iter()
            .find(|direction| self.schedules[*direction].is_none())
    }

    /// Advances `direction` to its I/O after one of `len` bytes.
    pub fn advance(&mut self, direction: Direction, len: u32) {
        if let Some(schedule) = &mut self.schedules[direction] {
            schedule.advance(len);
        }
    }

    /// Delays all remaining due times by this many nanoseconds.
    pub fn postpone(&mut self, by: u64) {
        for schedule in self.schedules.0.iter_mut().flatten() {
            schedule.postpone(by);
        }
    }
}

/// I/Os per second, or bytes per second, of a job with one schedule.
fn job_rate(job: &Job) -> Option<(f64, bool)> {
    let rate = &job.pace.rate;
    let share = |direction| match (job.pattern.traffic, direction) {
        (Traffic::ReadWrite { read_percent }, Direction::Read) => f64::from(read_percent) / 100.0,
        (Traffic::ReadWrite { read_percent }, Direction::Write) => {
            1.0 - f64::from(read_percent) / 100.0
        }
        _ => 1.0,
    };
    let used: Vec<(Direction, Rate)> = Direction::ALL
        .into_iter()
        .filter(|d| job.pattern.traffic.uses(*d) && share(*d) > 0.0)
        .filter_map(|d| Some((d, rate[d]?)))
        .collect();
    if let [(_, Rate::Bandwidth(bytes))] = used[..]
        && !matches!(
            job.pattern.traffic,
            Traffic::ReadWrite { .. } | Traffic::TrimWrite
        )
    {
        return Some((bytes, true));
    }
    let per_second = used.iter().map(|(direction, rate)| {
        let ios = match rate {
            Rate::Iops(ios) => *ios,
            Rate::Bandwidth(bytes) => bytes / mean_size(&job.pattern.block_size[*direction]),
        };
        ios / share(*direction)
    });
    per_second.min_by(f64::total_cmp).map(|ios| (ios, false))
}

fn mean_size(sizes: &BlockSizes) -> f64 {
    match sizes {
        BlockSizes::Fixed(size) => f64::from(*size),
        BlockSizes::Range { min, max } => f64::midpoint(f64::from(*min), f64::from(*max)),
        BlockSizes::Split(parts) => {
            let total: f64 = parts.iter().map(|part| part.1).sum();
            parts
                .iter()
                .map(|(size, share)| f64::from(*size) * share)
                .sum::<f64>()
                / total
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(per_second: f64, poisson: bool) -> Schedule {
        let gap = 1e9 * (1u64 << FRACTION) as f64 / per_second;
        Schedule {
            next: 0,
            gap,
            per_byte: false,
            poisson: poisson.then(|| Exponential::new(Rng::new(1, 1))),
        }
    }

    #[test]
    fn a_linear_rate_is_exact_to_the_nanosecond_over_ten_million_ios() {
        for rate in [3.0, 7_000.0, 149_926.0, 600_000.0] {
            let mut s = schedule(rate, false);
            (0..10_000_000).for_each(|_| s.advance(4096));
            let expected = 1e7 / rate * 1e9;
            assert!(
                (s.due() as f64 - expected).abs() <= 1.0 + expected * 1e-12,
                "{rate}: {} {expected}",
                s.due()
            );
        }
    }

    #[test]
    fn poisson_gaps_have_the_requested_rate_and_are_exponential() {
        for rate in [20_000.0, 150_000.0, 600_000.0] {
            let mut s = schedule(rate, true);
            let n = 400_000;
            let mut gaps = Vec::with_capacity(n);
            let mut last = 0;
            for _ in 0..n {
                s.advance(4096);
                gaps.push((s.due() - last) as f64);
                last = s.due();
            }
            // Standard error of the mean is 1/sqrt(n) = 0.16 %; three of them.
            assert!(
                (last as f64 / n as f64 * rate / 1e9 - 1.0).abs() < 0.0048,
                "{rate}"
            );
            // Kolmogorov-Smirnov test against the exponential distribution; 1.95/sqrt(n) is the
            // 99.9 % quantile.
            gaps.sort_by(f64::total_cmp);
            let worst = gaps
                .iter()
                .enumerate()
                .map(|(i, gap)| ((1.0 - (-gap * rate / 1e9).exp()) - i as f64 / n as f64).abs())
                .fold(0.0, f64::max);
            assert!(worst < 1.95 / (n as f64).sqrt(), "{rate}: {worst}");
        }
    }

    #[test]
    fn a_gap_of_hours_is_as_exact_as_one_of_nanoseconds() {
        let mut s = schedule(1.0 / 36_000.0, false);
        (0..10).for_each(|_| s.advance(1));
        assert_eq!(s.due(), 360_000_000_000_000);
    }

    #[test]
    fn bytes_per_second_follow_the_size_of_each_io() {
        let gap = 1e9 * (1u64 << FRACTION) as f64 / 1e6;
        let mut s = Schedule {
            next: 0,
            gap,
            per_byte: true,
            poisson: None,
        };
        s.advance(1000);
        assert_eq!(s.due(), 1_000_000);
        s.advance(500);
        assert_eq!(s.due(), 1_500_000);
    }
}
