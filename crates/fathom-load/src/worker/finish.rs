//! The end of a job: I/O in flight is waited for, what never comes back is counted.

use fathom_model::{
    Direction, DirectionRecording, EventKind, Job, JobRecording, Nanos, PaceRecording,
    PerDirection, Usage,
};

use super::{LOOK_UP, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Wait};
use crate::errno::EIO;
use crate::host::Host;
use crate::job_recording::{self, usage_between};
use crate::live::{Phase, Stop};
use crate::priorities::PriorityTracker;
use crate::recorder::Recorded;
use crate::verify::VerifyState;

/// A drain without a single completion is given up after this long.
const PATIENCE: u64 = 30_000_000_000;
/// No more I/Os than this are counted one by one as due but not sent.
pub(super) const COUNT_NOT_SENT: u64 = 50_000_000;

/// Reaps until nothing is in flight. Chained writes that wait in the batch are handed over.
pub(super) fn drain<E: Engine, C: Clock, H: Host>(
    worker: &mut Worker<'_, E, C, H>,
) -> Result<(), EngineError> {
    let mut last = worker.now();
    while worker.in_flight > 0 || !worker.batch.is_empty() {
        if !worker.batch.is_empty() && worker.in_flight < worker.slots.len() as u32 {
            worker.hand_over(worker.now())?;
        }
        let before = worker.in_flight;
        let wait = Wait {
            at_least: 1,
            at_most: before.max(1),
            limit: Some(Nanos::new(LOOK_UP)),
        };
        worker.engine.reap(wait, &mut worker.done)?;
        let now = worker.now();
        worker.recorder.idle(now);
        let mut done = std::mem::take(&mut worker.done);
        done.iter()
            .for_each(|completion| worker.complete(*completion, now));
        done.clear();
        worker.done = done;
        if worker.in_flight < before {
            last = now;
        }
        if now - last > PATIENCE || worker.live.stopping() == Stop::Abort {
            give_up(worker, now - last, now);
            return Ok(());
        }
    }
    Ok(())
}

/// Counts what is still in flight as timed out.
fn give_up<E: Engine, C: Clock, H: Host>(worker: &mut Worker<'_, E, C, H>, waited: u64, now: u64) {
    let idle: std::collections::HashSet<u32> = worker
        .free
        .iter()
        .copied()
        .chain(worker.batch.iter().map(|request| request.slot))
        .collect();
    for slot in (0..worker.slots.len() as u32).filter(|slot| !idle.contains(slot)) {
        let io = worker.slots[slot as usize];
        if !io.sync {
            worker.recorder.timed_out(&io);
        }
    }
    let in_flight = worker.in_flight;
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

/// I/O of an open loop that was due when the load ended but had not been handed over.
pub(super) fn count_not_sent<E: Engine, C: Clock, H: Host>(
    worker: &mut Worker<'_, E, C, H>,
    end: u64,
) {
    for request in std::mem::take(&mut worker.batch) {
        let io = worker.slots[request.slot as usize];
        if !io.sync {
            worker.recorder.not_sent(io.planned, io.direction);
        }
    }
    let end = end.min(worker.deadline);
    if worker.log.is_some() {
        return worker.count_log_not_sent(end);
    }
    if worker.schedule.is_none() || worker.draw_is_over() {
        return;
    }
    for _ in 0..COUNT_NOT_SENT {
        let Some(due) = worker
            .schedule
            .as_ref()
            .map(|schedule| schedule.due())
            .filter(|due| *due < end)
        else {
            return;
        };
        let Some(draft) = worker.draw() else { return };
        worker
            .recorder
            .not_sent(due, draft.direction().unwrap_or(Direction::Write));
        if let Some(schedule) = &mut worker.schedule {
            schedule.advance(draft.len);
        }
    }
}

/// What the worker's thread knew before the load.
#[derive(Clone)]
pub(super) struct Frame {
    pub launched: Nanos,
    pub usage: Usage,
    pub engine: &'static str,
    pub fallback: Option<String>,
    pub tid: u32,
    pub region: u64,
    pub notes: Vec<String>,
}

/// Takes the worker apart into its recording.
pub(super) fn record<E: Engine, C: Clock, H: Host>(
    mut worker: Worker<'_, E, C, H>,
    ended_load: u64,
) -> JobRecording {
    count_not_sent(&mut worker, ended_load);
    let ended = worker
        .recorder
        .last_done()
        .max(Nanos::new(worker.measured_from));
    worker.recorder.publish(worker.live);
    worker.live.enter(if worker.error.is_some() {
        Phase::Failed
    } else {
        Phase::Done
    });
    let bare = without_records(&worker, ended);
    let priorities = worker.priorities.take();
    if worker.in_flight > 0 {
        // The kernel may still write into the engine's buffers: they must outlive the process's
        // interest in them.
        std::mem::forget(worker.engine);
    }
    with_records(
        worker.job,
        worker.synchronous,
        bare,
        with_priorities(worker.recorder.finish(ended), priorities.as_deref()),
    )
}

/// The recording as it would be if the job ended now; what is in flight is planned and has no end
/// yet.
#[cold]
pub(super) fn snapshot<E: Engine, C: Clock, H: Host>(
    worker: &Worker<'_, E, C, H>,
    now: u64,
) -> JobRecording {
    let now = Nanos::new(now.max(worker.measured_from));
    let recorded = with_priorities(worker.recorder.snapshot(now), worker.priorities.as_deref());
    with_records(
        worker.job,
        worker.synchronous,
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

/// Everything but what the recorder holds.
fn without_records<E: Engine, C: Clock, H: Host>(
    worker: &Worker<'_, E, C, H>,
    ended: Nanos,
) -> JobRecording {
    let frame = worker.frame.clone();
    JobRecording {
        engine: frame.engine.to_owned(),
        fallback: frame.fallback,
        tid: frame.tid,
        launched: frame.launched,
        measured_from: Nanos::new(worker.measured_from),
        ended,
        depth_levels: worker.levels.depth,
        submit_levels: worker.levels.submit,
        complete_levels: worker.levels.complete,
        usage: usage_between(frame.usage, worker.host.usage()),
        error: worker.error.clone(),
        errors_continued: worker.errors_continued,
        verify: worker.verify,
        pace: PaceRecording {
            steady: None,
            latency_depth: worker.gate.as_ref().and_then(|gate| gate.depth()),
        },
        damages: worker.damages.clone(),
        verify_state: verify_state(worker),
        region: fathom_model::Bytes::new(frame.region),
        notes: frame.notes,
        ..job_recording::empty(worker.job)
    }
}

/// What a job that wrote leaves for a later run that verifies.
fn verify_state<E: Engine, C: Clock, H: Host>(
    worker: &Worker<'_, E, C, H>,
) -> Option<(String, Vec<u8>)> {
    let busy: Vec<u32> = (0..worker.slots.len() as u32)
        .filter(|slot| {
            worker.in_flight > 0
                && !worker.free.contains(slot)
                && !worker.batch.iter().any(|request| request.slot == *slot)
        })
        .collect();
    let state = worker.checker.as_ref()?.state(worker.job, &busy)?;
    Some((
        VerifyState::file_name(&state.name, state.index),
        state.encode(),
    ))
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
