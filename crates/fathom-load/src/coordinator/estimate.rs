//! Estimates for the progress line: current rates, and the expected end of the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fathom_model::{Direction, Job, LiveRate, Nanos, PerDirection, Plan};

use super::layout::PreparedFiles;
use super::start_order::StartOrder;
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
    start_order: &StartOrder,
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
            Phase::Waiting => max_duration(job)?.saturating_add(start_order.delay_left(index, now)),
            Phase::Preparing => max_duration(job)?,
            _ => {
                let started = Nanos::new(lives[index].started_ns.load(Relaxed));
                let ran = now.saturating_sub(started);
                time_left(job, files.region_bytes(index), &lives[index], ran)?
            }
        };
        before_stonewall = before_stonewall.max(duration);
    }
    Some(now.saturating_add(left).saturating_add(before_stonewall))
}

/// The longest time that a job can take from its start.
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
            .saturating_add(job.limits.ramp),
    )
}

/// Time that a job still needs which has run for `ran`: by its bytes and its I/Os, at most by its runtime.
fn time_left(job: &Job, region: u64, live: &Live, ran: Nanos) -> Option<Nanos> {
    let by_time = max_duration(job).map(|duration| duration.saturating_sub(ran));
    let total = |of: &[AtomicU64; 3]| of.iter().map(|one| one.load(Relaxed)).sum::<u64>();
    let budget = Budget::new(job, region);
    let by_bytes =
        bytes_of(job, &budget, region).and_then(|bytes| by_amount(ran, total(&live.bytes), bytes));
    let by_ios = (budget.ios != u64::MAX)
        .then(|| by_amount(ran, total(&live.ios), budget.ios))
        .flatten();
    [by_time, by_bytes, by_ios].into_iter().flatten().min()
}

/// All bytes of a job; `None` where its end does not depend on them.
fn bytes_of(job: &Job, budget: &Budget, region: u64) -> Option<u64> {
    match &job.pace.replay {
        // A log has its own times. Only without them does its duration follow from its bytes.
        Some(replay) if replay.length.is_zero() => {
            let sum = |sum: u64, bytes: &u64| sum.saturating_add(*bytes);
            Some(replay.bytes.0.iter().fold(0, sum))
        }
        Some(_) => None,
        None if budget.bytes != u64::MAX => Some(budget.bytes),
        None if budget.passes != u64::MAX => Some(region.saturating_mul(budget.passes)),
        None => None,
    }
}

/// The time that the rest of an amount takes at the mean rate so far.
fn by_amount(ran: Nanos, done: u64, amount: u64) -> Option<Nanos> {
    let rest = amount.checked_sub(done).filter(|_| done > 0)?;
    Some(Nanos::new(
        (ran.get() as f64 / done as f64 * rest as f64) as u64,
    ))
}
