//! The hypotheses, in the order in which they exclude each other: what does not answer at all, what is limited by a setting, what
//! memory causes, what one device does, and last how a program uses it.

mod array;
mod device;
mod flush;
pub(super) mod idle;
mod limit;
mod memory;
mod neighbour;
pub(super) mod stuck;
mod writeback;

use super::answer::{StuckThread, WhyFinding};
use super::facts::Facts;

/// What was found, the first cause first.
pub(super) fn findings(facts: &Facts, stuck: &[StuckThread]) -> Vec<WhyFinding> {
    let mut found: Vec<WhyFinding> = [
        stuck::hang(facts, stuck),
        limit::control_group(facts),
        memory::swap(facts),
        memory::pressure(facts),
        writeback::full_page_cache(facts),
        array::slow_member(facts),
        flush::storm(facts),
        limit::burst_credits(facts),
        neighbour::neighbour(facts),
    ]
    .into_iter()
    .flatten()
    .collect();
    // How the device serves its only user matters only where nothing else explains the wait.
    if found.is_empty() {
        found.extend(
            device::slow(facts)
                .or_else(|| device::one_at_a_time(facts))
                .or_else(|| device::busy(facts)),
        );
    }
    found
}
