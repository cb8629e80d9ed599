//! VERIFY_NOTHING: requested verification that was not, or not completely, done.

use fathom_model::{Direction, Finding, Personality, VerifyKind, Weight};

use super::{EntryContext, RunContext};
use crate::figures::count;
use crate::members::Member;

const ADVICE: &str = "Unchecked blocks may be wrong; let the job run to its end.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let plan = &run.recording.plan;
    let is_fio = plan.personality == Personality::Fio;
    // In fio, exitall= ends a job before it verifies, and that is a success.
    let ends_early = is_fio && plan.jobs.iter().any(|job| job.exit.exit_all);
    run.each(|entry| unchecked(entry, is_fio, ends_early))
}

fn unchecked(entry: &EntryContext, is_fio: bool, ends_early: bool) -> Option<Finding> {
    // A mismatch may end the check early; VERIFY_FAILED reports it.
    let verified = entry
        .members
        .iter()
        .filter(|m| is_verifying(m, is_fio) && m.seen.verify.bad == 0)
        .collect::<Vec<_>>();
    let planned: u64 = verified.iter().map(|m| m.seen.verify.planned).sum();
    let good: u64 = verified.iter().map(|m| m.seen.verify.good).sum();
    if verified.is_empty() || (good >= planned && good > 0) {
        return None;
    }
    let evidence = format!(
        "Verified {} of {} blocks, {} skipped.",
        count(good),
        count(planned),
        count(planned - good)
    );
    let weight = if good == 0 && !ends_early {
        Weight::Invalidates
    } else {
        Weight::Degrades
    };
    Some(entry.finding(weight, evidence, ADVICE))
}

/// Whether the job verifies: it only reads, or reads back what it wrote. Reads of a mixed job are
/// load.
fn is_verifying(member: &Member, is_fio: bool) -> bool {
    let traffic = member.job.pattern.traffic;
    let reads = !traffic.uses(Direction::Write) && !traffic.uses(Direction::Trim);
    let verified = |v: &fathom_model::Verify| {
        // In fio, do_verify=0 turns verify_backlog off as well.
        let backlog = v.backlog > 0 && !is_fio;
        v.kind != VerifyKind::Null && (v.after_writes || v.only || backlog || reads)
    };
    !member.seen.skipped && member.job.verify.as_ref().is_some_and(verified)
}
