//! An observation as text.

use fathom_model::Histogram;
use fathom_model::format::{
    TimeUnit, bandwidth, bytes, counted, duration, percent, rate, thousands,
};
use fathom_trace::{
    CountedObservation, DeviceNumber, DeviceSummary, IoDirection, Observation, ProcessSummary,
    QueueLimits,
};

use super::audit_sentence;
use crate::Style;
use crate::output::wrap;

/// Sizes that are explained for each direction, and processes that are listed for each device.
const SIZES: usize = 4;
const PROCESSES: usize = 10;
/// Columns of the latency table.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// The report of an observation.
#[must_use]
pub fn observation_text(observation: &Observation, style: &Style) -> String {
    let mut text = format!(
        "Observed {} for {}: {} on {}\n",
        style.clean(&observation.target),
        duration(observation.seconds() * 1e9),
        counted(observation.requests(), "request"),
        counted(
            observation
                .summary
                .devices
                .values()
                .filter(|device| device.requests() > 0)
                .count() as u64,
            "device"
        )
    );
    for (number, device) in &observation.summary.devices {
        if device.requests() + device.flushes.count() + device.flush_waits.count() > 0 {
            text += "\n";
            text += &one_device(observation, *number, device, style);
        }
    }
    text += &files(observation, style);
    text += &remarks(observation, style);
    text
}

/// The files with the most bytes.
fn files(observation: &Observation, style: &Style) -> String {
    let Some(io) = &observation.summary.files else {
        return String::new();
    };
    let mut found: Vec<_> = io
        .names
        .iter()
        .zip(&io.files)
        .filter(|(_, file)| file.ios.iter().sum::<u64>() > 0)
        .collect();
    found.sort_by_key(|(name, file)| (std::cmp::Reverse(file.bytes.iter().sum::<u64>()), *name));
    let mut rows =
        vec![["file", "reads", "read", "writes", "written", "mean", "p99"].map(str::to_owned)];
    for (name, file) in found.iter().take(PROCESSES) {
        rows.push([
            style.clean(name),
            thousands(file.ios[0]),
            bytes(file.bytes[0]),
            thousands(file.ios[1]),
            bytes(file.bytes[1]),
            duration(file.latency.mean()),
            duration(file.latency.percentile(99.0).unwrap_or_default()),
        ]);
    }
    let mut text = String::from("\n");
    if found.is_empty() {
        text += "No request was in one of the named files.\n";
    } else {
        text += &table(&rows);
    }
    if found.len() > PROCESSES {
        text += &line(&format!("{} more files", found.len() - PROCESSES), style);
    }
    if io.elsewhere.0 > 0 {
        text += &line(
            &format!(
                "elsewhere on the devices (other files, metadata, journals): {}, {}",
                counted(io.elsewhere.0, "request"),
                bytes(io.elsewhere.1)
            ),
            style,
        );
    }
    text
}

fn one_device(
    observation: &Observation,
    number: DeviceNumber,
    device: &DeviceSummary,
    style: &Style,
) -> String {
    let limits = observation.limits.get(&number);
    let mut text = line(&heading(observation, number, device, limits), style);
    text += &rates(observation, device);
    text += &latencies(device);
    for direction in IoDirection::ALL {
        text += &details(observation, number, direction, style);
    }
    text += &flushes(device, style);
    text += &processes(observation, number, style);
    text
}

fn heading(
    observation: &Observation,
    number: DeviceNumber,
    device: &DeviceSummary,
    limits: Option<&QueueLimits>,
) -> String {
    let name = observation.name(number);
    let scheduler = match limits {
        Some(limits) if limits.bio_based => ", no requests and no scheduler".to_owned(),
        Some(limits) if !limits.scheduler.is_empty() => format!(", scheduler {}", limits.scheduler),
        _ => String::new(),
    };
    // A device without requests has no depth.
    if limits.is_some_and(|limits| limits.bio_based) {
        return format!("{name} ({number}{scheduler})");
    }
    format!(
        "{name} ({number}{scheduler}): busy {}, mean depth {:.2}, largest {}",
        percent(100.0 * device.depth.busy()),
        device.depth.mean(),
        device.depth.largest
    )
}

fn rates(observation: &Observation, device: &DeviceSummary) -> String {
    let seconds = observation.seconds().max(f64::MIN_POSITIVE);
    let mut rows = vec![
        [
            "",
            "requests",
            "per second",
            "bandwidth",
            "mean size",
            "errors",
        ]
        .map(str::to_owned),
    ];
    for direction in IoDirection::ALL {
        let one = device.direction(direction);
        if one.requests > 0 {
            rows.push([
                direction.name().to_owned(),
                thousands(one.requests),
                rate(one.requests as f64 / seconds),
                bandwidth(one.bytes as f64 / seconds),
                bytes(one.bytes / one.requests),
                thousands(one.errors),
            ]);
        }
    }
    if rows.len() == 1 {
        return String::new();
    }
    table(&rows)
}

fn latencies(device: &DeviceSummary) -> String {
    let mut named: Vec<(String, &Histogram)> = Vec::new();
    for direction in IoDirection::ALL {
        let one = device.direction(direction);
        let phases = [
            ("queue to insert", &one.phases.queue_to_insert),
            ("insert to issue", &one.phases.insert_to_issue),
            ("queue to issue", &one.phases.queue_to_issue),
            ("issue to complete", &one.phases.issue_to_complete),
            ("queue to complete", &one.phases.queue_to_complete),
        ];
        for (phase, histogram) in phases {
            named.push((format!("{}, {phase}", direction.name()), histogram));
        }
        named.push((format!("{} with FUA", direction.name()), &one.fua_latency));
    }
    named.push(("flush command".to_owned(), &device.flushes));
    named.push(("wait for a flush".to_owned(), &device.flush_waits));
    named.retain(|(_, histogram)| histogram.count() > 0);
    if named.is_empty() {
        return String::new();
    }
    let unit = TimeUnit::common(named.iter().map(|(_, histogram)| histogram.mean()));
    // One unit for the table, in its heading.
    let split = |ns: f64| {
        let text = unit.format(ns);
        match text.split_once(' ') {
            Some((value, unit)) => (value.to_owned(), unit.to_owned()),
            None => (text, String::new()),
        }
    };
    let heading = format!("latency, {}", split(1e6).1);
    let mut rows = vec![
        [
            heading.as_str(),
            "count",
            "mean",
            "p50",
            "p99",
            "p99.9",
            "max",
        ]
        .map(str::to_owned),
    ];
    for (name, histogram) in named {
        let percentile =
            |at: usize| split(histogram.percentile(PERCENTILES[at]).unwrap_or_default()).0;
        rows.push([
            name,
            thousands(histogram.count()),
            split(histogram.mean()).0,
            percentile(0),
            percentile(1),
            percentile(2),
            split(histogram.max().map_or(0.0, |max| max.get() as f64)).0,
        ]);
    }
    table(&rows)
}

fn details(
    observation: &Observation,
    number: DeviceNumber,
    direction: IoDirection,
    style: &Style,
) -> String {
    let device = &observation.summary.devices[&number];
    let one = device.direction(direction);
    if one.requests == 0 {
        return String::new();
    }
    let mut text = String::new();
    let name = direction.name();
    if let (Some(share), Some(run)) = (one.at_device.share(), one.at_device.mean_run()) {
        text += &line(
            &format!(
                "{name}s in order of sectors: {}, {run:.1} requests in a row on average, longest {}",
                percent(100.0 * share),
                bytes(one.at_device.longest_run_bytes)
            ),
            style,
        );
    }
    let mut facts = Vec::new();
    let mut fact = |count: u64, text: &str| {
        if count > 0 {
            facts.push(format!("{} {text}", thousands(count)));
        }
    };
    fact(one.split_bios, "bios split");
    fact(one.merged, "bios merged into requests of others");
    fact(one.read_ahead, "requests of read-ahead");
    fact(one.fua, "with FUA");
    fact(one.preflush, "with a flush before");
    fact(one.metadata, "with metadata");
    fact(one.requeues, "given back by the driver");
    fact(
        one.without_history,
        "begun before the trace or in a gap of it",
    );
    if !facts.is_empty() {
        text += &line(&format!("{name}s: {}", facts.join(", ")), style);
    }
    let audits = observation.audit(number, direction);
    for audit in audits.iter().take(SIZES) {
        text += &line(
            &format!(
                "{name}s: {}",
                audit_sentence(observation, number, direction, audit)
            ),
            style,
        );
    }
    if audits.len() > SIZES {
        text += &line(
            &format!("{name}s: {} more sizes", audits.len() - SIZES),
            style,
        );
    }
    text
}

fn flushes(device: &DeviceSummary, style: &Style) -> String {
    let (commands, waits) = (device.flushes.count(), device.flush_waits.count());
    if commands + waits == 0 {
        return String::new();
    }
    line(
        &format!(
            "flushes: {} to the device for {} of programs",
            counted(commands, "command"),
            counted(waits, "wait")
        ),
        style,
    )
}

fn processes(observation: &Observation, number: DeviceNumber, style: &Style) -> String {
    let mut found: Vec<(&fathom_trace::Process, &ProcessSummary)> = observation
        .summary
        .processes
        .iter()
        .filter(|((device, _), summary)| {
            *device == number && summary.bios.iter().sum::<u64>() + summary.flushes > 0
        })
        .map(|((_, process), summary)| (process, summary))
        .collect();
    if found.is_empty() {
        return String::new();
    }
    found.sort_by_key(|(_, summary)| {
        std::cmp::Reverse((summary.bytes.iter().sum::<u64>(), summary.flushes))
    });
    let mut rows = vec![
        [
            "process", "reads", "read", "writes", "written", "flushes", "in order", "mean", "p99",
        ]
        .map(str::to_owned),
    ];
    for (process, summary) in found.iter().take(PROCESSES) {
        let name = if process.name.is_empty() {
            "(ended)"
        } else {
            process.name.as_str()
        };
        rows.push([
            format!("{} {}", style.clean(name), process.pid),
            thousands(summary.bios[0]),
            bytes(summary.bytes[0]),
            thousands(summary.bios[1]),
            bytes(summary.bytes[1]),
            thousands(summary.flushes),
            summary
                .sequence
                .share()
                .map_or(String::new(), |share| percent(100.0 * share)),
            duration(summary.latency.mean()),
            duration(summary.latency.percentile(99.0).unwrap_or_default()),
        ]);
    }
    let mut text = table(&rows);
    if found.len() > PROCESSES {
        text += &line(
            &format!("{} more processes", found.len() - PROCESSES),
            style,
        );
    }
    text
}

/// What is missing or doubtful, and the cost.
fn remarks(observation: &Observation, style: &Style) -> String {
    let totals = &observation.totals;
    let mut remarks = Vec::new();
    if observation.is_partial() {
        remarks.push(format!(
            "partial: {} lost because the trace's buffer was full; counts and rates are too low (--buffer makes it larger)",
            counted(totals.lost, "event")
        ));
    }
    if observation.summary.counts.abandoned > 0 {
        remarks.push(format!(
            "{} could not be followed to the end",
            counted(observation.summary.counts.abandoned, "I/O")
        ));
    }
    for tracepoint in &observation.missing {
        remarks.push(format!(
            "this kernel has no tracepoint {}: what needs it is not shown",
            tracepoint.name()
        ));
    }
    for name in &observation.gone {
        remarks.push(format!("{name} disappeared meanwhile"));
    }
    let difference = totals.clock.iter().map(|check| check.difference_ns()).max();
    match difference {
        Some(0) => {}
        Some(difference) => remarks.push(format!(
            "the clock of the trace differs from the system's by {}",
            duration(difference as f64)
        )),
        None => remarks
            .push("the clock of the trace could not be compared with the system's".to_owned()),
    }
    let requests = observation.requests();
    let each = observation.cpu_ns as f64 / requests.max(1) as f64;
    let seconds = observation.seconds().max(f64::MIN_POSITIVE);
    remarks.push(format!(
        "cost: {}, {} of CPU to read and analyse them ({} of one CPU{}), {} of buffers",
        counted(totals.events, "event"),
        duration(observation.cpu_ns as f64),
        percent(observation.cpu_ns as f64 / seconds / 1e7),
        if requests > 0 {
            format!(", {} for each request", duration(each))
        } else {
            String::new()
        },
        bytes(totals.buffer_bytes)
    ));
    let mut text = String::from("\n");
    for remark in remarks {
        text += &wrap(&style.clean(&remark), style.width, "", "  ");
    }
    text
}

/// The report of an observation by counters.
#[must_use]
pub fn counted_text(observation: &CountedObservation, style: &Style) -> String {
    let seconds = (observation.elapsed_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    let mut text = wrap(
        &style.clean(&format!(
            "Counters of the kernel for {}; no tracepoints: {}",
            duration(observation.elapsed_ns as f64),
            observation.reason
        )),
        style.width,
        "",
        "  ",
    );
    let mut rows = vec![
        [
            "device",
            "reads/s",
            "read",
            "writes/s",
            "written",
            "flushes",
            "mean read",
            "mean write",
            "busy",
            "depth",
        ]
        .map(str::to_owned),
    ];
    for disk in &observation.devices {
        let mean = |index: usize| {
            if disk.ios[index] == 0 {
                String::new()
            } else {
                duration(disk.ticks_ms[index] as f64 * 1e6 / disk.ios[index] as f64)
            }
        };
        rows.push([
            style.clean(&disk.name),
            rate(disk.ios[0] as f64 / seconds),
            bandwidth(disk.bytes[0] as f64 / seconds),
            rate(disk.ios[1] as f64 / seconds),
            bandwidth(disk.bytes[1] as f64 / seconds),
            thousands(disk.flushes),
            mean(0),
            mean(1),
            percent((disk.busy_ms as f64 / seconds / 10.0).min(100.0)),
            format!("{:.2}", disk.weighted_ms as f64 / 1e3 / seconds),
        ]);
    }
    text += "\n";
    text += &if rows.len() > 1 {
        table(&rows)
    } else {
        "No device had I/O.\n".to_owned()
    };
    let mut rows = vec![
        [
            "process",
            "PID",
            "read calls",
            "from devices",
            "write calls",
            "to devices",
        ]
        .map(str::to_owned),
    ];
    for (pid, counts) in observation.processes.iter().take(PROCESSES) {
        rows.push([
            style.clean(&counts.name),
            pid.to_string(),
            bytes(counts.called[0]),
            bytes(counts.device[0]),
            bytes(counts.called[1]),
            bytes(counts.device[1]),
        ]);
    }
    if rows.len() > 1 {
        text += "\n";
        text += &table(&rows);
    }
    let mut missing = "missing without tracepoints: percentiles and phases of latency, sizes, splits and merges by limit, \
         sequential I/O, and which process used which device"
        .to_owned();
    if observation.hidden_processes > 0 {
        missing += &format!(
            "; {} processes of other users are not shown",
            thousands(observation.hidden_processes)
        );
    }
    text += "\n";
    text + &wrap(&missing, style.width, "", "  ")
}

fn line(text: &str, style: &Style) -> String {
    wrap(&style.clean(text), style.width, "", "    ")
}

/// Columns as wide as their widest cell; the first is aligned left, the others right.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = format!("  {:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line += &format!("  {cell:>width$}");
        }
        text += line.trim_end();
        text += "\n";
    }
    text
}
