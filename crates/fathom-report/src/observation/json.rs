//! An observation as JSON. Times are nanoseconds, sizes bytes; what is unknown is `null` or absent.

use fathom_model::{Findings, Histogram};
use fathom_trace::{
    CountedObservation, DeviceNumber, DeviceSummary, IoDirection, Observation, Process, Request,
    SECTOR,
};

use super::{audit_sentence, limit_text};
use crate::Style;
use crate::json::document as json_document;
use crate::tree::{Fields, Object, Tree, Value};

const VERSION: u64 = 1;
const PERCENTILES: [(&str, f64); 6] = [
    ("50", 50.0),
    ("90", 90.0),
    ("95", 95.0),
    ("99", 99.0),
    ("99.9", 99.9),
    ("99.99", 99.99),
];

/// The document of an observation, with a line end. After its own keys it has those of a result (json+), where there is
/// one, so that reports and charts of the document are those of the stored run.
#[must_use]
pub fn observation_json(observation: &Observation, result: Option<(&Findings, &Style)>) -> String {
    let totals = &observation.totals;
    let summary = &observation.summary;
    let trace = Object::new()
        .with("events", totals.events)
        .with("lost_events", totals.lost)
        .with("out_of_order", totals.out_of_order)
        .with("abandoned", summary.counts.abandoned)
        .with("unmatched", summary.counts.unmatched)
        .with(
            "missing_tracepoints",
            observation
                .missing
                .iter()
                .map(|tracepoint| tracepoint.name())
                .collect::<Tree>(),
        )
        .with("buffer_bytes", totals.buffer_bytes)
        .with("cpu_ns", observation.cpu_ns)
        .with(
            "clock_difference_ns",
            totals
                .clock
                .iter()
                .map(|check| check.difference_ns())
                .collect::<Tree>(),
        );
    let devices = summary
        .devices
        .iter()
        .map(|(number, device)| one_device(observation, *number, device))
        .collect::<Tree>();
    let files = summary.files.as_ref().map(|io| {
        let seen = io.names.iter().zip(&io.files);
        seen.filter(|(_, file)| file.ios.iter().sum::<u64>() > 0)
            .map(|(name, file)| {
                Object::new()
                    .with("name", name)
                    .with("reads", file.ios[0])
                    .with("read_bytes", file.bytes[0])
                    .with("writes", file.ios[1])
                    .with("written_bytes", file.bytes[1])
                    .with("discards", file.ios[2])
                    .with("latency", latency(&file.latency))
            })
            .collect::<Tree>()
    });
    let elsewhere = summary.files.as_ref().map(|io| {
        Object::new()
            .with("requests", io.elsewhere.0)
            .with("bytes", io.elsewhere.1)
    });
    let mut object: Fields<'_> = Fields::new()
        .with("version", VERSION)
        .with("source", "tracepoints")
        .with("target", &observation.target)
        .with("elapsed_ns", summary.end_ns - summary.start_ns)
        .with("interval_ns", summary.interval_ns)
        .with("partial", observation.is_partial())
        .with("devices_gone", observation.gone.iter().collect::<Tree>())
        .with("trace", trace)
        .with("devices", devices)
        .with("files", files)
        .with("outside_of_files", elsewhere);
    if let Some((findings, style)) = result
        && let Value::Object(keys) = json_document(findings, style, true)
    {
        for (name, value) in keys {
            object.push(name, value);
        }
    }
    document(object.into())
}

fn document(object: Value<'_>) -> String {
    let mut bytes = Vec::new();
    object.write(&mut bytes).expect("memory takes everything");
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}

fn one_device(observation: &Observation, number: DeviceNumber, device: &DeviceSummary) -> Object {
    let limits = observation.limits.get(&number);
    let mut object = Object::new()
        .with("name", observation.name(number))
        .with("number", number.to_string())
        .with("scheduler", limits.map(|limits| &limits.scheduler))
        .with("max_sectors_kb", limits.map(|limits| limits.max_sectors_kb))
        .with("max_segments", limits.map(|limits| limits.max_segments))
        .with("chunk_sectors", limits.map(|limits| limits.chunk_sectors))
        .with("nomerges", limits.map(|limits| limits.nomerges));
    // A device without requests has no depth.
    if limits.is_none_or(|limits| !limits.bio_based) {
        object.push("busy", device.depth.busy());
        object.push(
            "depth",
            Object::new()
                .with("mean", device.depth.mean())
                .with("largest", device.depth.largest)
                .with(
                    "by_interval",
                    device
                        .depth
                        .by_interval
                        .iter()
                        .map(|weighted| {
                            *weighted as f64 / observation.summary.interval_ns.max(1) as f64
                        })
                        .collect::<Tree>(),
                ),
        );
    }
    for direction in IoDirection::ALL {
        if device.direction(direction).requests > 0 {
            object.push(
                direction.name(),
                one_direction(observation, number, direction),
            );
        }
    }
    object
        .with("flush_commands", latency(&device.flushes))
        .with("flush_waits", latency(&device.flush_waits))
        .with("processes", processes(observation, number))
}

fn one_direction(
    observation: &Observation,
    number: DeviceNumber,
    direction: IoDirection,
) -> Object {
    let one = observation.summary.devices[&number].direction(direction);
    let seconds = observation.seconds().max(f64::MIN_POSITIVE);
    let phases = [
        ("queue_to_insert", &one.phases.queue_to_insert),
        ("insert_to_issue", &one.phases.insert_to_issue),
        ("queue_to_issue", &one.phases.queue_to_issue),
        ("issue_to_complete", &one.phases.issue_to_complete),
        ("queue_to_complete", &one.phases.queue_to_complete),
    ];
    let phases = phases
        .into_iter()
        .filter(|(_, histogram)| histogram.count() > 0)
        .fold(Object::new(), |all, (name, histogram)| {
            all.with(name, latency(histogram))
        });
    let splits = one.splits.iter().map(|(cause, count)| {
        Object::new()
            .with("limit", limit_text(observation, number, *cause))
            .with("count", *count)
    });
    let sizes = one.request_sizes.iter().map(|(sectors, count)| {
        Object::new()
            .with("bytes", u64::from(*sectors) * SECTOR)
            .with("requests", *count)
    });
    let audit = observation.audit(number, direction);
    let audit = audit.iter().map(|audit| {
        Object::new()
            .with("bytes", audit.bytes)
            .with("bios", audit.bios)
            .with("requests_per_bio", audit.requests_per_bio)
            .with("parts_per_bio", audit.parts_per_bio)
            .with(
                "limit",
                audit
                    .limit
                    .map(|cause| limit_text(observation, number, cause)),
            )
            .with(
                "sentence",
                audit_sentence(observation, number, direction, audit),
            )
    });
    let intervals = one.intervals.iter().map(|interval| {
        Object::new()
            .with("requests", interval.requests)
            .with("bytes", interval.bytes)
    });
    Object::new()
        .with("requests", one.requests)
        .with("bytes", one.bytes)
        .with("iops", one.requests as f64 / seconds)
        .with("bytes_per_second", one.bytes as f64 / seconds)
        .with("errors", one.errors)
        .with("requeues", one.requeues)
        .with("fua", one.fua)
        .with("preflush", one.preflush)
        .with("metadata", one.metadata)
        .with("read_ahead", one.read_ahead)
        .with("read_ahead_bytes", one.read_ahead_bytes)
        .with("without_history", one.without_history)
        .with("bios", one.bios)
        .with("split_bios", one.split_bios)
        .with("merged", one.merged)
        .with("splits", splits.collect::<Tree>())
        .with(
            "sequential",
            Object::new()
                .with("share", one.at_device.share())
                .with("mean_run", one.at_device.mean_run())
                .with("longest_run_bytes", one.at_device.longest_run_bytes),
        )
        .with("latency", phases)
        .with("fua_latency", latency(&one.fua_latency))
        .with("request_sizes", sizes.collect::<Tree>())
        .with("bio_sizes", audit.collect::<Tree>())
        .with("by_interval", intervals.collect::<Tree>())
}

fn processes(observation: &Observation, number: DeviceNumber) -> Tree {
    observation
        .summary
        .processes
        .iter()
        .filter(|((device, _), _)| *device == number)
        .map(|((_, process), summary)| {
            Object::new()
                .with("pid", process.pid)
                .with("name", &process.name)
                .with("group", &process.group)
                .with("reads", summary.bios[0])
                .with("read_bytes", summary.bytes[0])
                .with("writes", summary.bios[1])
                .with("written_bytes", summary.bytes[1])
                .with("discards", summary.bios[2])
                .with("flushes", summary.flushes)
                .with("read_ahead", summary.read_ahead)
                .with("errors", summary.errors)
                .with("sequential_share", summary.sequence.share())
                .with("latency", latency(&summary.latency))
        })
        .collect()
}

fn latency(histogram: &Histogram) -> Option<Object> {
    if histogram.count() == 0 {
        return None;
    }
    let percentiles = PERCENTILES.iter().fold(Object::new(), |all, (name, at)| {
        all.with(*name, histogram.percentile(*at).unwrap_or_default())
    });
    Some(
        Object::new()
            .with("count", histogram.count())
            .with("mean_ns", histogram.mean())
            .with("min_ns", histogram.min().map(|min| min.get()))
            .with("max_ns", histogram.max().map(|max| max.get()))
            .with("percentiles_ns", percentiles),
    )
}

/// One request as a line of JSON, with a line end. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[must_use]
pub fn request_event(name: &str, request: &Request, process: Option<&Process>) -> String {
    let direction = IoDirection::of(request.flags, request.sectors).map(IoDirection::name);
    let flags = request.flags;
    let direction = direction.unwrap_or(if flags.is_flush() { "flush" } else { "other" });
    let set = [
        ("sync", flags.sync()),
        ("fua", flags.fua()),
        ("preflush", flags.preflush()),
        ("read_ahead", flags.read_ahead()),
        ("metadata", flags.metadata()),
    ];
    let object = Object::new()
        .with("event", "request")
        .with("device", name)
        .with("number", request.device.to_string())
        .with("direction", direction)
        .with("sector", request.sector)
        .with("bytes", u64::from(request.sectors) * SECTOR)
        .with(
            "flags",
            set.iter()
                .filter(|(_, set)| *set)
                .map(|(name, _)| *name)
                .collect::<Tree>(),
        )
        .with("pid", process.map(|process| process.pid))
        .with("process", process.map(|process| &process.name))
        .with("bios", request.parts)
        .with("merged", request.merged)
        .with("split", request.split > 0)
        .with("queue_ns", request.t_queue)
        .with("insert_ns", request.t_insert)
        .with("issue_ns", request.t_issue)
        .with("complete_ns", request.t_complete)
        .with("requeues", request.requeues)
        .with("error", request.error);
    Tree::from(object).compact() + "\n"
}

/// The document of an observation by counters, with a line end.
#[must_use]
pub fn counted_json(observation: &CountedObservation) -> String {
    let devices = observation.devices.iter().map(|disk| {
        let three = |values: [u64; 3]| {
            Object::new()
                .with("read", values[0])
                .with("write", values[1])
                .with("discard", values[2])
        };
        Object::new()
            .with("name", &disk.name)
            .with("ios", three(disk.ios))
            .with("bytes", three(disk.bytes))
            .with("merges", three(disk.merges))
            .with("ticks_ms", three(disk.ticks_ms))
            .with("flushes", disk.flushes)
            .with("busy_ms", disk.busy_ms)
            .with("weighted_ms", disk.weighted_ms)
    });
    let processes = observation.processes.iter().map(|(pid, counts)| {
        Object::new()
            .with("pid", *pid)
            .with("name", &counts.name)
            .with("read_call_bytes", counts.called[0])
            .with("write_call_bytes", counts.called[1])
            .with("device_read_bytes", counts.device[0])
            .with("device_write_bytes", counts.device[1])
    });
    document(
        Object::new()
            .with("version", VERSION)
            .with("source", "counters")
            .with("reason", &observation.reason)
            .with("elapsed_ns", observation.elapsed_ns)
            .with("hidden_processes", observation.hidden_processes)
            .with("devices", devices.collect::<Tree>())
            .with("processes", processes.collect::<Tree>())
            .into(),
    )
}
