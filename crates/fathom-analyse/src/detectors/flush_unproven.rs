//! FLUSH_UNPROVEN: flushes were acknowledged inside a virtual machine.

use fathom_model::{Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{counted, duration};

const ADVICE: &str = "Check how the host handles flushes (cache mode of the virtual disk): some hosts acknowledge them without doing anything. Only a power failure of the host can prove them.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if run.recording.conditions.virtual_machine != Some(true) {
        return Vec::new();
    }
    run.each(flushed)
}

fn flushed(entry: &EntryContext) -> Option<Finding> {
    let sync = &entry.figures.sync;
    if sync.n == 0
        || entry
            .members
            .iter()
            .all(super::super::members::Member::is_null)
    {
        return None;
    }
    let evidence = format!(
        "{} took {} on average; inside a virtual machine nothing shows that they made data durable.",
        counted(sync.n, "flush").replace("flushs", "flushes"),
        duration(sync.mean),
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}
