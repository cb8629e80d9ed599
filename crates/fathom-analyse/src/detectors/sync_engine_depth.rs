//! SYNC_ENGINE_DEPTH: iodepth is set for a synchronous engine.

use fathom_model::{Finding, Weight};

use super::{EntryContext, RunContext};

const ADVICE: &str = "Use io_uring or libaio, or numjobs instead of iodepth.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(ineffective_depth)
}

fn ineffective_depth(entry: &EntryContext) -> Option<Finding> {
    let of = entry
        .members
        .iter()
        .find(|m| m.job.queue.depth > 1 && m.job.engine.is_synchronous())?;
    let (depth, engine) = (of.job.queue.depth, of.job.engine.kind.name());
    let evidence = format!(
        "iodepth={depth} is set for {engine}, which keeps one I/O in flight: the figures are those of queue depth 1{}.",
        if entry.members.len() > 1 {
            " for each job"
        } else {
            ""
        },
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}
