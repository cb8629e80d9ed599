//! IO_ERROR: I/Os that failed, or an error that ended a job.

use fathom_model::{EventKind, Finding, Weight};

use super::context::timed;
use super::{EntryContext, RunContext};
use crate::errno;
use crate::figures::count;
use crate::members::Member;

/// errno of a verify mismatch, which VERIFY_FAILED reports.
const EILSEQ: i32 = 84;
const ADVICE: &str = "Check the kernel log for the device, remove the cause, and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(failed)
}

fn failed(entry: &EntryContext) -> Option<Finding> {
    let of = entry
        .members
        .iter()
        .filter(|m| !m.died())
        .copied()
        .collect::<Vec<_>>();
    let failed: u64 = of.iter().map(failures).sum();
    let stopped = of
        .iter()
        .filter_map(|m| m.seen.error.as_ref())
        .find(|e| e.errno != EILSEQ);
    let evidence = match (failed, stopped) {
        (0, None) => return None,
        (0, Some(error)) => format!(
            "The job failed: {} ({}).",
            error.operation,
            errno::message(error.errno)
        ),
        _ => format!(
            "{} of {} I/Os failed{}. Failed I/Os are excluded from IOPS and latency.",
            count(failed),
            count(entry.figures.counts.planned),
            first(entry)
        ),
    };
    let weight = if of.iter().all(tolerated) {
        Weight::Degrades
    } else {
        Weight::Invalidates
    };
    Some(timed(
        entry.finding(weight, evidence, ADVICE),
        entry.bad_intervals(),
        entry.span().1,
    ))
}

/// Failed I/Os and syncs. With `fill_device` a full target is expected and is not an error.
fn failures(member: &Member) -> u64 {
    let filled = member.job.files.layout.fill_device
        && member.first_errno().is_none()
        && member.seen.error.is_none();
    let io: u64 = member
        .seen
        .directions
        .iter()
        .map(|(_, d)| d.counts.failed)
        .sum();
    if filled {
        member.seen.sync_failed
    } else {
        io + member.seen.sync_failed
    }
}

/// Whether the user requested to continue after such errors, and the job continued after all of
/// them.
fn tolerated(member: &Member) -> bool {
    let (failed, seen, policy) = (failures(member), member.seen, &member.job.errors);
    let requested = policy.continue_read
        || policy.continue_write
        || policy.ignore.iter().any(|list| !list.is_empty());
    match &seen.error {
        None => failed == 0 || requested,
        Some(error) => error.errno == EILSEQ || (failed > 0 && seen.errors_continued >= failed),
    }
}

fn first(entry: &EntryContext) -> String {
    let first = entry.events().find_map(|e| match &e.kind {
        EventKind::FirstError {
            direction,
            offset,
            errno: code,
        } => {
            let what = direction.map_or("fsync", |d| d.name());
            Some(format!(
                " (first: {what} at offset {offset}, {})",
                errno::message(*code)
            ))
        }
        _ => None,
    });
    first.unwrap_or_default()
}
