//! SHORT_IO: I/Os that transferred fewer bytes than requested.

use fathom_model::{EventKind, Finding, Weight};

use super::context::timed;
use super::{EntryContext, RunContext};
use crate::figures::{count, percent, share};
use crate::members::Member;

const ADVICE: &str =
    "Check whether the target ends early, is full, or fails; do not use the figures of this run.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(short)
}

fn short(entry: &EntryContext) -> Option<Finding> {
    let c = &entry.figures.counts;
    if c.short == 0 {
        return None;
    }
    let evidence = format!(
        "{} of {} I/Os transferred fewer bytes than requested{}. {} of {} bytes were transferred ({}).",
        count(c.short),
        count(c.planned),
        first(entry),
        count(c.bytes_ok + c.bytes_short),
        count(c.bytes_requested),
        percent(share(c.bytes_ok + c.bytes_short, c.bytes_requested)),
    );
    let weight = if entry.members.iter().all(filled) {
        Weight::Note
    } else {
        Weight::Invalidates
    };
    Some(timed(
        entry.finding(weight, evidence, ADVICE),
        entry.bad_intervals(),
        entry.span().1,
    ))
}

/// A job that fills its target ends with short writes, at most one for each I/O in flight.
fn filled(member: &Member) -> bool {
    let short: u64 = member
        .seen
        .directions
        .iter()
        .map(|(_, d)| d.counts.short)
        .sum();
    short == 0
        || (member.job.files.layout.fill_device && short <= u64::from(member.job.queue.depth))
}

fn first(entry: &EntryContext) -> String {
    let first = entry.events().find_map(|e| match &e.kind {
        EventKind::FirstShort {
            direction,
            offset,
            requested,
            transferred,
        } => Some(format!(
            " (first: {} at offset {offset}, {transferred} of {requested} bytes)",
            direction.name()
        )),
        _ => None,
    });
    first.unwrap_or_default()
}
