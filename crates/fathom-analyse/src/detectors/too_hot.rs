//! TOO_HOT: the device reports thermal throttling, or throughput fell while a sensor got hotter.

use fathom_model::{DeviceRecording, Finding, MergedInterval, Nanos, Sample, TimeSpan, Weight};

use super::context::of_run;
use super::{EntryContext, RunContext};
use crate::figures::percent;

/// Drives and CPUs begin to slow down somewhere above this (composite warning temperatures of NVMe
/// drives).
const WARM: f64 = 65.0;
/// A smaller rise may be ambient temperature.
const RISE: f64 = 5.0;
/// A larger fall is more than noise.
const FALL: f64 = 0.15;
const ADVICE: &str = "Cool the device or the machine, let it rest before each run, and compare runs that start equally cool.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let reported: Vec<Finding> = run
        .devices()
        .into_iter()
        .filter_map(reported_throttling)
        .take(1)
        .collect();
    let samples = &run.recording.conditions.telemetry.samples;
    if reported.is_empty() {
        run.each(|entry| slowed(entry, samples))
    } else {
        reported
    }
}

/// For how many seconds and how often thermal management slowed a device down between the queries before and after a run. NVM Express
/// Base Specification, SMART / Health Information log page.
pub(crate) fn throttling(device: &DeviceRecording) -> Option<(u64, u64)> {
    let (before, after) = (&device.before.health, &device.after.as_ref()?.health);
    let seconds = after.throttled_s?.saturating_sub(before.throttled_s?);
    let times = after
        .throttle_count
        .zip(before.throttle_count)
        .map_or(0, |(after, before)| after.saturating_sub(before));
    (seconds > 0 || times > 0).then_some((seconds, times))
}

fn reported_throttling(device: &DeviceRecording) -> Option<Finding> {
    let (seconds, times) = throttling(device)?;
    let after = &device.after.as_ref()?.health;
    let now = after.temperature_c.map_or(String::new(), |celsius| {
        format!("; it is at {celsius:.0} degrees Celsius")
    });
    let evidence = format!(
        "{} reported {seconds} s of thermal management during the run ({times} {}){now}.",
        device.before.name,
        if times == 1 {
            "transition"
        } else {
            "transitions"
        },
    );
    Some(of_run(Weight::Degrades, evidence, ADVICE))
}

fn slowed(entry: &EntryContext, samples: &[Sample]) -> Option<Finding> {
    let (from, to) = entry.span();
    let third = to.saturating_sub(from).get() / 3;
    let (early, late) = (
        from + Nanos::new(third),
        to.saturating_sub(Nanos::new(third)),
    );
    let hottest = |from, to| {
        samples
            .iter()
            .filter(|s| s.start >= from && s.start < to)
            .filter_map(|s| s.celsius)
            .reduce(f64::max)
    };
    let (cool, hottest) = (hottest(from, early)?, hottest(late, to)?);
    let (fast, slow) = (
        speed(&entry.figures.series, from, early),
        speed(&entry.figures.series, late, to),
    );
    let fall = 1.0 - slow / fast.max(1.0);
    if hottest < WARM || hottest - cool < RISE || fall < FALL {
        return None;
    }
    let evidence = format!(
        "Throughput fell by {} between the first and the last third of the run, while the hottest sensor rose from \
         {cool:.0} to {hottest:.0} degrees Celsius.",
        percent(fall * 100.0),
    );
    Some(
        entry
            .finding(Weight::Degrades, evidence, ADVICE)
            .with_times([TimeSpan { from: late, to }]),
    )
}

/// Bytes per second.
fn speed(series: &[MergedInterval], from: Nanos, to: Nanos) -> f64 {
    let part = series.iter().filter(|m| m.start >= from && m.start < to);
    let (bytes, time) = part.fold((0, 0.0), |(bytes, time), moment| {
        let moved = moment.directions.iter().map(|(_, d)| d.bytes).sum::<u64>();
        (bytes + moved, time + moment.length.as_secs_f64())
    });
    if time > 0.0 { bytes as f64 / time } else { 0.0 }
}
