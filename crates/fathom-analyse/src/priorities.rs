//! Latencies by I/O priority, as fio sums them over the members of an entry.

use fathom_model::{Direction, Histogram, LatencySummary, PrioritySummary};

use crate::members::Member;

/// Distributions by priority, in order of first appearance; empty for fewer than two.
pub(crate) fn by_priority(members: &[Member], directions: &[Direction]) -> Vec<PrioritySummary> {
    let accounting = &members[0].job.accounting;
    let total = accounting.lat_percentiles;
    let mut kept: Vec<(u16, Histogram)> = Vec::new();
    if members.iter().all(|member| has_default_priority(member)) {
        return Vec::new();
    }
    for (member, direction) in members
        .iter()
        .flat_map(|m| directions.iter().map(move |d| (m, *d)))
    {
        let seen = &member.seen.directions[direction];
        seen.priorities
            .iter()
            .for_each(|one| add(&mut kept, one.prio, &one.latency));
        if seen.priorities.is_empty() {
            let all = if total { &seen.lat } else { &seen.clat };
            add(
                &mut kept,
                member.job.engine.settings.priorities.worker.unwrap_or(0),
                all,
            );
        }
    }
    kept.retain(|(_, latency)| latency.count() > 0);
    if kept.len() < 2 {
        return Vec::new();
    }
    let wanted = accounting.clat_percentiles || accounting.lat_percentiles;
    let percentiles = if wanted {
        &accounting.percentiles[..]
    } else {
        &[]
    };
    let summed = |(prio, latency): (u16, Histogram)| PrioritySummary {
        class: (prio >> 13) as u8,
        level: (prio & 7) as u8,
        hint: prio >> 3 & 1023,
        total,
        latency: LatencySummary::of(&latency, percentiles),
    };
    kept.into_iter().map(summed).collect()
}

/// Whether no priority is set: every I/O had the priority of the process.
fn has_default_priority(member: &Member) -> bool {
    let asked = &member.job.engine.settings.priorities;
    asked.worker.is_none() && asked.shares.iter().all(|(_, shares)| shares.is_empty())
}

fn add(kept: &mut Vec<(u16, Histogram)>, prio: u16, latency: &Histogram) {
    match kept.iter_mut().find(|one| one.0 == prio) {
        Some(one) => one.1.merge(latency),
        None => kept.push((prio, latency.clone())),
    }
}
