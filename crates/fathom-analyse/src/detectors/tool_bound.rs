//! TOOL_BOUND: a worker used a whole CPU, or came close to the maximum rate of the generator.

use fathom_model::{Finding, Nanos, Weight};

use super::{EntryContext, RunContext};
use crate::diagnosis::NEAR_CEILING_SHARE;
use crate::entry::percent_of;
use crate::figures::{percent, rate};
use crate::job_summary::is_open_loop;
use crate::members::Member;

/// A worker that waits for its target has idle time; above this share it has almost none.
const FULL_PERCENT: f64 = 95.0;
/// CPU times are in milliseconds: shorter runs cannot be judged.
const LEAST: Nanos = Nanos::from_millis(500);
const ADVICE: &str = "Treat the figures as a lower bound of the target: use more jobs, larger blocks, or a cheaper engine.";

/// Added where the program itself is slower than it can be.
const DEV_BUILD: &str =
    " This is a development build: `cargo build --release` gives the program's full speed.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let is_dev = run.recording.host.build_profile == "dev";
    run.each(|entry| {
        let mut finding = near_ceiling(entry).or_else(|| bound(entry))?;
        if is_dev {
            finding.evidence += DEV_BUILD;
        }
        Some(finding)
    })
}

/// Compares the rate with that of the same plan on a target that answers at once.
fn near_ceiling(entry: &EntryContext) -> Option<Finding> {
    let (iops, ceiling) = (entry.figures.little.iops, entry.figures.ceiling_iops?);
    let null = entry
        .members
        .iter()
        .all(super::super::members::Member::is_null);
    if null || is_open_loop(&entry.members.first()?.job.pace) || iops < NEAR_CEILING_SHARE * ceiling
    {
        return None;
    }
    let evidence = format!(
        "{} of the {} I/Os per second that this host can generate with this plan on a target that answers at once.",
        rate(iops),
        rate(ceiling),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}

fn bound(entry: &EntryContext) -> Option<Finding> {
    let (member, busy) = entry
        .members
        .iter()
        .filter(|m| m.run_time() >= LEAST && waits_asleep(m))
        .map(|m| (m, busy(m)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, busy)| *busy >= FULL_PERCENT)?;
    let evidence = format!(
        "Worker {} used {} of its available CPU time at {} I/Os per second: this program or this host, not the target, may be the limit.",
        member.job.number,
        percent(busy),
        rate(entry.figures.little.iops),
    );
    let weight = if member.is_null() {
        Weight::Note
    } else {
        Weight::Degrades
    };
    Some(entry.finding(weight, evidence, ADVICE))
}

/// CPU usage as a share of the time without waits for a CPU, which are caused by the host, not the
/// target.
fn busy(member: &Member) -> f64 {
    let usage = &member.seen.usage;
    percent_of(
        usage.user + usage.system,
        member.cpu_time().saturating_sub(usage.waited),
    )
}

/// Polled completions, busy pauses, open-loop timing and verification use CPU time while they wait.
fn waits_asleep(member: &Member) -> bool {
    let (job, settings) = (member.job, &member.job.engine.settings);
    let spins = job.pace.think.is_some_and(|t| !t.spin.is_zero());
    !settings.high_priority
        && !settings.userspace_reap
        && !spins
        && job.verify.is_none()
        && !is_open_loop(&job.pace)
}
