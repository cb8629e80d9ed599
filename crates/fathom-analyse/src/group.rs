//! Reporting groups: fio's `Run status group`.

use std::collections::BTreeMap;

use fathom_model::{
    Direction, DirectionSummary, Entry, GroupDirection, GroupSummary, PerDirection,
};

/// One summary for each reporting group, by number. Bandwidth is all bytes over the longest run
/// time.
pub(crate) fn groups(entries: &[Entry]) -> Vec<GroupSummary> {
    let mut by_number: BTreeMap<u32, Vec<&Entry>> = BTreeMap::new();
    entries
        .iter()
        .for_each(|entry| by_number.entry(entry.group).or_default().push(entry));
    by_number
        .into_iter()
        .map(|(group, members)| summary(group, &members))
        .collect()
}

fn summary(group: u32, entries: &[&Entry]) -> GroupSummary {
    let directions = PerDirection::from_fn(|d| {
        let shown = entries.iter().filter(|e| e.show_directions);
        line(shown.map(|e| &e.directions[d]))
    });
    let mixed = mixed_line(entries);
    GroupSummary {
        group,
        directions,
        mixed,
    }
}

/// `mixed` covers all entries once one of them asks for it.
fn mixed_line(entries: &[&Entry]) -> Option<GroupDirection> {
    entries.iter().any(|e| e.mixed.is_some()).then_some(())?;
    if entries.iter().all(|e| !e.show_directions) {
        return line(entries.iter().filter_map(|e| e.mixed.as_ref()));
    }
    sum(&Direction::ALL.map(|d| line(entries.iter().map(|e| &e.directions[d]))))
}

fn line<'a>(members: impl Iterator<Item = &'a DirectionSummary>) -> Option<GroupDirection> {
    members
        .filter(|d| d.runtime_ms > 0)
        .fold(None, |line, d| Some(with(line, d)))
        .map(|mut line| {
            line.bandwidth = line.bytes as f64 * 1e3 / line.max_runtime_ms as f64;
            line
        })
}

fn with(line: Option<GroupDirection>, d: &DirectionSummary) -> GroupDirection {
    let one = GroupDirection {
        bandwidth: 0.0,
        min_bandwidth: d.bandwidth,
        max_bandwidth: d.bandwidth,
        bytes: d.bytes,
        min_runtime_ms: d.runtime_ms,
        max_runtime_ms: d.runtime_ms,
    };
    line.map_or(one, |line| joined(&line, &one))
}

/// Adds the three directions of one group as fio does for `unified_rw_reporting=both`: bandwidths
/// are summed.
fn sum(lines: &[Option<GroupDirection>]) -> Option<GroupDirection> {
    lines
        .iter()
        .flatten()
        .copied()
        .reduce(|a, b| joined(&a, &b))
}

fn joined(a: &GroupDirection, b: &GroupDirection) -> GroupDirection {
    GroupDirection {
        bandwidth: a.bandwidth + b.bandwidth,
        min_bandwidth: a.min_bandwidth.min(b.min_bandwidth),
        max_bandwidth: a.max_bandwidth.max(b.max_bandwidth),
        bytes: a.bytes + b.bytes,
        min_runtime_ms: a.min_runtime_ms.min(b.min_runtime_ms),
        max_runtime_ms: a.max_runtime_ms.max(b.max_runtime_ms),
    }
}
