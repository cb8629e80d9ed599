//! The lines of `--watch`.

use std::collections::BTreeMap;

use fathom_model::format::{bandwidth, duration, percent, rate};
use fathom_trace::{DeviceNumber, IoDirection, Process, Summary};

use super::text::table;
use crate::Style;

/// Processes that are shown.
const PROCESSES: usize = 15;

/// Counts at one moment; the difference of two of them gives rates.
#[derive(Clone, Debug, Default)]
pub struct LiveRates {
    at_ns: u64,
    devices: BTreeMap<DeviceNumber, DeviceCounts>,
    processes: BTreeMap<(DeviceNumber, Process), ([u64; 2], [u64; 2], u128, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DeviceCounts {
    requests: [u64; 2],
    bytes: [u64; 2],
    /// Sum and number of latencies: of the scheduler, the device and in all.
    times: [(u128, u64); 3],
    flushes: u64,
    depth_ns: u64,
    busy_ns: u64,
}

impl LiveRates {
    /// The counts of a summary at this time of `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn at(now_ns: u64, summary: &Summary) -> Self {
        let devices = summary.devices.iter().map(|(number, device)| {
            let (read, write) = (
                device.direction(IoDirection::Read),
                device.direction(IoDirection::Write),
            );
            let both = |of: fn(&fathom_trace::Phases) -> &fathom_model::Histogram| {
                let (a, b) = (of(&read.phases), of(&write.phases));
                (a.sum() + b.sum(), a.count() + b.count())
            };
            let counts = DeviceCounts {
                requests: [read.requests, write.requests],
                bytes: [read.bytes, write.bytes],
                times: [
                    both(|phases| &phases.queue_to_issue),
                    both(|phases| &phases.issue_to_complete),
                    both(|phases| &phases.queue_to_complete),
                ],
                flushes: device.flushes.count(),
                depth_ns: device.depth.by_interval.iter().sum(),
                busy_ns: device.depth.time_at.iter().skip(1).sum(),
            };
            (*number, counts)
        });
        let processes = summary.processes.iter().map(|(key, process)| {
            (
                key.clone(),
                (
                    [process.bios[0], process.bios[1]],
                    [process.bytes[0], process.bytes[1]],
                    process.latency.sum(),
                    process.latency.count(),
                ),
            )
        });
        Self {
            at_ns: now_ns,
            devices: devices.collect(),
            processes: processes.collect(),
        }
    }
}

/// Rates between two moments as a table of devices and one of processes.
#[must_use]
pub fn live_rates_text(
    before: &LiveRates,
    now: &LiveRates,
    name: &dyn Fn(DeviceNumber) -> String,
    style: &Style,
) -> String {
    let seconds = ((now.at_ns - before.at_ns) as f64 / 1e9).max(1e-3);
    let mut rows = vec![
        [
            "device",
            "reads/s",
            "read",
            "writes/s",
            "written",
            "queued",
            "device",
            "in all",
            "flushes/s",
            "depth",
            "busy",
        ]
        .map(str::to_owned),
    ];
    for (number, counts) in &now.devices {
        let old = before.devices.get(number).copied().unwrap_or_default();
        let per_second = |new: u64, old: u64| (new - old) as f64 / seconds;
        let mean = |index: usize| {
            let count = counts.times[index].1 - old.times[index].1;
            if count == 0 {
                "-".to_owned()
            } else {
                duration((counts.times[index].0 - old.times[index].0) as f64 / count as f64)
            }
        };
        rows.push([
            style.clean(&name(*number)),
            rate(per_second(counts.requests[0], old.requests[0])),
            bandwidth(per_second(counts.bytes[0], old.bytes[0])),
            rate(per_second(counts.requests[1], old.requests[1])),
            bandwidth(per_second(counts.bytes[1], old.bytes[1])),
            mean(0),
            mean(1),
            mean(2),
            rate(per_second(counts.flushes, old.flushes)),
            format!("{:.1}", per_second(counts.depth_ns, old.depth_ns) / 1e9),
            percent((per_second(counts.busy_ns, old.busy_ns) / 1e7).min(100.0)),
        ]);
    }
    let mut text = table(&rows);
    let mut active: Vec<_> = now
        .processes
        .iter()
        .filter_map(|(key, counts)| {
            let old = before.processes.get(key).copied().unwrap_or_default();
            let ios = [counts.0[0] - old.0[0], counts.0[1] - old.0[1]];
            let bytes = [counts.1[0] - old.1[0], counts.1[1] - old.1[1]];
            let latency = (counts.2 - old.2) as f64 / (counts.3 - old.3).max(1) as f64;
            (ios[0] + ios[1] > 0).then_some((key, ios, bytes, latency))
        })
        .collect();
    active.sort_by_key(|(_, _, bytes, _)| std::cmp::Reverse(bytes[0] + bytes[1]));
    let mut rows = vec![
        [
            "process", "PID", "device", "reads/s", "read", "writes/s", "written", "in all",
        ]
        .map(str::to_owned),
    ];
    for ((device, process), ios, bytes, latency) in active.into_iter().take(PROCESSES) {
        rows.push([
            style.clean(&process.name),
            process.pid.to_string(),
            style.clean(&name(*device)),
            rate(ios[0] as f64 / seconds),
            bandwidth(bytes[0] as f64 / seconds),
            rate(ios[1] as f64 / seconds),
            bandwidth(bytes[1] as f64 / seconds),
            duration(latency),
        ]);
    }
    if rows.len() > 1 {
        text += "\n";
        text += &table(&rows);
    }
    text
}
