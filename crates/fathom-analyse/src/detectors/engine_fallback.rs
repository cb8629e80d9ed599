//! ENGINE_FALLBACK: another engine stood in for the planned one.

use fathom_model::{Finding, Weight};

use super::{Detector, EntryContext, RunContext};

const CODE: &str = "ENGINE_FALLBACK";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Name the engine (ioengine=) to have an error in place of a stand-in.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(stood_in)
}

fn stood_in(seat: &EntryContext) -> Option<Finding> {
    seat.members.iter().find_map(|m| {
        let why = m.seen.fallback.as_ref()?;
        let evidence = format!(
            "{} stood in for {}: {why}.",
            m.seen.engine,
            m.job.engine.kind.word()
        );
        Some(seat.finding(CODE, Weight::Note, evidence, ADVICE))
    })
}
