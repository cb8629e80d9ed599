//! JOB_SKIPPED: a job that never started.

use fathom_model::{Finding, Weight};

use super::{Detector, Scene, Seat};

const CODE: &str = "JOB_SKIPPED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

const ADVICE: &str = "An earlier job failed or the run was ended: mend that and run again.";

fn look(scene: &Scene) -> Vec<Finding> {
    scene.each(skipped)
}

fn skipped(seat: &Seat) -> Option<Finding> {
    let skipped = seat.members.iter().filter(|m| m.seen.skipped).count();
    if skipped == 0 {
        return None;
    }
    let evidence = format!("{skipped} of {} jobs never started.", seat.members.len());
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}
