//! The block I/O of a watched command, from the tracepoints of the block layer.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use fathom_model::{Counts, Direction, EngineKind, Histogram, Interval, Job, JobRecording, Nanos};
use fathom_trace::{
    IoDirection, Observer, Process, ProcessFilter, Processes, Summary, TraceOptions, TraceThread,
    monotonic_ns,
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
        let observer = Observer::new(
            monotonic_ns(),
            HashMap::new(),
            Processes::default(),
            Some(filter),
        );
        let thread = TraceThread::start(&TraceOptions::default(), observer)
            .map_err(|error| error.to_string());
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

/// The job of the plan that has the block I/O of the job of the system calls.
pub fn job(of: &Job) -> Job {
    Job {
        name: format!("{}: block I/O", of.name),
        number: 2,
        section: 1,
        group: of.group,
        ..of.clone()
    }
}

/// The requests that processes of the command caused, by direction. `None` without any.
pub fn recording(mut job: JobRecording, summary: &Summary, elapsed: Nanos) -> Option<JobRecording> {
    job.engine = EngineKind::Exec.name().to_owned();
    job.skipped = false;
    (job.launched, job.measured_from, job.ended) = (Nanos::ZERO, Nanos::ZERO, elapsed);
    job.intervals = Vec::<Interval>::new();
    let mut any = false;
    for (kind, direction) in [
        (IoDirection::Read, Direction::Read),
        (IoDirection::Write, Direction::Write),
        (IoDirection::Discard, Direction::Trim),
    ] {
        let (mut ios, mut bytes) = (0, 0);
        let (mut before, mut all) = (Histogram::new(), Histogram::new());
        for device in summary.devices.values() {
            let one = device.direction(kind);
            ios += one.requests;
            bytes += one.bytes;
            before.merge(&one.phases.queue_to_issue);
            all.merge(&one.phases.queue_to_complete);
        }
        any |= ios > 0;
        job.in_flight_ns += all.sum();
        let recorded = &mut job.directions[direction];
        recorded.counts = Counts {
            planned: ios,
            ok: ios,
            bytes_requested: bytes,
            bytes_ok: bytes,
            ..Counts::default()
        };
        (recorded.slat, recorded.clat, recorded.lat) = (before, all.clone(), all);
    }
    any.then_some(job)
}
