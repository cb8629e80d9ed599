//! FEW_SAMPLES: percentiles that are based on very few I/Os.

use fathom_model::{Direction, DirectionSummary, Finding, LatencySummary, Weight};

use super::{EntryContext, RunContext};
use crate::figures::count;

/// A count of k has a relative error of 1/sqrt(k): a third at ten.
const TAIL: f64 = 10.0;
const ADVICE: &str = "Run longer before comparing these percentiles.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| {
        Direction::ALL
            .into_iter()
            .find_map(|d| few_samples(entry, d))
    })
}

fn few_samples(entry: &EntryContext, direction: Direction) -> Option<Finding> {
    let (kind, summary) = shown(&entry.figures.directions[direction]);
    let beyond = |p: f64| summary.n as f64 * (100.0 - p) / 100.0;
    // Half an I/O of tolerance, for percentiles that are not exact in binary.
    let few_samples = |p: &f64| *p < 100.0 && beyond(*p) + 0.5 < TAIL;
    let first = summary
        .percentiles
        .iter()
        .map(|p| p.0)
        .filter(few_samples)
        .reduce(f64::min)?;
    let evidence = format!(
        "{} {kind} p{first} and above rest on fewer than {TAIL} of {} I/Os.",
        direction.name(),
        count(summary.n),
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}

pub(super) fn shown(direction: &DirectionSummary) -> (&'static str, &LatencySummary) {
    match &direction.response {
        Some(response) => ("response", response),
        None if direction.clat.percentiles.is_empty() => ("lat", &direction.lat),
        None => ("clat", &direction.clat),
    }
}
