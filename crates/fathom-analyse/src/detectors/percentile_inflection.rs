//! PERCENTILE_INFLECTION: from one percentile to the next the latency at least doubles, below p99.

use fathom_model::{Direction, Finding, LatencySummary, Weight};

use super::few_samples::shown;
use super::{EntryContext, RunContext};
use crate::figures::duration;
use crate::tail::inflection;

/// Steps above this percentile are part of the tail of every result and are not a finding.
const EARLY: f64 = 99.0;
pub(crate) const ADVICE: &str = "Quote the percentile before the step as the usual case and the one after it as what users will see; check whether a cache, garbage collection or another user causes the slow ones.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| Direction::ALL.into_iter().find_map(|d| inflected(entry, d)))
}

fn inflected(entry: &EntryContext, direction: Direction) -> Option<Finding> {
    let (kind, summary) = shown(&entry.figures.directions[direction]);
    let evidence = evidence(direction, kind, summary)?;
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}

/// The evidence that the latency doubles from one percentile to the next.
pub(crate) fn evidence(
    direction: Direction,
    kind: &str,
    summary: &LatencySummary,
) -> Option<String> {
    let step = inflection(&summary.percentiles, summary.n).filter(|step| step.last.0 < EARLY)?;
    Some(format!(
        "{} {kind} is {} up to p{} and {} at p{}, {:.1} times that.",
        direction.name(),
        duration(step.last.1 as f64),
        step.last.0,
        duration(step.next.1 as f64),
        step.next.0,
        step.ratio(),
    ))
}
