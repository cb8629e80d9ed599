//! REPEATED_ADDRESSES: the region was read several times.

use fathom_model::{Direction, Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::bytes;

/// From twice on, at least half of the reads repeat an earlier one.
const TIMES: f64 = 2.0;
const ADVICE: &str = "To measure the medium use a larger region; the figures are correct for a working set of this size.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(repeated)
}

fn repeated(entry: &EntryContext) -> Option<Finding> {
    let real = || entry.members.iter().filter(|m| !m.is_null());
    let read: u64 = real()
        .map(|m| m.seen.directions[Direction::Read].counts.bytes_ok)
        .sum();
    let region: u64 = real().map(|m| m.seen.region.get()).sum();
    if region == 0 || (read as f64) < region as f64 * TIMES {
        return None;
    }
    let evidence = format!(
        "Each byte of the region of {} was read {:.1} times on average; repeats may come from a cache.",
        bytes(region),
        read as f64 / region as f64,
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}
