//! BURST_ENDED: a token bucket ran dry during the run.

use fathom_model::{Finding, TimeSpan, Weight};

use super::{EntryContext, RunContext, too_hot};
use crate::figures::{bytes, count, duration, rate};
use crate::job_summary::is_open_loop;
use crate::provider_limits::{LimitEstimate, LimitedUnit, RateLimit, RateShape, rate_shape};

const ADVICE: &str = "Judge the volume by its base rate, and size it so that the base rate is enough, or so that the bucket is full \
                      again before the next burst; `fathom limits` measures base rate, burst and refill on purpose.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    // Heat lowers the rate of a device as well.
    if !too_hot::detect(run).is_empty() {
        return Vec::new();
    }
    run.each(|entry| match shape_of(entry)? {
        RateShape::Bucket(limit) => finding(entry, &limit),
        RateShape::Ceiling(_) => None,
    })
}

/// The limit that a load met which took all it got.
pub(super) fn shape_of(entry: &EntryContext) -> Option<RateShape> {
    let takes_all = |pace: &fathom_model::Pace| {
        !is_open_loop(pace) && pace.replay.is_none() && pace.think.is_none()
    };
    let usable = entry
        .members
        .iter()
        .all(|m| takes_all(&m.job.pace) && m.job.files.direct && !m.is_null());
    if !usable {
        return None;
    }
    let from = entry.members.iter().map(|m| m.seen.measured_from).max()?;
    let to = entry.members.iter().map(|m| m.seen.ended).min()?;
    rate_shape(&entry.figures.series, from, to)
}

fn finding(entry: &EntryContext, limit: &RateLimit) -> Option<Finding> {
    let burst = limit.burst?;
    let holds = duration(limit.holds_s()? * 1e9);
    let evidence = format!(
        "The rate fell from {} to {} after {} and stayed there: a token bucket of {} was empty. The burst holds for {holds}; after \
         that {}. The empty bucket is full again after {} without I/O.",
        per_second(burst.value, limit.unit),
        with_interval(limit.base, limit.unit),
        duration(limit.dry_at_s * 1e9),
        amount(limit.bucket.value, limit.unit),
        per_second(limit.base.value, limit.unit),
        duration(limit.full_after_s() * 1e9),
    );
    let from = entry.span().0 + fathom_model::Nanos::new((limit.dry_at_s * 1e9) as u64);
    let to = entry.span().1;
    Some(
        entry
            .finding(Weight::Degrades, evidence, ADVICE)
            .with_times([TimeSpan { from, to }]),
    )
}

/// `500 IOPS`, `100 MiB/s`.
pub(super) fn per_second(value: f64, unit: LimitedUnit) -> String {
    match unit {
        LimitedUnit::Ios => format!("{} IOPS", rate(value)),
        LimitedUnit::Bytes => format!("{}/s", bytes(value as u64)),
    }
}

/// The rate with its interval.
pub(super) fn with_interval(value: LimitEstimate, unit: LimitedUnit) -> String {
    format!(
        "{} (95 % CI {} to {})",
        per_second(value.value, unit),
        per_second(value.low, unit),
        per_second(value.high, unit)
    )
}

fn amount(value: f64, unit: LimitedUnit) -> String {
    match unit {
        LimitedUnit::Ios => format!("{} I/Os", count(value.round() as u64)),
        LimitedUnit::Bytes => bytes(value as u64),
    }
}
