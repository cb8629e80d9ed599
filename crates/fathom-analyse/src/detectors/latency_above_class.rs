//! LATENCY_ABOVE_CLASS: single I/Os take longer than is acceptable for the medium.

use fathom_model::{Direction, Finding, Medium, Weight};

use super::{EntryContext, RunContext};
use crate::figures::duration;
use crate::job_summary::is_open_loop;
use crate::latency_class::{SOURCE, most};

/// Fewer I/Os do not give a mean.
const LEAST_IOS: u64 = 100;
/// The time of larger blocks is mostly their transfer.
const LARGEST: u32 = 64 << 10;
const ADVICE: &str = "Look for retries in the kernel log, for other load, for power saving, and for a controller or a network in between.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let media: Vec<Medium> = run
        .devices()
        .into_iter()
        .map(|device| device.before.medium)
        .filter(|medium| *medium != Medium::Below)
        .collect();
    match media.as_slice() {
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            run.each(|entry| slow(entry, *first))
        }
        _ => Vec::new(),
    }
}

fn slow(entry: &EntryContext, medium: Medium) -> Option<Finding> {
    let (limit, name) = most(medium)?;
    let is_single = entry.figures.depth * entry.figures.members == 1;
    let plain = entry
        .members
        .iter()
        .all(|m| m.job.files.direct && !m.is_null() && !is_open_loop(&m.job.pace));
    if !is_single || !plain {
        return None;
    }
    let slow = |d: Direction| {
        let summary = &entry.figures.directions[d];
        let is_slow = summary.ios >= LEAST_IOS
            && entry.figures.block_sizes[d].1 <= LARGEST
            && summary.clat.mean > limit.get() as f64;
        is_slow.then_some((d, summary.clat.mean))
    };
    let (direction, mean) = [Direction::Read, Direction::Write]
        .into_iter()
        .find_map(slow)?;
    let evidence = format!(
        "With one I/O in flight, {}s took {} on average; the limit for {name} is {} ({SOURCE}).",
        direction.name(),
        duration(mean),
        duration(limit.get() as f64),
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}
