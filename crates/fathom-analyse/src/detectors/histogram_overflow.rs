//! HISTOGRAM_OVERFLOW: latencies above the range of the histogram.

use fathom_model::{Finding, Histogram, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::{counted, duration};
use crate::latency::merged;

const CODE: &str = "HISTOGRAM_OVERFLOW";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str =
    "Percentiles that reach into these values show the maximum; mean and maximum are exact.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(above_range)
}

fn above_range(seat: &EntryContext) -> Option<Finding> {
    let kinds: [Histogram; 6] = [
        seat.latencies(|d| &d.slat),
        seat.latencies(|d| &d.clat),
        seat.latencies(|d| &d.lat),
        seat.latencies(|d| &d.response),
        seat.latencies(|d| &d.lateness),
        merged(seat.members.iter().map(|m| &m.seen.sync)),
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
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}
