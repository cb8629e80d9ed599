//! SYNC_ENGINE_DEPTH: a queue depth was asked of an engine that has none.

use fathom_model::{Finding, Weight};

use super::{Detector, EntryContext, RunContext};

const CODE: &str = "SYNC_ENGINE_DEPTH";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Use io_uring or libaio, or numjobs in place of iodepth.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(asked_in_vain)
}

fn asked_in_vain(seat: &EntryContext) -> Option<Finding> {
    let of = seat
        .members
        .iter()
        .find(|m| m.job.queue.depth > 1 && m.job.engine.is_synchronous())?;
    let (depth, engine) = (of.job.queue.depth, of.job.engine.kind.word());
    let evidence = format!(
        "iodepth={depth} was asked of {engine}, which keeps one I/O in flight: the figures are those of queue depth \
         1{}.",
        if seat.members.len() > 1 {
            " for each job"
        } else {
            ""
        },
    );
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}
