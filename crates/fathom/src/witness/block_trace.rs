//! The block I/O of a watched command, from the tracepoints of the block layer.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use fathom_model::{Counts, Direction, EngineKind, Interval, Job, JobRecording, Nanos};
use fathom_trace::{
    BlockDevices, DeviceNumber, IoDirection, Observer, Process, ProcessFilter, Processes, Summary,
    TraceOptions, TraceThread, monotonic_ns,
};

use crate::print::note_line;

/// A trace of the processes of a command.
pub struct BlockTrace {
    known: Arc<Mutex<HashSet<u32>>>,
    thread: Result<TraceThread<Observer>, String>,
}

impl BlockTrace {
    /// Starts to record. The processes are those in control groups of this name, and those that are added.
    pub fn start(group: Option<String>) -> BlockTrace {
        let known = Arc::new(Mutex::new(HashSet::new()));
        let seen = Arc::clone(&known);
        let filter: ProcessFilter = Box::new(move |process: &Process| {
            group
                .as_ref()
                .is_some_and(|group| process.group.contains(group.as_str()))
                || seen
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .contains(&process.pid)
        });
        let limits: HashMap<_, _> = BlockDevices::default().all().into_iter().collect();
        let options = TraceOptions {
            bio_devices: limits
                .iter()
                .filter(|(_, limits)| limits.bio_based)
                .map(|(number, _)| *number)
                .collect(),
            ..TraceOptions::default()
        };
        let observer = Observer::new(monotonic_ns(), limits, Processes::default(), Some(filter));
        let thread = TraceThread::start(&options, observer).map_err(|error| error.to_string());
        if let Ok(thread) = &thread {
            for name in thread.removed() {
                note_line!(
                    "fathom witness: removed the tracefs instance {name} of a run that was killed"
                );
            }
        }
        BlockTrace { known, thread }
    }

    /// Adds a process of the command.
    pub fn add(&self, pid: u32) {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(pid);
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Why there is none.
    pub fn stop(self) -> Result<Summary, String> {
        let recorded = self
            .thread
            .and_then(|thread| thread.stop().map_err(|error| error.to_string()));
        recorded
            .map(|recorded| recorded.consumer.finish(monotonic_ns()))
            .map_err(|reason| {
                format!(
                    "the sizes, the depth and the latencies of its block I/O are unknown: {reason}"
                )
            })
    }
}

/// The devices on which the command had requests, those with the most bytes first.
pub fn devices(summary: &Summary) -> Vec<DeviceNumber> {
    let bytes = |number: &DeviceNumber| -> u64 {
        let device = &summary.devices[number];
        device.directions.iter().map(|one| one.bytes).sum()
    };
    let mut found: Vec<DeviceNumber> = summary
        .devices
        .iter()
        .filter(|(_, device)| device.requests() > 0)
        .map(|(number, _)| *number)
        .collect();
    found.sort_by_key(|number| std::cmp::Reverse(bytes(number)));
    found
}

/// The job of the plan that has the block I/O on a device of the job of the system calls.
pub fn job(of: &Job, device: DeviceNumber, number: u32) -> Job {
    let device = BlockDevices::default().limits(device).name;
    Job {
        name: format!("{}: block I/O on {device}", of.name),
        number,
        section: number - 1,
        group: of.group,
        ..of.clone()
    }
}

/// The requests on a device that processes of the command caused, by direction.
pub fn recording(
    mut job: JobRecording,
    summary: &Summary,
    device: DeviceNumber,
    elapsed: Nanos,
) -> JobRecording {
    job.engine = EngineKind::Exec.name().to_owned();
    job.skipped = false;
    (job.launched, job.measured_from, job.ended) = (Nanos::ZERO, Nanos::ZERO, elapsed);
    let mut most = 0;
    for (kind, direction) in [
        (IoDirection::Read, Direction::Read),
        (IoDirection::Write, Direction::Write),
        (IoDirection::Discard, Direction::Trim),
    ] {
        let one = summary.devices[&device].direction(kind);
        job.in_flight_ns += one.phases.queue_to_complete.sum();
        let recorded = &mut job.directions[direction];
        recorded.counts = Counts {
            planned: one.requests,
            ok: one.requests,
            bytes_requested: one.bytes,
            bytes_ok: one.bytes,
            ..Counts::default()
        };
        recorded.slat = one.phases.queue_to_issue.clone();
        recorded.clat = one.phases.queue_to_complete.clone();
        recorded.lat = recorded.clat.clone();
        if one.requests > most {
            most = one.requests;
            job.observed = summary.observed_io(device, kind).map(Box::new);
            if let Some(observed) = &mut job.observed {
                // It includes the requests of others.
                observed.depth.clear();
            }
        }
    }
    job.intervals = intervals(summary, device, elapsed);
    job
}

/// Counts and latencies from queue to completion.
fn intervals(summary: &Summary, device: DeviceNumber, elapsed: Nanos) -> Vec<Interval> {
    let directions = &summary.devices[&device].directions;
    let length = summary.interval_ns;
    let count = elapsed.get().div_ceil(length);
    (0..count)
        .map(|index| {
            let start = index * length;
            let mut interval = Interval {
                start: Nanos::new(start),
                length: Nanos::new(length.min(elapsed.get() - start)),
                ..Interval::default()
            };
            for (one, into) in directions.iter().zip(&mut interval.directions.0) {
                if let Some(seen) = one.intervals.get(index as usize) {
                    into.ios = seen.requests;
                    into.bytes = seen.bytes;
                    into.clat = seen.queue_to_complete.clone();
                }
            }
            interval
        })
        .collect()
}
