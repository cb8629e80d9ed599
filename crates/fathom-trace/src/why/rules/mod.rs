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

use fathom_model::Certainty;

use super::answer::{StuckThread, WhyFinding};
use super::facts::Facts;

/// What was found, the first cause first: facts before what is only likely, and then in the order of the rules.
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
    found.sort_by_key(|finding| finding.certainty != Certainty::Fact);
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
