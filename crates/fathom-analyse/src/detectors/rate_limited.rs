//! RATE_LIMITED: I/Os are either fast or stopped for the same time again and again, as a rate
//! limiter does.

use fathom_model::{Finding, Histogram, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{counted, duration, percent};

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

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(limited)
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
    let around = |&(at, _): &(f64, u64)| {
        let near = long
            .iter()
            .filter(|(value, _)| (value - at).abs() <= SPREAD * at);
        let (count, time) = near.fold((0, 0.0), |(count, time), (value, n)| {
            (count + n, time + value * *n as f64)
        });
        Pause {
            at,
            count,
            time: time / whole,
        }
    };
    long.iter()
        .map(around)
        .max_by(|a, b| a.time.total_cmp(&b.time))
}
