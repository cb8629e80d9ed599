//! WORKING_SET_CACHED: buffered reads of a region that fits into memory.

use fathom_model::{Direction, Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::bytes;

/// The page cache can hold about this share of memory before it evicts its own pages.
const SHARE: f64 = 0.5;
const ADVICE: &str = "To measure the device use direct=1 or a region of at least twice the memory; the figures are correct for a working set of this size.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let memory = run.recording.host.memory.get();
    run.each(|entry| fits(entry, memory))
}

fn fits(entry: &EntryContext, memory: u64) -> Option<Finding> {
    let buffered = || {
        entry
            .members
            .iter()
            .filter(|m| !m.is_null() && !m.job.files.direct && !m.job.engine.kind.has_image())
    };
    let read: u64 = buffered()
        .map(|m| m.seen.directions[Direction::Read].counts.bytes_ok)
        .sum();
    let region: u64 = buffered().map(|m| m.seen.region.get()).sum();
    if read == 0 || region == 0 || region as f64 > memory as f64 * SHARE {
        return None;
    }
    let evidence = format!(
        "{} of buffered reads went to a region of {}, which fits into the {} of memory.",
        bytes(read),
        bytes(region),
        bytes(memory),
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}
