//! RATE_LIMITED: I/Os are either fast or stopped for the same time again and again, as a rate
//! limiter does.

use fathom_model::{DiskCounters, Finding, Histogram, IoLimit, Weight};

use super::context::of_run;
use super::{EntryContext, RunContext};
use crate::array_members::{find_slow_member, members_of_array};
use crate::figures::{bandwidth, counted, duration, percent, rate};
use crate::witnessed::program_name;

/// Shorter pauses are normal for devices, nanoseconds.
const PAUSE: f64 = 10e6;
/// Relative difference between the pauses.
const SPREAD: f64 = 0.15;
/// Their share of all the time in flight.
const TIME: f64 = 0.6;
/// I/Os without a pause are so many times faster.
const APART: f64 = 5.0;
/// Minimum number of pauses.
const LEAST: u64 = 10;
const ADVICE: &str = "Look for a QoS limit, burst credits or a container limit (blkio.throttle, io.max) and for devices \
                      that pause: the average is then the limiter's setting, not the device's speed.";

/// From this share of a control group's limit on, the limit decides the rate.
const AT_LIMIT: f64 = 0.8;
const SECTOR: u64 = 512;
const COMMAND_ADVICE: &str = "Raise or remove the limit of the control group (blkio.throttle, io.max), or state it with the result: the rate is its setting, not the speed of the device.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if run.witnessed().is_some() {
        let limits = &run.recording.conditions.limits;
        return limits.iter().filter_map(|one| at_limit(run, one)).collect();
    }
    // The I/Os at a slow member of an array are slow as well, again and again.
    if find_slow_member(&members_of_array(run, &run.devices())).is_some() {
        return Vec::new();
    }
    run.each(limited)
}

/// A watched command has no latencies, but the limits of its control groups are known: a device was at a limit for as long as
/// it did anything in that direction.
fn at_limit(run: &RunContext, limit: &IoLimit) -> Option<Finding> {
    let telemetry = &run.recording.conditions.telemetry;
    let place = telemetry
        .disks
        .iter()
        .position(|disk| *disk == limit.disk)?;
    let amount = |counters: &DiskCounters| match (limit.reads, limit.ios) {
        (true, true) => counters.read_ios + counters.read_merges,
        (true, false) => counters.read_sectors * SECTOR,
        (false, true) => counters.write_ios + counters.write_merges,
        (false, false) => counters.write_sectors * SECTOR,
    };
    let active = telemetry.samples.iter().filter_map(|sample| {
        let amount = amount(sample.disks.get(place)?);
        (amount > 0).then_some((amount, sample.length.as_secs_f64()))
    });
    let (amount, seconds) = active.fold((0, 0.0), |(all, time), (amount, length)| {
        (all + amount, time + length)
    });
    let reached = amount as f64 / f64::max(seconds, f64::MIN_POSITIVE);
    if seconds == 0.0 || reached < AT_LIMIT * limit.per_second as f64 {
        return None;
    }
    let figure = |value: f64| {
        if limit.ios {
            format!("{} per second", rate(value))
        } else {
            bandwidth(value)
        }
    };
    let evidence = format!(
        "A control group limits the {}s of {} on {} to {}, and {} were reached.",
        if limit.reads { "read" } else { "write" },
        run.witnessed()
            .map_or("the command", |one| program_name(one)),
        limit.disk,
        figure(limit.per_second as f64),
        figure(reached),
    );
    Some(of_run(Weight::Degrades, evidence, COMMAND_ADVICE))
}

fn limited(entry: &EntryContext) -> Option<Finding> {
    let clat = entry.latencies(|d| &d.clat);
    let median = clat.percentile(50.0)?;
    let pause = longest_pause(&clat)?;
    if pause.time < TIME || pause.count < LEAST || median * APART > pause.at {
        return None;
    }
    let evidence = format!(
        "Half of the I/Os took {} or less, but {} near {} account for {} of the time: the pattern of a rate limiter, or of a \
         device that pauses.",
        duration(median),
        counted(pause.count, "I/O"),
        duration(pause.at),
        percent(pause.time * 100.0),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}

/// The group of similar latencies with the most time.
struct Pause {
    at: f64,
    count: u64,
    /// Share of all the time in flight, 0 to 1.
    time: f64,
}

fn longest_pause(clat: &Histogram) -> Option<Pause> {
    let long: Vec<(f64, u64)> = clat
        .buckets()
        .filter(|(value, _)| *value >= PAUSE)
        .collect();
    let whole = clat.sum() as f64;
    // Sums up to each bucket, so that a group costs two searches: there are thousands of buckets.
    let (mut count, mut time) = (0, 0.0);
    let mut sums = vec![(count, time)];
    sums.extend(long.iter().map(|(value, n)| {
        count += n;
        time += value * *n as f64;
        (count, time)
    }));
    let around = |&(at, _): &(f64, u64)| {
        let from = long.partition_point(|(value, _)| *value < at - SPREAD * at);
        let to = long.partition_point(|(value, _)| *value <= at + SPREAD * at);
        Pause {
            at,
            count: sums[to].0 - sums[from].0,
            time: (sums[to].1 - sums[from].1) / whole,
        }
    };
    long.iter()
        .map(around)
        .max_by(|a, b| a.time.total_cmp(&b.time))
}
