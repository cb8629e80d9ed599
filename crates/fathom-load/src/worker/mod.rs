//! The load loop of one job: generate, submit, reap, record. Nothing in it allocates, locks or
//! formats.
//!
//! A [`Worker`] connects four parts that do not use each other's fields: the [`IoSource`] of I/Os,
//! the [`IoQueue`], the [`Pacing`] and the [`Verification`].

mod async_verify;
mod batched;
mod block_check;
mod checker;
mod depth_search;
mod dump;
mod errors;
mod finish;
mod levels;
mod min_rate;
mod paced;
mod pacing;
mod pause;
mod queue;
mod replay;
mod replay_writes;
mod setup;
mod single;
mod source;
mod suspects;
mod verification;
mod verify_pass;
mod write_replay;
mod write_times;

use std::sync::atomic::Ordering::Relaxed;

use fathom_model::{Direction, Job, Nanos};

use self::errors::Outcome;
use self::finish::WorkerContext;
use self::pacing::Pacing;
use self::queue::IoQueue;
pub(crate) use self::setup::Setup;
use self::setup::drops_cache_at_passes;
use self::source::IoSource;
use self::verification::Verification;
use crate::clock::Clock;
use crate::engine::{Completion, Engine, EngineError, Op, Wait};
use crate::errno::ETIMEDOUT;
use crate::host::Host;
use crate::io_generator::{PlannedIo, Region};
use crate::live::{Live, Phase, Stop};
use crate::payload::Filler;
use crate::priorities::PriorityTracker;
use crate::recorder::{InFlight, Recorder};

/// Longest time in which the loop does not check its stop flag.
const MAX_WAIT: u64 = 100_000_000;
/// A synchronous engine publishes its totals this often: what is not published is lost when it
/// hangs in an I/O.
const PUBLISH: u64 = 100_000;
/// The last part of a wait is polled, because waking up takes about this long (60 us at the median
/// on the machines tried).
const POLL: u64 = 60_000;

/// Runs one job on its engine.
pub(crate) struct Worker<'a, E, C, H> {
    job: &'a Job,
    /// The regions of its files.
    regions: &'a [Region],
    live: &'a Live,
    host: &'a H,
    clock: C,
    engine: E,
    source: IoSource,
    queue: IoQueue,
    pacing: Pacing,
    verification: Verification<'a>,
    recorder: Recorder,
    priorities: Option<Box<PriorityTracker>>,
    filler: Option<Filler>,
    times: Times,
    features: Features,
    outcome: Outcome,
    frame: WorkerContext,
}

/// When a worker measures and ends, nanoseconds since the epoch of the run.
struct Times {
    measured_from: u64,
    deadline: u64,
    next_publish: u64,
    /// End of a warm-up that the job may not outlast. Until then everything is measured, so that a
    /// job that ends earlier has a result; then the measurement restarts.
    ramp_end: Option<u64>,
}

/// What decides which loop drives a job and how much each I/O of it needs.
#[derive(Clone, Copy)]
struct Features {
    synchronous: bool,
    /// Buffers are filled or stamped before they are submitted.
    fills_buffers: bool,
    /// More than recording follows an I/O: a check, a write of the same range, a pause, a
    /// limit.
    has_follow_up: bool,
    /// The same for an I/O of the load, without verify passes.
    load_has_follow_up: bool,
    /// `end_fsync` and `fsync_on_close` are counted as syncs; in fio they are not.
    counts_final_syncs: bool,
    /// A read that returns no data is complete: the targets are character devices such as
    /// /dev/null, and asynchronous engines of fio accept it.
    accepts_empty_reads: bool,
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Runs the load of the job: passes of it, each verified if the plan requires it.
    fn work(&mut self) {
        let ramp_end = self.times.ramp_end.unwrap_or(self.times.measured_from);
        self.live.enter(if ramp_end > self.now() {
            Phase::WarmingUp
        } else {
            Phase::Running
        });
        loop {
            let driven = match () {
                () if self.source.is_replay() => self.drive_replay(),
                () if self.is_single() => self.drive_single(),
                () if self.is_batched() => self.drive_batched(),
                () => self.drive(),
            };
            let outcome = driven.and_then(|()| self.drain());
            if let Err(error) = outcome {
                self.fail(error.errno, error.to_string());
                return;
            }
            let over = self.is_over(self.now());
            let at_pass_end = self.source.take_pass_end();
            // Regression 0061: an amount that ended within a pass was never verified.
            // Looking for more I/O generates it, after which another verify pass may seem due.
            let due = self.verification.is_due();
            let last = self.verification.is_enabled() && (over || !due && self.is_exhausted());
            if due || last && self.live.stopping() == Stop::No {
                self.live.enter(Phase::Verifying);
                self.verify_pass(last);
                self.live.enter(Phase::Running);
            }
            let over = over
                || self.is_over(self.now())
                || self.is_exhausted() && !self.source.is_between_passes();
            if over
                && !last
                && self.live.stopping() == Stop::No
                && self.verification.has_unverified()
            {
                self.verify_pass(true);
            }
            self.confirm_mismatches();
            if over {
                if self.live.stopping() != Stop::No && self.verification.has_unverified() {
                    self.count_unread();
                }
                return;
            }
            if at_pass_end && self.job.files.layout.unlink_each_loop {
                self.empty_files();
            }
            if at_pass_end && drops_cache_at_passes(self.job) {
                self.drop_page_cache();
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().get()
    }

    /// The general loop: until the source, the time or the tolerance of errors ends. Leaves I/O in
    /// flight.
    fn drive(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        loop {
            if self.is_over(now) {
                return Ok(());
            }
            self.fill_batch(now);
            if !self.queue.batch().is_empty() {
                now = self.fill_queue(now)?;
            } else if self.queue.in_flight() == 0 {
                self.recorder.idle(now);
                match self.next_due(now) {
                    Some(due) => self.sleep_until(due, now),
                    None => return Ok(()),
                }
                now = self.now();
                continue;
            }
            now = self.reap(now)?;
        }
    }

    /// Sleeps until an I/O is due, the job ends, or the stop flag must be checked.
    fn sleep_until(&self, due: u64, now: u64) {
        let until = due.min(self.times.deadline).min(now + MAX_WAIT);
        self.clock.sleep_until(Nanos::new(until));
    }

    /// Submits batch after batch until the queue is full, the kernel accepts no more or nothing
    /// more is due.
    #[inline]
    fn fill_queue(&mut self, now: u64) -> Result<u64, EngineError> {
        let mut now = self.submit(now)?;
        while self.queue.batch().is_empty() && self.queue.has_room() {
            self.fill_batch(now);
            if self.queue.batch().is_empty() {
                break;
            }
            now = self.submit(now)?;
        }
        Ok(now)
    }

    /// Whether nothing more is submitted.
    #[inline]
    fn is_over(&mut self, now: u64) -> bool {
        if now >= self.times.next_publish {
            self.publish(now);
        }
        now >= self.times.deadline
            || self.live.stopping() != Stop::No
            || self.outcome.is_ended
            || self.outcome.complete
    }

    /// Publishes what observers of the run see, which is not needed at every I/O.
    #[cold]
    fn publish(&mut self, now: u64) {
        self.live.in_flight.store(self.queue.in_flight(), Relaxed);
        if let Some(due) = self.pacing.due() {
            self.live.late_ns.store(now.saturating_sub(due), Relaxed);
        }
        if self.times.ramp_end.is_some_and(|end| now >= end) {
            self.times.ramp_end = None;
            self.restart_measurement(now);
        }
        if self.times.ramp_end.is_none()
            && now >= self.times.measured_from
            && self.live.phase() == Phase::WarmingUp
        {
            self.live.enter(Phase::Running);
        }
        self.recorder.publish(self.live);
        if self.live.snapshot_requested() {
            self.live.publish_snapshot(finish::snapshot(self, now));
        }
        if self.live.verify_state_requested() {
            let busy = self.queue.busy_writes();
            self.live
                .publish_verify_state(self.verification.state_so_far(busy));
        }
        let steady = self.job.limits.steady.is_some();
        if steady {
            self.live
                .latency_ns
                .store(self.recorder.service_sum(), Relaxed);
        }
        let next_publish = now
            + if self.features.synchronous || steady {
                PUBLISH
            } else {
                MAX_WAIT / 10
            };
        self.times.next_publish = next_publish.min(self.times.ramp_end.unwrap_or(u64::MAX));
    }

    /// Fills the batch with I/O that is due and has room.
    #[inline]
    fn fill_batch(&mut self, now: u64) {
        let room = self.queue.room();
        if self.pacing.holds_back() {
            self.fill_batch_paced(room, now);
        } else {
            self.add_due(room, now);
        }
    }

    /// Fills the batch up to `room` with I/O that is due.
    #[inline]
    fn add_due(&mut self, room: usize, now: u64) {
        while self.queue.batch().len() < room {
            let Some(planned) = self.pacing.planned(now) else {
                return self.add_syncs(room, now);
            };
            let Some(planned_io) = self.draw() else {
                return;
            };
            if planned_io.len > 0 {
                self.pacing.advance(planned_io.len);
            }
            self.push(planned_io, planned);
        }
    }

    /// Adds the syncs that follow the last write at once: they are not I/Os of a planned rate and
    /// have no due time. The generator makes them together with their write.
    #[cold]
    fn add_syncs(&mut self, room: usize, now: u64) {
        while self.queue.batch().len() < room
            && self
                .source
                .ahead()
                .first()
                .is_some_and(|planned_io| planned_io.direction().is_none())
        {
            let planned_io = self.source.take();
            self.push(planned_io, now);
        }
    }

    /// The next generated I/O; `None` when the pass is over.
    #[inline]
    fn draw(&mut self) -> Option<PlannedIo> {
        if self.source.is_empty() && !self.refill() {
            return None;
        }
        Some(self.source.take())
    }

    /// Draws ahead. False when a verify pass is due or the amount is spent.
    #[cold]
    fn refill(&mut self) -> bool {
        let priorities = self.priorities.as_deref_mut();
        self.source.refill(self.verification.checker(), priorities)
    }

    /// Whether the generator has no further I/O for now.
    fn is_exhausted(&mut self) -> bool {
        self.source.is_empty() && !self.refill()
    }

    /// Puts an I/O into a slot and the batch. Returns the slot.
    #[inline]
    fn push(&mut self, planned_io: PlannedIo, planned: u64) -> u32 {
        let check = self.verification.check_of(planned_io.op);
        let slot = self.queue.push(planned_io, planned, check);
        self.prepare_buffer(slot, planned_io);
        slot
    }

    /// Makes the slot's buffer ready for an I/O.
    #[inline]
    fn prepare_buffer(&mut self, slot: u32, planned_io: PlannedIo) {
        match (planned_io.op, &mut self.filler) {
            // Without either, no data is moved: the length of a file operation is that of its file.
            (Op::Write, None) if !self.verification.is_enabled() => {}
            (Op::Write, _) => self.fill_buffer(slot, planned_io),
            // The read will leave its data in the buffer.
            (Op::Read, Some(filler)) => filler.forget(slot as usize),
            (Op::Fsync | Op::Fdatasync, _) => self.verification.sync_begins(slot),
            _ => {}
        }
    }

    #[inline]
    fn fill_buffer(&mut self, slot: u32, planned_io: PlannedIo) {
        let buffer = &mut self.engine.buffer(slot)[..planned_io.len as usize];
        if let Some(filler) = &mut self.filler {
            filler.fill(slot as usize, buffer, planned_io.offset);
        }
        if let Some(checker) = self.verification.checker() {
            let now = self.clock.now().get();
            checker.stamp(slot, buffer, planned_io.file, planned_io.offset, now);
        }
    }

    /// A synchronous engine may never return from an I/O: publishes which one it is.
    #[inline]
    fn publish_submission(&self) {
        if let Some(io) = self.queue.first_of_batch() {
            self.live.sync_io_started(io.direction, io.len);
        }
    }

    /// Submits the batch to the engine. Returns the time after.
    #[inline]
    fn submit(&mut self, now: u64) -> Result<u64, EngineError> {
        // Filling buffers took time that belongs to no I/O.
        let ready = if self.features.fills_buffers || self.pacing.is_open_loop() {
            self.now()
        } else {
            now
        };
        if self.features.synchronous {
            self.publish_submission();
        }
        let accepted = self.engine.submit(self.queue.batch())?;
        let issued = if self.features.synchronous {
            ready
        } else {
            self.now()
        };
        if self.features.synchronous {
            self.live.sync_io_ended();
        }
        let recorder = &mut self.recorder;
        let closed_loop = !self.pacing.is_open_loop();
        self.queue
            .submitted(accepted, (ready, issued), closed_loop, |io, request| {
                if !io.sync {
                    recorder.sent(io);
                }
                if recorder.traces() {
                    recorder.trace(request, io.issued);
                }
            });
        self.pacing.submitted(accepted as u64);
        Ok(issued)
    }

    /// Reaps what has completed, waiting as the plan allows. Returns the time after.
    #[inline]
    fn reap(&mut self, now: u64) -> Result<u64, EngineError> {
        self.reap_with(self.pacing.wait(&self.queue, now))
    }

    #[inline]
    fn reap_with(&mut self, wait: Wait) -> Result<u64, EngineError> {
        self.queue.reap(&mut self.engine, wait)?;
        let now = self.now();
        let rolls = now >= self.recorder.next_roll();
        if self.queue.reaped().is_empty() {
            self.recorder.idle(now);
        }
        self.complete_reaped(now);
        // Closing an interval costs microseconds that must not count as latency of the next I/O.
        Ok(if rolls { self.now() } else { now })
    }

    #[inline]
    fn complete_reaped(&mut self, now: u64) {
        let reaped = self.queue.take_reaped();
        for completion in &reaped {
            self.complete(*completion, now);
        }
        self.queue.reuse(reaped);
    }

    #[inline]
    fn complete(&mut self, completion: Completion, now: u64) {
        let io = self.queue.complete(completion.slot);
        let in_full = match io.direction {
            Direction::Trim => completion.result >= 0,
            _ => {
                completion.result == i64::from(io.len)
                    || completion.result == 0 && self.features.accepts_empty_reads
            }
        };
        if io.sync || !in_full {
            let io = *io;
            return if io.sync {
                self.sync_completed(&io, completion, now);
            } else {
                self.failed_or_short(&io, completion, now);
            };
        }
        self.recorder.ok(io, now);
        if self.features.has_follow_up {
            let io = *io;
            self.after(completion.slot, &io, now);
        }
    }

    /// Further steps after an I/O that completed in full.
    fn after(&mut self, slot: u32, io: &InFlight, now: u64) {
        if io.check > 0 {
            self.check_read(slot, io);
        }
        if io.then_write {
            self.push_chained_write(io, now);
        }
        if let Some(priorities) = &mut self.priorities
            && now >= self.times.measured_from
        {
            priorities.record(io, now);
        }
        self.pacing.completed(now);
        if self.pacing.searches_depth() {
            self.judge_latency(io, now);
        }
        if self.job.errors.max_latency[io.direction]
            .is_some_and(|limit| now - io.ready > limit.get())
        {
            let what = format!(
                "a {} at {} took {} ns, max_latency is exceeded",
                io.direction.name(),
                io.offset,
                now - io.ready
            );
            self.fail(ETIMEDOUT, what);
        }
    }

    /// The write that follows a trim, of the same range; it is due when the trim completes.
    #[cold]
    fn push_chained_write(&mut self, io: &InFlight, now: u64) {
        let planned_io = PlannedIo {
            offset: io.offset,
            len: io.len,
            file: io.file,
            op: Op::Write,
            then_write: false,
            prio: io.prio,
        };
        self.push(planned_io, now);
    }

    /// Waits for what is in flight.
    fn drain(&mut self) -> Result<(), EngineError> {
        finish::drain(self)
    }
}
