//! NOT_CONSERVED: planned I/Os without an outcome, or with two.

use fathom_model::{Counts, Direction, Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::count;

const ADVICE: &str =
    "This is a bug in fathom: report it with the job file, and do not use the figures.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(unbalanced)
}

fn unbalanced(entry: &EntryContext) -> Option<Finding> {
    let pairs = entry.members.iter().flat_map(|m| m.seen.directions.iter());
    let (direction, made) = pairs.into_iter().find(|(_, d)| !d.counts.balanced())?;
    Some(entry.finding(
        Weight::Invalidates,
        evidence(direction, &made.counts),
        ADVICE,
    ))
}

fn evidence(direction: Direction, c: &Counts) -> String {
    let ends = c.ok + c.short + c.failed + c.timed_out + c.not_sent;
    let bytes = c.bytes_ok + c.bytes_short + c.bytes_missing;
    format!(
        "{} {}s were planned but {} have an outcome ({} ok, {} short, {} failed, {} timed out, {} not sent); {} bytes were requested and {} accounted for.",
        count(c.planned),
        direction.name(),
        count(ends),
        count(c.ok),
        count(c.short),
        count(c.failed),
        count(c.timed_out),
        count(c.not_sent),
        count(c.bytes_requested),
        count(bytes),
    )
}
