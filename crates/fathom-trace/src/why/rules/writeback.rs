//! A page cache that is full of unwritten data.

use fathom_model::format::{bandwidth, bytes};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::evidence::WhyReading;
use super::super::facts::{Facts, Waiter};

/// Where the kernel slows writers down.
const THROTTLED: [&str; 1] = ["balance_dirty_pages"];

/// Share of the looks at a writer in which the kernel slows it down from which on that is no chance.
const MIN_THROTTLED_SHARE: f64 = 0.2;

/// Bytes that are not written yet at one moment.
fn unwritten_bytes(facts: &Facts, reading: &WhyReading) -> Option<u64> {
    let pages = reading.memory.get("nr_dirty")? + reading.memory.get("nr_writeback")?;
    Some(pages * facts.evidence.page_bytes)
}

/// Writers that the kernel slows down because too much data is not written yet. It begins halfway between both thresholds
/// (`domain_dirty_limits` and `dirty_freerun_ceiling` in the kernel's `mm/page-writeback.c`), and the amount varies around that.
pub(super) fn full_page_cache(facts: &Facts) -> Option<WhyFinding> {
    let (before, after) = (&facts.evidence.before, &facts.evidence.after);
    let unwritten = unwritten_bytes(facts, before)?.max(unwritten_bytes(facts, after)?);
    let full = facts.page_bytes("nr_dirty_threshold")?;
    let from = full.midpoint(facts.page_bytes("nr_dirty_background_threshold")?);
    let is_throttled = |waiter: &&Waiter| {
        waiter.share_of_looks(|thread| thread.is_in(&THROTTLED)) >= MIN_THROTTLED_SHARE
    };
    let throttled = facts.waiters.iter().find(is_throttled);
    if from == 0 || (throttled.is_none() && unwritten < from) {
        return None;
    }
    let is_writer = |waiter: &&Waiter| {
        waiter
            .seen
            .iter()
            .any(|thread| thread.call.is_none_or(|call| call.contains("write")))
    };
    let waiter = throttled.or_else(|| facts.waiters.iter().find(is_writer))?;
    let devices = facts
        .devices
        .iter()
        .filter(|load| load.facts.members.is_empty());
    let device = devices.max_by_key(|load| load.grown.bytes[1])?;
    let written = device.grown.bytes[1] as f64 / facts.seconds;
    // Between both readings it was more.
    let when = if unwritten < from {
        "were to be written at the start or the end"
    } else {
        "wait to be written"
    };
    let sentence = format!(
        "The page cache is full of unwritten data: {} {when}, and from {} on the kernel slows writers down; {} waits in its writes, {} takes {}.",
        bytes(unwritten),
        bytes(from),
        waiter.title(),
        device.name(),
        bandwidth(written),
    );
    let finding = WhyFinding::sure_if(
        throttled.is_some(),
        WhyCause::Writeback,
        sentence,
        "run `fathom why` as root, which sees where in the kernel it waits",
    )
    .about("waits", &waiter.name, Some(waiter.pid))
    .about("device", device.name(), None)
    .figure("unwritten_bytes", unwritten as f64)
    .figure("slowed_from_bytes", from as f64)
    .figure("written_bytes_per_s", written)
    .because(device.sentence());
    let advice = "Write less at once, or in a control group with its own limits. Larger vm.dirty_ratio only delays it.";
    Some(finding.advise(advice))
}
