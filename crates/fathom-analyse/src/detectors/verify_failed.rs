//! VERIFY_FAILED: data read back is not what was written.

use fathom_model::{EventKind, Finding, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::damage::{cause, classes};
use crate::figures::count;

const CODE: &str = "VERIFY_FAILED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const EILSEQ: i32 = 84;
const ADVICE: &str = "Treat the target as corrupting data until shown otherwise; keep it as it is for a second look.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(differs)
}

fn differs(seat: &EntryContext) -> Option<Finding> {
    let bad: u64 = seat.members.iter().map(|m| m.seen.verify.bad).sum();
    let checked: u64 = seat
        .members
        .iter()
        .map(|m| m.seen.verify.bad + m.seen.verify.good)
        .sum();
    let stopped = seat
        .members
        .iter()
        .any(|m| m.seen.error.as_ref().is_some_and(|e| e.errno == EILSEQ));
    if bad == 0 && !stopped {
        return None;
    }
    let evidence = format!(
        "{} of {} checked blocks differ from what was written{}.",
        count(bad.max(1)),
        count(checked.max(1)),
        first(seat)
    );
    let counts = seat
        .entry
        .verify
        .map(|verify| verify.classes)
        .unwrap_or_default();
    let advice =
        cause(&counts).map_or_else(|| ADVICE.to_owned(), |cause| format!("{cause} {ADVICE}"));
    Some(seat.finding(CODE, Weight::Invalidates, evidence, &advice))
}

/// The classes and the first wrong block; with fio's formats the first only, which tells less.
fn first(seat: &EntryContext) -> String {
    if let Some(line) = seat.entry.damage_lines.first() {
        let counts = seat
            .entry
            .verify
            .map(|verify| verify.classes)
            .unwrap_or_default();
        return format!(": {}; the first: {line}", classes(&counts));
    }
    let told = seat.events().find_map(|e| match &e.what {
        EventKind::FirstMismatch { offset, what } => {
            Some(format!(" (first at offset {offset}: {what})"))
        }
        _ => None,
    });
    told.unwrap_or_default()
}
