//! REPEATED_ADDRESSES: the region was read several times.

use fathom_model::{Direction, Finding, Weight};

use super::{EntryContext, RunContext};
use crate::distinct_blocks::{distinct_blocks, name, skewed};
use crate::figures::{bytes, count, percent};
use crate::members::Member;

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
    if let Some(repeats) = skewed_reads(entry) {
        return repeats.map(|evidence| entry.finding(Weight::Note, evidence, ADVICE));
    }
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

/// Reads from a skewed distribution repeat hot blocks long before the region was read twice. The inner value is absent if fewer
/// than half of the reads repeat an earlier one.
fn skewed_reads(entry: &EntryContext) -> Option<Option<String>> {
    let mut members = entry.members.iter().filter(|m| !m.is_null());
    let first = members.next()?;
    let (distribution, block) = skewed(&first.job.pattern)?;
    let is_alike = |m: &Member| skewed(&m.job.pattern) == Some((distribution, block));
    if !members.all(is_alike) {
        return None;
    }
    let (mut draws, mut distinct) = (0, 0.0);
    let mut blocks = 0;
    for member in entry.members {
        let ios = member.seen.directions[Direction::Read].counts.ok;
        blocks = member.seen.region.get() / block;
        draws += ios;
        distinct += distinct_blocks(distribution, blocks, ios)?;
    }
    let repeated = 1.0 - distinct / draws.max(1) as f64;
    Some((draws > 0 && repeated >= 1.0 - 1.0 / TIMES).then(|| {
        format!(
            "Of {} reads under {} over {} blocks, {} repeat an earlier one (expected value); repeats may come from a cache.",
            count(draws),
            name(distribution),
            count(blocks),
            percent(100.0 * repeated),
        )
    }))
}
