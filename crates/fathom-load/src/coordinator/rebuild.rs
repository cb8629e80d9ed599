//! Rebuilds the recording of a run whose process was killed from the intervals that were stored.

use fathom_model::{
    ClockFacts, Conditions, DirectionRecording, HostRecording, Interval, IntervalDirection,
    JobRecording, Nanos, Plan, Recording, RunEnd,
};

use crate::job_recording;

/// The recording of a run of `plan` that was killed, from the intervals of each of its jobs that
/// had been stored by then. It lacks what intervals do not contain: submission latencies, syncs,
/// the machine and the devices.
#[must_use]
pub fn rebuild_recording(
    plan: Plan,
    started_unix_ns: u64,
    intervals: Vec<Vec<Interval>>,
) -> Recording {
    let mut stored = intervals.into_iter();
    let jobs: Vec<JobRecording> = plan
        .jobs
        .iter()
        .map(|job| rebuilt(job_recording::empty(job), stored.next().unwrap_or_default()))
        .collect();
    let elapsed = jobs
        .iter()
        .map(|job| job.ended)
        .max()
        .unwrap_or(Nanos::ZERO);
    let message = "the process was killed during the run: this is what it had stored by then, without the last second";
    Recording {
        plan,
        started_unix_ns,
        elapsed,
        jobs,
        disks: Vec::new(),
        targets: Vec::new(),
        clock: ClockFacts::default(),
        host: HostRecording::default(),
        conditions: Conditions::default(),
        stalls: Vec::new(),
        end: RunEnd::Aborted,
        messages: vec![message.to_owned()],
        blame: None,
        depth_probes: Vec::new(),
        earlier: None,
        hosts: Vec::new(),
    }
}

fn rebuilt(mut job: JobRecording, intervals: Vec<Interval>) -> JobRecording {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else {
        return JobRecording {
            skipped: true,
            ..job
        };
    };
    (job.launched, job.measured_from) = (first.start, first.start);
    job.ended = last.start.saturating_add(last.length);
    for interval in &intervals {
        for (total, part) in job.directions.0.iter_mut().zip(&interval.directions.0) {
            add(total, part);
        }
    }
    job.intervals = intervals;
    job
}

/// An I/O that did not complete in full counts as failed, without its bytes, because intervals have no
/// further details.
fn add(total: &mut DirectionRecording, part: &IntervalDirection) {
    let counts = &mut total.counts;
    counts.planned += part.ios + part.bad;
    counts.ok += part.ios;
    counts.failed += part.bad;
    counts.bytes_requested += part.bytes;
    counts.bytes_ok += part.bytes;
    part.clat.add_to(&mut total.clat);
    part.response.add_to(&mut total.response);
}
