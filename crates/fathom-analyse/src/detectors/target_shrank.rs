//! TARGET_SHRANK: the target became smaller during the run.

use fathom_model::{EventKind, Finding, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::{bytes, duration};

const CODE: &str = "TARGET_SHRANK";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Find what truncates or replaces the target; reads behind its end cost nothing and mean nothing.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(shrank)
}

fn shrank(seat: &EntryContext) -> Option<Finding> {
    seat.events().find_map(|event| match &event.what {
        EventKind::TargetShrank { path, from, to } => {
            let at = duration(event.at.get() as f64);
            let evidence = format!(
                "{path} shrank from {} to {} at {at} of the run.",
                bytes(from.get()),
                bytes(to.get())
            );
            Some(seat.finding(CODE, Weight::Invalidates, evidence, ADVICE))
        }
        _ => None,
    })
}
