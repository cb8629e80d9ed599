//! The end of a job: it waits for I/O in flight and counts what never completes.

use fathom_model::{
    DirectionRecording, EventKind, Job, JobRecording, Nanos, PaceRecording, PerDirection, Usage,
};

use super::{MAX_WAIT, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Wait};
use crate::errno::EIO;
use crate::host::Host;
use crate::job_recording::{self, usage_between};
use crate::live::{Phase, Stop};
use crate::priorities::PriorityTracker;
use crate::recorder::Recorded;

/// A drain gives up after this long without a single completion.
const DRAIN_TIMEOUT: u64 = 30_000_000_000;
/// At most this many I/Os are counted one by one as due but not sent.
pub(super) const COUNT_NOT_SENT: u64 = 50_000_000;

/// Reaps until nothing is in flight. Chained writes in the batch are submitted.
pub(super) fn drain<E: Engine, C: Clock, H: Host>(
    worker: &mut Worker<'_, E, C, H>,
) -> Result<(), EngineError> {
    let mut last = worker.now();
    while worker.queue.busy() > 0 {
        if !worker.queue.batch().is_empty() && worker.queue.has_room() {
            worker.submit(worker.now())?;
        }
        let before = worker.queue.in_flight();
        let wait = Wait {
            at_least: 1,
            at_most: before.max(1),
            limit: Some(Nanos::new(MAX_WAIT)),
        };
        worker.queue.reap_uncounted(&mut worker.engine, wait)?;
        let now = worker.now();
        worker.recorder.idle(now);
        worker.complete_reaped(now);
        if worker.queue.in_flight() < before {
            last = now;
        }
        if now - last > DRAIN_TIMEOUT || worker.live.stopping() == Stop::Abort {
            give_up(worker, now - last, now);
            return Ok(());
        }
    }
    Ok(())
}

/// Counts what is still in flight as timed out.
fn give_up<E: Engine, C: Clock, H: Host>(worker: &mut Worker<'_, E, C, H>, waited: u64, now: u64) {
    for slot in worker.queue.slots_in_flight() {
        let io = worker.queue.io(slot);
        if !io.sync {
            worker.recorder.timed_out(io);
        }
    }
    let in_flight = worker.queue.in_flight();
    worker.recorder.event(
        now,
        EventKind::GaveUp {
            in_flight,
            waited: Nanos::new(waited),
        },
    );
    if worker.live.stopping() != Stop::Abort {
        let what = format!(
            "{in_flight} I/Os did not complete within {} s",
            waited / 1_000_000_000
        );
        worker.fail(EIO, what);
    }
}

/// Counts I/O of an open loop that was due when the load ended but had not been submitted.
pub(super) fn count_not_sent<E: Engine, C: Clock, H: Host>(
    worker: &mut Worker<'_, E, C, H>,
    end: u64,
) {
    for request in worker.queue.take_batch() {
        let io = worker.queue.io(request.slot);
        if !io.sync {
            worker.recorder.not_sent(io.planned, io.direction);
        }
    }
    let end = end.min(worker.times.deadline);
    if worker.source.is_replay() {
        return worker.count_log_not_sent(end);
    }
    if !worker.pacing.is_open_loop() || worker.is_exhausted() {
        return;
    }
    for _ in 0..COUNT_NOT_SENT {
        if let Some((direction, due)) = worker.pacing.first_due_direction() {
            if due >= end {
                return;
            }
            worker.source.steer(direction);
            let Some(planned_io) = worker.draw() else {
                return;
            };
            if planned_io.direction().is_some() {
                worker.recorder.not_sent(due, direction);
                worker.pacing.advance_direction(direction, planned_io.len);
            }
            continue;
        }
        let Some(due) = worker.pacing.due().filter(|due| *due < end) else {
            return;
        };
        let Some(planned_io) = worker.draw() else {
            return;
        };
        // A sync has no due time.
        if let Some(direction) = planned_io.direction() {
            worker.recorder.not_sent(due, direction);
            worker.pacing.advance(planned_io.len);
        }
    }
}

/// Properties of the worker's thread before the load.
#[derive(Clone)]
pub(super) struct WorkerContext {
    pub launched: Nanos,
    pub usage: Usage,
    pub engine: &'static str,
    pub fallback: Option<String>,
    pub tid: u32,
    pub region: u64,
    pub notes: Vec<String>,
}

/// Turns the worker into its recording.
pub(super) fn record<E: Engine, C: Clock, H: Host>(
    mut worker: Worker<'_, E, C, H>,
    ended_load: u64,
) -> JobRecording {
    count_not_sent(&mut worker, ended_load);
    let ended = worker
        .recorder
        .last_done()
        .max(Nanos::new(worker.times.measured_from))
        .max(worker.time_waited_out(ended_load));
    worker.recorder.publish(worker.live);
    worker.live.enter(if worker.outcome.error.is_some() {
        Phase::Failed
    } else {
        Phase::Done
    });
    let bare = without_records(&worker, ended);
    let priorities = worker.priorities.take();
    if worker.queue.in_flight() > 0 {
        // The kernel may still write into the engine's buffers, so they are never freed.
        std::mem::forget(worker.engine);
    }
    with_records(
        worker.job,
        worker.features.synchronous,
        bare,
        with_priorities(worker.recorder.finish(ended), priorities.as_deref()),
    )
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// The deadline, if the load lasted until then. A paced job whose next I/O is due at the deadline has measured the wait for it too:
    /// 400 I/Os at 200 per second take 2 s, although the last one completes earlier. fio counts the same time.
    fn time_waited_out(&self, ended_load: u64) -> Nanos {
        let deadline = self.times.deadline;
        Nanos::new(if ended_load >= deadline { deadline } else { 0 })
    }
}

/// The recording as it would be if the job ended now. I/O in flight counts as planned and has not
/// ended.
#[cold]
pub(super) fn snapshot<E: Engine, C: Clock, H: Host>(
    worker: &Worker<'_, E, C, H>,
    now: u64,
) -> JobRecording {
    let now = Nanos::new(now.max(worker.times.measured_from));
    let recorded = with_priorities(worker.recorder.snapshot(now), worker.priorities.as_deref());
    with_records(
        worker.job,
        worker.features.synchronous,
        without_records(worker, now),
        recorded,
    )
}

fn with_priorities(mut recorded: Recorded, priorities: Option<&PriorityTracker>) -> Recorded {
    if let Some(priorities) = priorities {
        let by_direction = recorded
            .directions
            .0
            .iter_mut()
            .zip(&priorities.recorded().0);
        by_direction.for_each(|(direction, seen)| direction.priorities.clone_from(seen));
    }
    recorded
}

/// The recording without the parts from the recorder.
fn without_records<E: Engine, C: Clock, H: Host>(
    worker: &Worker<'_, E, C, H>,
    ended: Nanos,
) -> JobRecording {
    let frame = worker.frame.clone();
    let notes = [&frame.notes[..], worker.verification.notes()].concat();
    JobRecording {
        engine: frame.engine.to_owned(),
        fallback: frame.fallback,
        tid: frame.tid,
        launched: frame.launched,
        measured_from: Nanos::new(worker.times.measured_from),
        ended,
        depth_levels: worker.queue.levels().depth,
        submit_levels: worker.queue.levels().submit,
        complete_levels: worker.queue.levels().complete,
        usage: usage_between(frame.usage, worker.host.usage()),
        error: worker.outcome.error.clone(),
        errors_continued: worker.outcome.errors_continued,
        verify: worker.verification.counts(),
        pace: PaceRecording {
            steady: None,
            latency_depth: worker.pacing.depth(),
        },
        damages: worker.verification.damages().to_vec(),
        verify_state: worker.verification.state(&worker.queue.slots_in_flight()),
        region: fathom_model::Bytes::new(frame.region),
        notes,
        ..job_recording::empty(worker.job)
    }
}

fn with_records(
    job: &Job,
    synchronous: bool,
    bare: JobRecording,
    mut recorded: Recorded,
) -> JobRecording {
    one_latency_is_both(job, synchronous, &mut recorded.directions);
    JobRecording {
        in_flight_ns: recorded.directions.0.iter().map(|d| d.clat.sum()).sum(),
        directions: recorded.directions,
        sync: recorded.sync,
        sync_failed: recorded.sync_failed,
        warmup: recorded.warmup,
        intervals: recorded.intervals,
        events: recorded.events,
        gaps: recorded.gaps,
        ..bare
    }
}

/// A synchronous engine has one latency: it was recorded once, as clat.
fn one_latency_is_both(
    job: &Job,
    synchronous: bool,
    directions: &mut PerDirection<DirectionRecording>,
) {
    let accounting = &job.accounting;
    if !synchronous || accounting.reduced {
        return;
    }
    for direction in &mut directions.0 {
        if accounting.lat && direction.lat.count() == 0 {
            direction.lat = direction.clat.clone();
        }
        if !accounting.clat {
            direction.clat = fathom_model::Histogram::new();
        }
    }
}
