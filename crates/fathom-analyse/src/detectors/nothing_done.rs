//! NOTHING_DONE: a job that ran and did no I/O.

use fathom_model::{Finding, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::{count, duration};
use crate::members::Member;

const CODE: &str = "NOTHING_DONE";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "See its error and the size, io_size and number_ios of the job.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    let ends_others = scene
        .recording
        .plan
        .jobs
        .iter()
        .any(|job| job.exit.exit_all || job.exit.exit_all_on_error);
    scene.each(|seat| idle(seat, ends_others))
}

fn idle(seat: &EntryContext, ends_others: bool) -> Option<Finding> {
    let idle = seat
        .members
        .iter()
        .filter(|m| was_to_work(m) && !m.did_io());
    // exitall= may end a job before its first I/O: that is what was asked for.
    let idle = idle
        .filter(|m| !(ends_others && planned(m) == 0))
        .collect::<Vec<_>>();
    let first = idle.first()?;
    let evidence = format!(
        "{} of {} jobs completed no I/O in {} ({} planned).",
        idle.len(),
        seat.members.len(),
        duration(first.run_time().get() as f64),
        count(idle.iter().map(|m| planned(m)).sum()),
    );
    Some(seat.finding(CODE, Weight::Invalidates, evidence, ADVICE))
}

fn planned(member: &Member) -> u64 {
    member
        .seen
        .directions
        .iter()
        .map(|(_, d)| d.counts.planned)
        .sum()
}

fn was_to_work(member: &Member) -> bool {
    let seen = member.seen;
    // An error that kept it from working is told by IO_ERROR, its death by WORKER_DIED.
    let told = seen.error.is_some() || member.died();
    !told
        && member.job.engine.kind.does_io()
        && !seen.skipped
        && !member.job.files.layout.create_only
        && seen.verify.planned == 0
        && seen.sync.count() == 0
}
