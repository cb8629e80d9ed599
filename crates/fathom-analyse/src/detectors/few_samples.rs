//! FEW_SAMPLES: percentiles that are based on very few I/Os.

use fathom_model::{Direction, DirectionSummary, Finding, LatencySummary, Weight};

use super::{EntryContext, RunContext};
use crate::figures::count;

/// A count of k has a relative error of 1/sqrt(k): a third at ten.
const TAIL: f64 = 10.0;
pub(crate) const ADVICE: &str = "Run longer before comparing these percentiles.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| {
        Direction::ALL
            .into_iter()
            .find_map(|d| few_samples(entry, d))
    })
}

fn few_samples(entry: &EntryContext, direction: Direction) -> Option<Finding> {
    let (kind, summary) = shown(&entry.figures.directions[direction]);
    let evidence = evidence(direction, kind, summary)?;
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}

/// The evidence that percentiles rest on few I/Os.
pub(crate) fn evidence(
    direction: Direction,
    kind: &str,
    summary: &LatencySummary,
) -> Option<String> {
    let beyond = |p: f64| summary.n as f64 * (100.0 - p) / 100.0;
    // Half an I/O of tolerance, for percentiles that are not exact in binary.
    let few_samples = |p: &f64| *p < 100.0 && beyond(*p) + 0.5 < TAIL;
    let first = summary
        .percentiles
        .iter()
        .map(|p| p.0)
        .filter(few_samples)
        .reduce(f64::min)?;
    Some(format!(
        "{} {kind} p{first} and above rest on fewer than {TAIL} of {} I/Os.",
        direction.name(),
        count(summary.n),
    ))
}

pub(crate) fn shown(direction: &DirectionSummary) -> (&'static str, &LatencySummary) {
    match &direction.response {
        Some(response) if direction.lateness.is_none() => ("commit", response),
        Some(response) => ("response", response),
        None if direction.clat.percentiles.is_empty() => ("lat", &direction.lat),
        None => ("clat", &direction.clat),
    }
}
