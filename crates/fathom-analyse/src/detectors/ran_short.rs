//! RAN_SHORT: a time-based job ended early.

use fathom_model::{Finding, Nanos, RunEnd, Weight};

use super::{EntryContext, RunContext};
use crate::figures::duration;
use crate::job_summary::is_open_loop;
use crate::members::Member;

/// Share of the requested time that must have passed.
const ENOUGH: f64 = 0.95;
const ADVICE: &str = "The figures cover the shorter time; fix what ended the job and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if run.recording.end != RunEnd::Completed {
        return Vec::new();
    }
    let ended_by_others = run
        .members()
        .any(|m| m.job.exit.exit_all || m.job.exit.exit_all_on_error);
    run.each(|entry| short_run(entry, ended_by_others))
}

fn short_run(entry: &EntryContext, ended_by_others: bool) -> Option<Finding> {
    let early =
        |m: &&Member| ended_early(m) && (m.seen.error.is_some() || !(ended_by_others || pauses(m)));
    let of = entry
        .members
        .iter()
        .filter(early)
        .min_by_key(|m| m.run_time())?;
    let why = of
        .seen
        .error
        .as_ref()
        .map_or_else(String::new, |e| format!(": {}", e.operation));
    let planned = of.job.limits.runtime.unwrap_or(Nanos::ZERO);
    let evidence = format!(
        "Ran {} of the planned {}{why}.",
        duration(of.run_time().get() as f64),
        duration(planned.get() as f64),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}

/// With pauses between I/Os the last one may complete some time before the end.
fn pauses(member: &Member) -> bool {
    is_open_loop(&member.job.pace) || member.job.pace.think.is_some()
}

fn ended_early(member: &Member) -> bool {
    let limits = &member.job.limits;
    let Some(planned) = limits.runtime.filter(|_| limits.time_based) else {
        return false;
    };
    let reached = member.job.pace.latency.is_some() || member.job.limits.steady.is_some();
    let by_amount = reached || limits.ios.is_some() || member.job.files.layout.fill_device;
    member.did_io()
        && !member.died()
        && !by_amount
        && (member.run_time().get() as f64) < planned.get() as f64 * ENOUGH
}
