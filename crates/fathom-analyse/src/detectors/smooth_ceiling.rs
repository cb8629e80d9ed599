//! SMOOTH_CEILING: a limiter set the rate from the start, without pauses.

use fathom_model::{Finding, Weight};

use super::burst_ended::{shape_of, with_interval};
use super::{EntryContext, RunContext, ceiling_reached, rate_limited};
use crate::figures::{bytes, duration};
use crate::provider_limits::{LimitedUnit, RateLimit, RateShape};

const ADVICE: &str = "Look for a QoS limit, a volume's provisioned rate or an instance's limit: the result is its setting, not the \
                      device's speed. `fathom limits` tells limits of I/Os from limits of bytes.";

/// The rate of fewer I/Os than this may be even by chance, as that of one of many jobs that take turns on a device.
const MIN_IOS: u64 = 200;

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    // A known limit, and one that shows as pauses, have findings of their own.
    if !ceiling_reached::detect(run).is_empty() || !rate_limited::detect(run).is_empty() {
        return Vec::new();
    }
    run.each(|entry| match shape_of(entry)? {
        RateShape::Ceiling(limit) if entry.latencies(|d| &d.clat).count() >= MIN_IOS => {
            Some(finding(entry, &limit))
        }
        RateShape::Ceiling(_) | RateShape::Bucket(_) => None,
    })
}

fn finding(entry: &EntryContext, limit: &RateLimit) -> Finding {
    let other = match (limit.unit, limit.one_size) {
        (LimitedUnit::Ios, Some(size)) => format!(
            "; with one block size this may as well be a limit of {}/s",
            bytes((limit.base.value * size) as u64)
        ),
        (LimitedUnit::Ios, None) => ", whatever the size of an I/O".to_owned(),
        (LimitedUnit::Bytes, _) => ", whatever the number of I/Os".to_owned(),
    };
    let fastest = entry
        .latencies(|d| &d.clat)
        .min()
        .map_or(0.0, |min| min.get() as f64);
    let evidence = format!(
        "All parts of the run have the same rate, {}{other}. The fastest I/O took {}, the others waited until about {}: a limiter \
         sets the rate.",
        with_interval(limit.base, limit.unit),
        duration(fastest),
        duration(limit.wait_ns),
    );
    entry.finding(Weight::Degrades, evidence, ADVICE)
}
