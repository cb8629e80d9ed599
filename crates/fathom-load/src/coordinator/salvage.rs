//! What is left of a run whose process was killed: a recording made of the intervals that were kept.

use fathom_model::{
    ClockFacts, Conditions, DirectionRecording, HostRecording, Interval, IntervalDirection,
    JobRecording, Nanos, Plan, Recording, RunEnd,
};

use crate::job_recording;

/// The recording of a run of `plan` that was killed, from the intervals of each of its jobs that had been kept by then. What
/// intervals do not hold is not in it: submission latencies, syncs, the machine and the devices.
#[must_use]
pub fn salvage(plan: Plan, started_unix_ns: u64, intervals: Vec<Vec<Interval>>) -> Recording {
    let mut kept = intervals.into_iter();
    let jobs: Vec<JobRecording> = plan
        .jobs
        .iter()
        .map(|job| rebuilt(job_recording::empty(job), kept.next().unwrap_or_default()))
        .collect();
    let elapsed = jobs
        .iter()
        .map(|job| job.ended)
        .max()
        .unwrap_or(Nanos::ZERO);
    let said = "the process was killed while it measured: what it had kept until then is shown, all but the last second of it";
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
        messages: vec![said.to_owned()],
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

/// Of an I/O that did not end well only that is known: it counts as failed, and no bytes of it.
fn add(total: &mut DirectionRecording, part: &IntervalDirection) {
    let counts = &mut total.counts;
    counts.planned += part.ios + part.bad;
    counts.ok += part.ios;
    counts.failed += part.bad;
    counts.bytes_asked += part.bytes;
    counts.bytes_ok += part.bytes;
    part.clat.add_to(&mut total.clat);
    part.response.add_to(&mut total.response);
}
