//! Estimates for the progress line: current rates, and the expected end of the run.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fathom_model::{Direction, Job, LiveRate, Nanos, PerDirection, Plan};

use super::layout::PreparedFiles;
use crate::budget::Budget;
use crate::live::{Live, Phase};

/// Rates are averaged over at least this long.
const WINDOW: u64 = 500_000_000;

/// Totals at the start of the window, and the rates of the window before.
#[derive(Default)]
pub(super) struct Rates {
    since: Nanos,
    totals: [(u64, u64); 3],
    rates: PerDirection<LiveRate>,
}

impl Rates {
    pub fn update(&mut self, lives: &[Arc<Live>], now: Nanos) -> PerDirection<LiveRate> {
        let length = now.saturating_sub(self.since);
        if length.get() >= WINDOW {
            for direction in Direction::ALL {
                let d = direction as usize;
                let ios = lives
                    .iter()
                    .map(|live| live.ios[d].load(Relaxed))
                    .sum::<u64>();
                let bytes = lives
                    .iter()
                    .map(|live| live.bytes[d].load(Relaxed))
                    .sum::<u64>();
                let seconds = length.as_secs_f64();
                self.rates[direction] = LiveRate {
                    iops: ios.saturating_sub(self.totals[d].0) as f64 / seconds,
                    bandwidth: bytes.saturating_sub(self.totals[d].1) as f64 / seconds,
                };
                self.totals[d] = (ios, bytes);
            }
            self.since = now;
        }
        self.rates.clone()
    }
}

/// Expected length of the run; `None` while the end of a job cannot be estimated.
pub(super) fn expected(
    plan: &Plan,
    files: &PreparedFiles,
    lives: &[Arc<Live>],
    now: Nanos,
) -> Option<Nanos> {
    let mut left = Nanos::ZERO;
    let mut before_stonewall = Nanos::ZERO;
    for (index, job) in plan.jobs.iter().enumerate() {
        if job.start.after_all_before {
            left += std::mem::take(&mut before_stonewall);
        }
        let duration = match lives[index].phase() {
            Phase::Done | Phase::Failed => Nanos::ZERO,
            Phase::Waiting | Phase::Preparing => max_duration(job)?,
            _ => time_left(job, files.region_bytes(index), &lives[index], now)?,
        };
        before_stonewall = before_stonewall.max(duration);
    }
    Some(now.saturating_add(left).saturating_add(before_stonewall))
}

/// The longest time that a job which has not started can take.
fn max_duration(job: &Job) -> Option<Nanos> {
    let by_log = job
        .pace
        .replay
        .as_ref()
        .map(|replay| replay.length)
        .filter(|length| !length.is_zero());
    Some(
        job.limits
            .runtime
            .or(by_log)?
            .saturating_add(job.limits.ramp)
            .saturating_add(job.start.delay.1),
    )
}

/// Time that a running job still needs: by its bytes, at most by its runtime.
fn time_left(job: &Job, region: u64, live: &Live, now: Nanos) -> Option<Nanos> {
    let by_time = max_duration(job).map(|duration| duration.saturating_sub(now));
    let budget = Budget::new(job, region);
    let amount = if let Some(replay) = &job.pace.replay {
        replay
            .bytes
            .0
            .iter()
            .fold(0, |sum: u64, bytes| sum.saturating_add(*bytes))
    } else if budget.bytes != u64::MAX {
        budget.bytes
    } else {
        region.saturating_mul(budget.passes)
    };
    let done: u64 = live.bytes.iter().map(|bytes| bytes.load(Relaxed)).sum();
    // A log has its own times. Only without them does its duration follow from its bytes.
    let timed = job
        .pace
        .replay
        .as_ref()
        .is_some_and(|replay| !replay.length.is_zero());
    let by_bytes = (!timed && budget.passes != u64::MAX && done > 0 && amount >= done)
        .then(|| Nanos::new((now.get() as f64 / done as f64 * (amount - done) as f64) as u64));
    match (by_time, by_bytes) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
