//! NOTHING_DONE: a job that ran without completing any I/O.

use fathom_model::{Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{count, duration};
use crate::members::Member;

const ADVICE: &str = "Check its error and the size, io_size and number_ios of the job.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let ends_others = run
        .recording
        .plan
        .jobs
        .iter()
        .any(|job| job.exit.exit_all || job.exit.exit_all_on_error);
    run.each(|entry| idle(entry, ends_others))
}

fn idle(entry: &EntryContext, ends_others: bool) -> Option<Finding> {
    let idle = entry
        .members
        .iter()
        .filter(|m| should_do_io(m) && !m.did_io());
    // exitall= may end a job before its first I/O, which is as requested.
    let idle = idle
        .filter(|m| !(ends_others && planned(m) == 0))
        .collect::<Vec<_>>();
    let first = idle.first()?;
    let evidence = format!(
        "{} of {} jobs completed no I/O in {} ({} planned).",
        idle.len(),
        entry.members.len(),
        duration(first.run_time().get() as f64),
        count(idle.iter().map(|m| planned(m)).sum()),
    );
    Some(entry.finding(Weight::Invalidates, evidence, ADVICE))
}

fn planned(member: &Member) -> u64 {
    member
        .seen
        .directions
        .iter()
        .map(|(_, d)| d.counts.planned)
        .sum()
}

fn should_do_io(member: &Member) -> bool {
    let seen = member.seen;
    // IO_ERROR reports an error that stopped it, WORKER_DIED its death.
    let reported_elsewhere = seen.error.is_some() || member.died();
    !reported_elsewhere
        && member.job.engine.kind.does_io()
        && !seen.skipped
        && !member.job.files.layout.create_only
        && seen.verify.planned == 0
        && seen.sync.count() == 0
}
