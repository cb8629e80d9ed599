//! An entry over time: the sum of the intervals of all members.

use std::collections::BTreeMap;

use fathom_model::{
    Direction, Histogram, Interval, IntervalDirection, MergedInterval, MergedIntervalDirection,
    Nanos, PerDirection, SparseHistogram,
};

use crate::members::Member;

/// One moment for each recorded interval, in ascending order. Intervals are aligned to the start of
/// the run, so sums are exact; if long runs made the intervals of some members longer, the longest
/// length is used.
pub(crate) fn series(members: &[Member], interval: Nanos) -> Vec<MergedInterval> {
    let lengths = members
        .iter()
        .flat_map(|m| &m.seen.intervals)
        .map(|i| i.length);
    let step = lengths.fold(interval, Nanos::max).get().max(1);
    let mut slots: BTreeMap<u64, Vec<&Interval>> = BTreeMap::new();
    for made in members.iter().flat_map(|m| &m.seen.intervals) {
        slots.entry(made.start.get() / step).or_default().push(made);
    }
    let mut scratch = Histogram::new();
    slots
        .values()
        .map(|parts| moment(parts, &mut scratch))
        .collect()
}

fn moment(parts: &[&Interval], scratch: &mut Histogram) -> MergedInterval {
    let start = parts.iter().map(|p| p.start).min().unwrap_or_default();
    let end = parts
        .iter()
        .map(|p| p.start + p.length)
        .max()
        .unwrap_or_default();
    let directions = PerDirection::from_fn(|d| direction(parts, d, scratch));
    MergedInterval {
        start,
        length: end.saturating_sub(start),
        directions,
    }
}

fn direction(
    parts: &[&Interval],
    direction: Direction,
    scratch: &mut Histogram,
) -> MergedIntervalDirection {
    let mut made = MergedIntervalDirection::default();
    scratch.clear();
    for part in parts.iter().map(|p| &p.directions[direction]) {
        made.ios += part.ios;
        made.bytes += part.bytes;
        made.bad += part.bad;
        latencies(part).add_to(scratch);
    }
    made.p50 = scratch.percentile(50.0).map(|v| v.round() as u64);
    made.p99 = scratch.percentile(99.0).map(|v| v.round() as u64);
    made.max = scratch.max().map(Nanos::get);
    if scratch.count() > 0 {
        made.mean = Some(scratch.mean().round() as u64);
        made.latencies = SparseHistogram::pack(scratch);
    }
    made
}

fn latencies(part: &IntervalDirection) -> &SparseHistogram {
    if part.response.is_empty() {
        &part.clat
    } else {
        &part.response
    }
}
