//! INTERRUPTED: the run did not end by its plan.

use fathom_model::{Finding, RunEnd, TimeSpan, Weight};

use super::context::of_run;
use super::{Detector, RunContext};
use crate::figures::duration;

const CODE: &str = "INTERRUPTED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "The figures hold for the time up to the end; run again for the whole plan.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    let end = TimeSpan {
        from: scene.recording.elapsed,
        to: scene.recording.elapsed,
    };
    let at = duration(end.to.get() as f64);
    match scene.recording.end {
        RunEnd::Completed => Vec::new(),
        RunEnd::Interrupted => {
            let evidence =
                format!("The run was interrupted at {at}; I/O in flight was waited for.");
            vec![of_run(CODE, Weight::Degrades, evidence, ADVICE).seen([end])]
        }
        RunEnd::Aborted => {
            let evidence =
                format!("The run was stopped at {at} without waiting for I/O in flight.");
            vec![of_run(CODE, Weight::Invalidates, evidence, ADVICE).seen([end])]
        }
    }
}
