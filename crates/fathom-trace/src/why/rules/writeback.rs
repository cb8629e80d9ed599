//! A page cache that is full of unwritten data.

use fathom_model::format::{bandwidth, bytes};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::facts::{Facts, Waiter};

/// Where the kernel slows writers down.
const THROTTLED: [&str; 1] = ["balance_dirty_pages"];

/// Writers that the kernel slows down because too much data is not written yet. It begins halfway between both thresholds
/// (`domain_dirty_limits` and `dirty_freerun_ceiling` in the kernel's `mm/page-writeback.c`).
pub(super) fn full_page_cache(facts: &Facts) -> Option<WhyFinding> {
    let unwritten = facts.page_bytes("nr_dirty")? + facts.page_bytes("nr_writeback")?;
    let (full, background) = (
        facts.page_bytes("nr_dirty_threshold")?,
        facts.page_bytes("nr_dirty_background_threshold")?,
    );
    let from = full.midpoint(background);
    if unwritten < from || from == 0 {
        return None;
    }
    let is_throttled = |waiter: &&Waiter| waiter.seen.iter().any(|thread| thread.is_in(&THROTTLED));
    let throttled = facts.waiters.iter().find(is_throttled);
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
    let sentence = format!(
        "The page cache is full of unwritten data: {} wait to be written, and from {} on the kernel slows writers down; {} waits in its writes, {} takes {}.",
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
