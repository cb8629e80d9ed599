//! IO_ERROR: I/Os that failed, or an error that ended a job.

use fathom_model::{EventKind, Finding, Weight};

use super::{Detector, Scene, Seat};
use crate::errno;
use crate::figures::count;
use crate::members::Member;

const CODE: &str = "IO_ERROR";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

/// A verify mismatch is told by VERIFY_FAILED.
const EILSEQ: i32 = 84;
const ADVICE: &str = "See the kernel log for the device, mend the cause, and run again.";

fn look(scene: &Scene) -> Vec<Finding> {
    scene.each(failed)
}

fn failed(seat: &Seat) -> Option<Finding> {
    let failed = seat.entry.counts.failed + seat.members.iter().map(|m| m.seen.sync_failed).sum::<u64>();
    let stopped = seat.members.iter().filter_map(|m| m.seen.error.as_ref()).find(|e| e.errno != EILSEQ);
    let evidence = match (failed, stopped) {
        (0, None) => return None,
        (0, Some(error)) => format!("The job failed: {} ({}).", error.what, errno::words(error.errno)),
        _ => format!(
            "{} of {} I/Os failed{}. Failed I/Os are in neither IOPS nor latency.",
            count(failed),
            count(seat.entry.counts.planned),
            first(seat)
        ),
    };
    let weight = if seat.members.iter().all(tolerated) { Weight::Degrades } else { Weight::Invalidates };
    Some(seat.finding(CODE, weight, evidence, ADVICE))
}

/// The user asked to go on after errors, and the job did so after every one.
fn tolerated(member: &Member) -> bool {
    let failed: u64 = member.seen.directions.iter().map(|(_, d)| d.counts.failed).sum();
    let all = failed + member.seen.sync_failed;
    let stopped = all == 0 && member.seen.error.as_ref().is_some_and(|e| e.errno != EILSEQ);
    !stopped && member.seen.errors_continued >= all
}

fn first(seat: &Seat) -> String {
    let told = seat.events().find_map(|e| match &e.what {
        EventKind::FirstError { direction, offset, errno: code } => {
            let what = direction.map_or("fsync", |d| d.word());
            Some(format!(" (first: {what} at offset {offset}, {})", errno::words(*code)))
        }
        _ => None,
    });
    told.unwrap_or_default()
}
