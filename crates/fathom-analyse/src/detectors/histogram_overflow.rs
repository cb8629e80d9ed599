//! HISTOGRAM_OVERFLOW: latencies above the range of the histogram.

use fathom_model::{Finding, Histogram, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{counted, duration};
use crate::latency::merged;

const ADVICE: &str = "Percentiles in this range show the maximum; mean and maximum are exact.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(above_range)
}

fn above_range(entry: &EntryContext) -> Option<Finding> {
    let kinds: [Histogram; 6] = [
        entry.latencies(|d| &d.slat),
        entry.latencies(|d| &d.clat),
        entry.latencies(|d| &d.lat),
        entry.latencies(|d| &d.response),
        entry.latencies(|d| &d.lateness),
        merged(entry.members.iter().map(|m| &m.seen.sync)),
    ];
    let worst = kinds
        .iter()
        .max_by_key(|h| h.overflow())
        .filter(|h| h.overflow() > 0)?;
    let evidence = format!(
        "{} above the histogram's range of 73 minutes; the largest is {}.",
        counted(worst.overflow(), "value"),
        duration(worst.max().unwrap_or_default().get() as f64),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}
