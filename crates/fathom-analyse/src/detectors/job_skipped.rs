//! JOB_SKIPPED: a job that never started.

use fathom_model::{Finding, Weight};

use super::{Detector, EntryContext, RunContext};

const CODE: &str = "JOB_SKIPPED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "An earlier job failed or the run was ended: mend that and run again.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(skipped)
}

fn skipped(seat: &EntryContext) -> Option<Finding> {
    let skipped = seat.members.iter().filter(|m| m.seen.skipped).count();
    if skipped == 0 {
        return None;
    }
    let evidence = format!("{skipped} of {} jobs never started.", seat.members.len());
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}
