//! One direction of an entry, or all of them as one.

use fathom_model::{
    Accounting, Counts, Direction, DirectionRecording, DirectionSummary, Histogram, Interval,
    LatencySummary, Nanos,
};

use crate::latency::merged;
use crate::members::Member;
use crate::priorities::by_priority;
use crate::samples::{Tally, rates};

const KIB: u64 = 1024;

/// Summary of the members over the given directions.
pub(crate) fn direction_summary(members: &[Member], directions: &[Direction]) -> DirectionSummary {
    let accounting = &members[0].job.accounting;
    let lists = Lists::of(accounting);
    let all = |pick: fn(&DirectionRecording) -> &Histogram| {
        merged(recordings(members, directions).map(pick))
    };
    let counts = counts(members, directions);
    let mut made = DirectionSummary {
        bytes: counts.bytes_ok,
        runtime_ms: runtime_ms(members, directions),
        ios: counts.ok,
        short_ios: counts.short,
        dropped_ios: counts.not_sent,
        counts,
        slat: LatencySummary::of(&all(|d| &d.slat), lists.slat),
        clat: LatencySummary::of(&all(|d| &d.clat), lists.clat),
        lat: LatencySummary::of(&all(|d| &d.lat), lists.lat),
        response: present(&all(|d| &d.response), lists.open),
        lateness: present(&all(|d| &d.lateness), lists.open),
        priorities: by_priority(members, directions),
        ..DirectionSummary::default()
    };
    if made.runtime_ms > 0 {
        made.bandwidth = made.bytes as f64 * 1e3 / made.runtime_ms as f64;
        made.iops = made.ios as f64 * 1e3 / made.runtime_ms as f64;
    }
    add_samples(&mut made, members, directions);
    made
}

/// Requested percentiles by kind of latency.
struct Lists<'a> {
    slat: &'a [f64],
    clat: &'a [f64],
    lat: &'a [f64],
    open: &'a [f64],
}

impl<'a> Lists<'a> {
    fn of(accounting: &'a Accounting) -> Self {
        let list = |wanted: bool| {
            if wanted {
                &accounting.percentiles[..]
            } else {
                &[]
            }
        };
        Lists {
            slat: list(accounting.slat_percentiles),
            clat: list(accounting.clat_percentiles),
            lat: list(accounting.lat_percentiles),
            open: list(true),
        }
    }
}

fn recordings<'a>(
    members: &'a [Member],
    directions: &'a [Direction],
) -> impl Iterator<Item = &'a DirectionRecording> + 'a {
    members
        .iter()
        .flat_map(move |m| directions.iter().map(move |d| &m.seen.directions[*d]))
}

fn present(histogram: &Histogram, percentiles: &[f64]) -> Option<LatencySummary> {
    (histogram.count() > 0).then(|| LatencySummary::of(histogram, percentiles))
}

/// Outcomes of all I/Os of the members in these directions.
pub(crate) fn counts(members: &[Member], directions: &[Direction]) -> Counts {
    let mut sum = Counts::default();
    recordings(members, directions).for_each(|d| sum.add(&d.counts));
    sum
}

/// Longest run time of a member that transferred data in these directions, in milliseconds, rounded
/// up as in fio.
fn runtime_ms(members: &[Member], directions: &[Direction]) -> u64 {
    let used = |m: &&Member| {
        directions
            .iter()
            .any(|d| moved(&m.seen.directions[*d].counts))
    };
    members
        .iter()
        .filter(used)
        .map(|m| rounded_up_ms(time_of(m, directions)))
        .max()
        .unwrap_or(0)
}

/// Time in which a member moved data in these directions: only reads are done in a verify pass, and
/// a job that writes reads nothing else.
fn time_of(member: &Member, directions: &[Direction]) -> Nanos {
    let (all, verifying) = (member.run_time(), member.seen.verify.time);
    let only_writes = !member.job.pattern.traffic.uses(Direction::Read);
    let time = |direction: &Direction| match direction {
        Direction::Read if only_writes && !verifying.is_zero() => verifying.min(all),
        Direction::Read => all,
        _ => all.saturating_sub(verifying),
    };
    if directions.len() > 1 {
        return all;
    }
    directions.iter().map(time).max().unwrap_or(all)
}

fn moved(counts: &Counts) -> bool {
    counts.ok > 0 || counts.bytes_short > 0
}

fn rounded_up_ms(time: Nanos) -> u64 {
    time.get().div_ceil(1_000_000).max(1)
}

/// Samples of all members. `gtod_reduce` and `disable_bw_measurement` do not disable them: in fio
/// 3.33 the latter affects only the log of single I/Os, and readers of its JSON expect the samples.
fn add_samples(made: &mut DirectionSummary, members: &[Member], directions: &[Direction]) {
    let (mut bandwidth, mut iops) = (Tally::default(), Tally::default());
    for member in members {
        let (accounting, intervals) = (&member.job.accounting, &member.seen.intervals);
        let bytes = |i: &Interval| directions.iter().map(|d| i.directions[*d].bytes).sum();
        let ios = |i: &Interval| directions.iter().map(|d| i.directions[*d].ios).sum();
        bandwidth.add(&rates(intervals, accounting.bandwidth_sample, KIB, bytes));
        iops.add(&rates(intervals, accounting.iops_sample, 1, ios));
    }
    made.bw_samples = bandwidth.samples();
    made.iops_samples = iops.samples();
}

/// This entry's share of its group's bandwidth, as fio computes it: mean of the samples divided by
/// the group's bandwidth, at most 100; 100 if the group transfers 1 KiB/s or less.
pub(crate) fn bandwidth_share(direction: &DirectionSummary, group_bandwidth: f64) -> f64 {
    if direction.bw_samples.count == 0 {
        return 0.0;
    }
    if group_bandwidth <= 1024.0 {
        return 100.0;
    }
    (direction.bw_samples.mean * 100.0 / (group_bandwidth / 1024.0)).min(100.0)
}
