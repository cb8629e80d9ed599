//! VERIFY_FAILED: data read back differs from the data written.

use fathom_model::{EventKind, Finding, Weight};

use super::{EntryContext, RunContext};
use crate::damage::{cause, classes};
use crate::figures::count;

const EILSEQ: i32 = 84;
const ADVICE: &str =
    "Assume that the target corrupts data; do not modify it before a second check.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(differs)
}

fn differs(entry: &EntryContext) -> Option<Finding> {
    let bad: u64 = entry.members.iter().map(|m| m.seen.verify.bad).sum();
    let checked: u64 = entry
        .members
        .iter()
        .map(|m| m.seen.verify.bad + m.seen.verify.good)
        .sum();
    let stopped = entry
        .members
        .iter()
        .any(|m| m.seen.error.as_ref().is_some_and(|e| e.errno == EILSEQ));
    if bad == 0 && !stopped {
        return None;
    }
    let evidence = format!(
        "{} of {} checked blocks differ from the data written{}.",
        count(bad.max(1)),
        count(checked.max(1)),
        first(entry)
    );
    let counts = entry
        .figures
        .verify
        .map(|verify| verify.classes)
        .unwrap_or_default();
    let advice =
        cause(&counts).map_or_else(|| ADVICE.to_owned(), |cause| format!("{cause} {ADVICE}"));
    Some(entry.finding(Weight::Invalidates, evidence, &advice))
}

/// The classes and the first wrong block; with fio's formats only the first mismatch.
fn first(entry: &EntryContext) -> String {
    if let Some(line) = entry.figures.damage_lines.first() {
        let counts = entry
            .figures
            .verify
            .map(|verify| verify.classes)
            .unwrap_or_default();
        return format!(": {}; the first: {line}", classes(&counts));
    }
    let first = entry.events().find_map(|e| match &e.kind {
        EventKind::FirstMismatch { offset, difference } => {
            Some(format!(" (first at offset {offset}: {difference})"))
        }
        _ => None,
    });
    first.unwrap_or_default()
}
