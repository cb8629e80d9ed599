//! FLUSH_UNPROVEN: flushes were acknowledged inside a virtual machine.

use fathom_model::{Finding, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::{counted, duration};

const CODE: &str = "FLUSH_UNPROVEN";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Ask how the host handles flushes (cache mode of the virtual disk): some acknowledge them without \
                      doing anything. Only a power cut on the host can prove them.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    if scene.recording.conditions.virtual_machine != Some(true) {
        return Vec::new();
    }
    scene.each(flushed)
}

fn flushed(seat: &EntryContext) -> Option<Finding> {
    let sync = &seat.entry.sync;
    if sync.n == 0 || seat.members.iter().all(|m| m.is_null()) {
        return None;
    }
    let evidence = format!(
        "{} took {} on average; inside a virtual machine it cannot be shown that they made anything durable.",
        counted(sync.n, "flush").replace("flushs", "flushes"),
        duration(sync.mean),
    );
    Some(seat.finding(CODE, Weight::Note, evidence, ADVICE))
}
