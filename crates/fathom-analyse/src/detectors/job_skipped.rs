//! JOB_SKIPPED: a job that never started.

use fathom_model::{Finding, Weight};

use super::{EntryContext, RunContext};

const ADVICE: &str = "An earlier job failed or the run was ended: fix that and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(skipped)
}

fn skipped(entry: &EntryContext) -> Option<Finding> {
    let skipped = entry.members.iter().filter(|m| m.seen.skipped).count();
    if skipped == 0 {
        return None;
    }
    let evidence = format!("{skipped} of {} jobs never started.", entry.members.len());
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}
