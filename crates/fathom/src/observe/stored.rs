//! An observation as a run of the store: a job for each device and direction, with the latencies of its requests.

use std::time::Duration;

use fathom_cli::ObserveArgs;
use fathom_model::{
    ClockFacts, Counts, DirectionRecording, Findings, HostRecording, Interval, IntervalDirection,
    Nanos, ObservedIo, Personality, Plan, Recording, RunEnd,
};
use fathom_plan::{parse_args, plan};
use fathom_trace::{DeviceNumber, DirectionSummary, IoDirection, Observation};

use crate::print::eprint_line;
use crate::result_store::{self, RunWriter};
use crate::session::Session;
use crate::this_machine::ThisMachine;

/// The observation, for which `planned` was asked, as the result of a run; `None` without I/O.
pub fn result(
    observation: &Observation,
    planned: Duration,
    started_unix_ns: u64,
    host: HostRecording,
) -> Option<(Recording, Findings)> {
    let parts: Vec<(DeviceNumber, IoDirection)> = observation
        .summary
        .devices
        .iter()
        .flat_map(|(number, device)| {
            IoDirection::ALL
                .into_iter()
                .filter(|direction| device.direction(*direction).requests > 0)
                .map(|direction| (*number, direction))
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    match recording(observation, planned, &parts, started_unix_ns) {
        Ok(mut recording) => {
            recording.host = host;
            let findings = fathom_analyse::findings(&recording);
            Some((recording, findings))
        }
        Err(message) => {
            eprint_line!("fathom observe: the result is not stored: {message}");
            None
        }
    }
}

/// Stores it, unless the store is not wanted.
pub fn store(
    args: &ObserveArgs,
    observation: &Observation,
    recording: Recording,
    findings: &Findings,
) {
    if matches!(result_store::store_path(&args.store), Ok(Some(_))) {
        let session = Session::on_this_machine();
        let target = observation.target.clone();
        let writer = RunWriter::begin(
            &session,
            "fathom observe",
            &args.store,
            &result_store::experiment(&session, "observe", target, String::new()),
        );
        writer.finish(recording, findings, Vec::new());
    }
}

/// The plan that has the names, directions and sizes of what was observed.
fn observed_plan(
    observation: &Observation,
    planned: Duration,
    parts: &[(DeviceNumber, IoDirection)],
) -> Result<Plan, String> {
    // The last sample comes after the end, and two observations of the same time must have the same plan, or `fathom compare` refuses
    // them. One that was interrupted is shorter.
    let milliseconds = observation.seconds().min(planned.as_secs_f64()) * 1e3;
    let mut line = Vec::new();
    for (number, direction) in parts {
        let summary = observation.summary.devices[number].direction(*direction);
        let name = observation.name(*number);
        let rw = match direction {
            IoDirection::Read => "read",
            IoDirection::Write => "write",
            IoDirection::Discard => "trim",
        };
        let sizes = summary.request_sizes.keys();
        let smallest = sizes
            .clone()
            .next()
            .map_or(512, |sectors| u64::from(*sectors) * 512);
        let largest = sizes
            .last()
            .map_or(512, |sectors| u64::from(*sectors) * 512);
        line.extend([
            ["--name=", &name, " ", direction.name()].concat(),
            "--ioengine=libaio".to_owned(),
            "--direct=1".to_owned(),
            format!("--filename=/dev/{name}"),
            format!("--rw={rw}"),
            format!("--bsrange={smallest}-{largest}"),
            format!("--size={}", largest.max(1 << 20)),
            "--time_based".to_owned(),
            format!("--runtime={}ms", milliseconds.floor().max(1.0)),
        ]);
    }
    let text = |problems: Vec<fathom_plan::Diagnostic>| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("; ")
    };
    let invocation = parse_args(&line, Personality::Fathom).map_err(text)?;
    Ok(plan(&invocation, &ThisMachine, &ThisMachine)
        .map_err(text)?
        .plan)
}

fn recording(
    observation: &Observation,
    planned: Duration,
    parts: &[(DeviceNumber, IoDirection)],
    started_unix_ns: u64,
) -> Result<Recording, String> {
    let mut plan = observed_plan(observation, planned, parts)?;
    let interval_ns = observation.summary.interval_ns;
    plan.interval = Nanos::new(interval_ns);
    let elapsed = Nanos::new(observation.summary.end_ns - observation.summary.start_ns);
    let mut recording = fathom_load::rebuild_recording(plan, started_unix_ns, Vec::new());
    recording.elapsed = elapsed;
    recording.end = RunEnd::Completed;
    recording.clock = ClockFacts {
        source: "trace clock mono".to_owned(),
        ..ClockFacts::default()
    };
    recording.messages = messages(observation);
    for (job, (number, direction)) in recording.jobs.iter_mut().zip(parts) {
        let device = &observation.summary.devices[number];
        let summary = device.direction(*direction);
        job.engine = "observed".to_owned();
        job.skipped = false;
        (job.launched, job.measured_from, job.ended) = (Nanos::ZERO, Nanos::ZERO, elapsed);
        job.directions.0[*direction as usize] = totals(summary);
        job.in_flight_ns = summary.phases.queue_to_complete.sum();
        job.intervals = intervals(summary, *direction, elapsed, interval_ns);
        job.observed = observed(observation, *number, *direction).map(Box::new);
        if *direction == IoDirection::Write {
            job.sync.merge(&device.flush_waits);
        }
    }
    Ok(recording)
}

/// What the charts of the run show.
fn observed(
    observation: &Observation,
    number: DeviceNumber,
    direction: IoDirection,
) -> Option<ObservedIo> {
    let is_bio_based = observation
        .limits
        .get(&number)
        .is_some_and(|limits| limits.bio_based);
    let mut observed = observation.summary.observed_io(number, direction)?;
    if is_bio_based {
        observed.depth.clear();
    }
    Some(observed)
}

/// slat is the time before the driver, clat that with the driver and the device, lat both.
fn totals(summary: &DirectionSummary) -> DirectionRecording {
    let failed = summary.errors.min(summary.requests);
    let ok = summary.requests - failed;
    let failed_bytes = summary
        .bytes
        .checked_div(summary.requests)
        .map_or(0, |each| each * failed);
    let device_time = if summary.phases.issue_to_complete.count() > 0 {
        &summary.phases.issue_to_complete
    } else {
        // A device without requests has only the time in all.
        &summary.phases.queue_to_complete
    };
    DirectionRecording {
        counts: Counts {
            planned: summary.requests,
            ok,
            failed,
            bytes_requested: summary.bytes,
            bytes_ok: summary.bytes - failed_bytes,
            bytes_missing: failed_bytes,
            ..Counts::default()
        },
        slat: summary.phases.queue_to_issue.clone(),
        clat: device_time.clone(),
        lat: summary.phases.queue_to_complete.clone(),
        ..DirectionRecording::default()
    }
}

fn intervals(
    summary: &DirectionSummary,
    direction: IoDirection,
    elapsed: Nanos,
    interval_ns: u64,
) -> Vec<Interval> {
    let count = elapsed.get().div_ceil(interval_ns);
    (0..count)
        .map(|index| {
            let start = index * interval_ns;
            let mut interval = Interval {
                start: Nanos::new(start),
                length: Nanos::new(interval_ns.min(elapsed.get() - start)),
                ..Interval::default()
            };
            if let Some(one) = summary.intervals.get(index as usize) {
                interval.directions.0[direction as usize] = IntervalDirection {
                    ios: one.requests,
                    bytes: one.bytes,
                    clat: if one.issue_to_complete.is_empty() {
                        one.queue_to_complete.clone()
                    } else {
                        one.issue_to_complete.clone()
                    },
                    ..IntervalDirection::default()
                };
            }
            interval
        })
        .collect()
}

fn messages(observation: &Observation) -> Vec<String> {
    let mut messages = vec![
        "observed through the kernel's block tracepoints: fathom made none of this I/O; slat is the time before the driver, \
         clat the time in the driver and the device, lat both"
            .to_owned(),
    ];
    if observation.is_partial() {
        messages.push(format!(
            "partial: {} events of the trace were lost",
            observation.totals.lost
        ));
    }
    messages
}
