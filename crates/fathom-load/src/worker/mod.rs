//! The load loop of one job: draw, hand over, reap, account; nothing in it allocates, locks or
//! formats.

mod alone;
mod async_verify;
mod check;
mod chronicle;
mod dump;
mod finish;
mod gate;
mod levels;
mod min_rate;
mod pace;
mod plain;
mod replay;
mod replay_writes;
mod search;
mod setup;
mod suspects;
mod verify_pass;
mod write_replay;

use std::sync::atomic::Ordering::Relaxed;

use fathom_model::{Damage, Direction, EventKind, Job, JobError, Nanos, VerifyCounts};

use self::async_verify::Helpers;
use self::check::Checker;
use self::finish::Frame;
use self::gate::Gate;
use self::levels::Levels;
use self::pace::Pause;
use self::replay::Log;
pub(crate) use self::setup::Setup;
use crate::arrivals::Schedule;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::engine::{Completion, Engine, EngineError, Op, Request, Wait};
use crate::errno::{EDQUOT, EIO, ENOSPC, ETIMEDOUT};
use crate::host::Host;
use crate::live::{Live, Phase, Stop};
use crate::payload::Filler;
use crate::priorities::PriorityTracker;
use crate::recorder::{InFlight, Recorder};
use crate::script::{Draft, Region, Script};

/// Drafts drawn at once.
const DRAW: usize = 256;
/// Longest time in which the loop does not look at its stop flag.
const LOOK_UP: u64 = 100_000_000;
/// A synchronous engine shows its totals this often: what is not shown is lost when it hangs in an
/// I/O.
const SHOW: u64 = 100_000;
/// What is left of a wait is polled, because waking takes about this long (60 us at the median on
/// the machines tried).
const POLL: u64 = 60_000;

/// One job at work on its engine.
pub(crate) struct Worker<'a, E, C, H> {
    job: &'a Job,
    live: &'a Live,
    host: &'a H,
    clock: C,
    engine: E,
    script: Script,
    log: Option<Log>,
    drafts: Vec<Draft>,
    next_draft: usize,
    budget: Budget,
    schedule: Option<Schedule>,
    pause: Option<Pause>,
    gate: Option<Box<Gate>>,
    priorities: Option<Box<PriorityTracker>>,
    /// There is a pause or a gate.
    gated: bool,
    /// The gate must hear of every I/O that is over.
    listens: bool,
    slots: Vec<InFlight>,
    free: Vec<u32>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    in_flight: u32,
    /// The queue is being filled; once full it is left to drain to `iodepth_low` first.
    refilling: bool,
    recorder: Recorder,
    levels: Levels,
    filler: Option<Filler>,
    /// Buffers are filled or stamped before they are handed over.
    fills: bool,
    checker: Option<Checker>,
    /// Threads that check beside this one.
    helpers: Option<Box<Helpers>>,
    /// Wrong blocks that were saved.
    dumped: u32,
    checks_reads: bool,
    measured_from: u64,
    deadline: u64,
    next_look: u64,
    error: Option<JobError>,
    errors_continued: u64,
    verify: VerifyCounts,
    damages: Vec<Damage>,
    regions: &'a [Region],
    /// I/O of places that are in flight waits for those to end: their order must be known to be
    /// verified.
    keeps_apart: bool,
    synchronous: bool,
    frame: Frame,
    /// Something besides recording follows an I/O: a check, a write of the same range, a pause, a
    /// limit.
    has_more_to_do: bool,
    /// The same of an I/O of the load, which verify passes are not.
    load_has_more: bool,
    /// What was aimed at is reached: the target is full (`fill_device`), the depth is found
    /// (`latency_target`).
    full: bool,
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Does the load of the job: passes of it, each verified where asked.
    fn work(&mut self) {
        self.live.enter(if self.measured_from > self.now() {
            Phase::WarmingUp
        } else {
            Phase::Running
        });
        loop {
            let driven = match () {
                () if self.log.is_some() => self.drive_log(),
                () if self.is_alone() => self.drive_alone(),
                () if self.is_plain() => self.drive_plain(),
                () => self.drive(),
            };
            let outcome = driven.and_then(|()| self.drain());
            if let Err(error) = outcome {
                self.fail(error.errno, error.to_string());
                return;
            }
            let over = self.over(self.now());
            // Regression 0061: an amount that ended within a pass was never verified.
            let last =
                self.checker.is_some() && (over || !self.verify_due() && self.draw_is_over());
            if self.verify_due() || last && self.live.stopping() == Stop::No {
                self.live.enter(Phase::Verifying);
                self.verify_pass(last);
                self.live.enter(Phase::Running);
            }
            let over = over || self.over(self.now()) || self.draw_is_over();
            if over
                && !last
                && self.live.stopping() == Stop::No
                && self.checker.as_ref().is_some_and(Checker::has_rest)
            {
                self.verify_pass(true);
            }
            self.second_look();
            if over {
                return;
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().get()
    }

    /// The loop: until the script, the time or the patience with errors ends. Leaves I/O in flight.
    fn drive(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        loop {
            if self.over(now) {
                return Ok(());
            }
            self.take(now);
            if !self.batch.is_empty() {
                now = self.fill_queue(now)?;
            } else if self.in_flight == 0 {
                self.recorder.idle(now);
                match self.next_due(now) {
                    Some(due) => self
                        .clock
                        .sleep_until(Nanos::new(due.min(self.deadline).min(now + LOOK_UP))),
                    None => return Ok(()),
                }
                now = self.now();
                continue;
            }
            now = self.reap(now)?;
        }
    }

    /// Hands over batch after batch until the queue is full, the kernel takes no more or nothing
    /// more is due.
    #[inline]
    fn fill_queue(&mut self, now: u64) -> Result<u64, EngineError> {
        let mut now = self.hand_over(now)?;
        while self.batch.is_empty() && self.in_flight < self.slots.len() as u32 {
            self.take(now);
            if self.batch.is_empty() {
                break;
            }
            now = self.hand_over(now)?;
        }
        Ok(now)
    }

    /// Whether nothing more is to be handed over.
    #[inline]
    fn over(&mut self, now: u64) -> bool {
        if now >= self.next_look {
            self.look(now);
        }
        now >= self.deadline
            || self.live.stopping() != Stop::No
            || self.error.is_some()
            || self.full
    }

    /// Things that need no look at every I/O.
    #[cold]
    fn look(&mut self, now: u64) {
        self.live.in_flight.store(self.in_flight, Relaxed);
        if let Some(schedule) = &self.schedule {
            self.live
                .late_ns
                .store(now.saturating_sub(schedule.due()), Relaxed);
        }
        if now >= self.measured_from && self.live.phase() == Phase::WarmingUp {
            self.live.enter(Phase::Running);
        }
        self.recorder.publish(self.live);
        if self.live.snapshot_requested() {
            self.live.publish_snapshot(finish::snapshot(self, now));
        }
        let steady = self.job.limits.steady.is_some();
        if steady {
            self.live
                .latency_ns
                .store(self.recorder.service_sum(), Relaxed);
        }
        self.next_look = now
            + if self.synchronous || steady {
                SHOW
            } else {
                LOOK_UP / 10
            };
    }

    /// How many more may be in flight now.
    #[inline]
    fn room(&mut self) -> usize {
        let queue = &self.job.queue;
        let depth = self.slots.len() as u32;
        if self.in_flight >= depth {
            self.refilling = false;
        } else if self.in_flight <= queue.low.min(depth - 1) {
            self.refilling = true;
        }
        if !self.refilling {
            return 0;
        }
        (depth - self.in_flight).min(queue.batch_submit.max(1)) as usize
    }

    /// Fills the batch with I/O that is due and has room.
    #[inline]
    fn take(&mut self, now: u64) {
        let room = self.room();
        if self.gated {
            self.take_gated(room, now)
        } else {
            self.take_up_to(room, now)
        }
    }

    /// Fills the batch up to `room` with I/O that is due.
    #[inline]
    fn take_up_to(&mut self, room: usize, now: u64) {
        while self.batch.len() < room {
            let planned = match &self.schedule {
                None => now,
                Some(schedule) if schedule.due() <= now => schedule.due(),
                Some(_) => return,
            };
            let Some(draft) = self.draw() else { return };
            if let Some(schedule) = &mut self.schedule {
                schedule.advance(draft.len);
            }
            self.prepare(draft, planned);
        }
    }

    /// The next I/O of the script; `None` when the pass is over.
    #[inline]
    fn draw(&mut self) -> Option<Draft> {
        if self.next_draft == self.drafts.len() && !self.refill() {
            return None;
        }
        self.next_draft += 1;
        Some(self.drafts[self.next_draft - 1])
    }

    /// Draws ahead. False when a verify pass is due or the amount is spent.
    #[cold]
    fn refill(&mut self) -> bool {
        self.drafts.clear();
        self.next_draft = 0;
        let mut empty_passes = 0;
        while !self.budget.spent() && empty_passes < 2 && !self.verify_due() {
            let want = self
                .checker
                .as_ref()
                .map_or(DRAW, |checker| checker.room(DRAW));
            if let Some(checker) = &mut self.checker {
                checker.about_to_draw(&self.script);
            }
            self.script.fill(&mut self.drafts, want);
            if self.budget.is_limited() {
                self.keep_to_budget();
            }
            let drawn = self.drafts.len();
            if let Some(checker) = &mut self.checker {
                checker.drew(drawn as u64);
                checker.choose(&mut self.drafts);
                if checker.stopped && self.drafts.is_empty() {
                    return false;
                }
            }
            if let Some(priorities) = &mut self.priorities {
                priorities.assign(&mut self.drafts);
            }
            if !self.drafts.is_empty() {
                return true;
            }
            if drawn > 0 {
                continue;
            }
            self.budget.end_pass();
            empty_passes += 1;
        }
        false
    }

    fn keep_to_budget(&mut self) {
        if let Some(at) = self
            .drafts
            .iter()
            .position(|draft| draft.len > 0 && !self.budget.take(draft.len))
        {
            self.drafts.truncate(at);
        }
    }

    fn draw_is_over(&mut self) -> bool {
        self.next_draft == self.drafts.len() && !self.refill()
    }

    /// Puts an I/O into a slot and the batch.
    #[inline]
    fn prepare(&mut self, draft: Draft, planned: u64) {
        let slot = self.free.pop().expect("room was checked");
        let check = self.check_of(draft.op);
        let io = &mut self.slots[slot as usize];
        *io = InFlight {
            then_write: draft.then_write,
            check,
            ..InFlight::new(&draft, planned, planned)
        };
        self.buffer_for(slot, draft);
        self.batch.push(draft.request(slot));
    }

    /// Makes the slot's buffer ready for an I/O.
    #[inline]
    fn buffer_for(&mut self, slot: u32, draft: Draft) {
        match (draft.op, &mut self.filler) {
            // Without either, no data is moved: the length of a file operation is that of its file.
            (Op::Write, None) if self.checker.is_none() => {}
            (Op::Write, _) => self.fill(slot, draft),
            // The read will leave its data in the buffer: nothing of ours is in it then.
            (Op::Read, Some(filler)) => filler.forget(slot as usize),
            (Op::Fsync | Op::Fdatasync, _) => {
                if let Some(checker) = &mut self.checker {
                    checker.sync_begins(slot);
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn fill(&mut self, slot: u32, draft: Draft) {
        let buffer = &mut self.engine.buffer(slot)[..draft.len as usize];
        if let Some(filler) = &mut self.filler {
            filler.fill(slot as usize, buffer, draft.offset);
        }
        if let Some(checker) = &mut self.checker {
            checker.stamp(
                slot,
                buffer,
                draft.file,
                draft.offset,
                self.clock.now().get(),
            );
        }
    }

    /// A synchronous engine may never come back from the I/O it is handed: shows what that is.
    #[inline]
    fn carry(&self) {
        if let Some(request) = self.batch.first() {
            let io = &self.slots[request.slot as usize];
            if !io.sync {
                self.live.sync_io_started(io.direction, io.len);
            }
        }
    }

    /// Hands the batch to the engine. Returns the time after.
    #[inline]
    fn hand_over(&mut self, now: u64) -> Result<u64, EngineError> {
        // Filling buffers took time that belongs to no I/O.
        let ready = if self.fills || self.schedule.is_some() {
            self.now()
        } else {
            now
        };
        let closed = self.schedule.is_none();
        if self.synchronous {
            self.carry();
        }
        let taken = self.engine.submit(&self.batch)?;
        let issued = if self.synchronous { ready } else { self.now() };
        if self.synchronous {
            self.live.sync_io_ended();
        }
        // The kernel takes a batch one by one, in order, and the first may be over before the last
        // is taken: each gets its share of the time. Regression 0028: with one stamp for all, the
        // service time of the first lacked the hand-over of all the others.
        let share = (issued - ready) / (taken as u64).max(1);
        let mut handed = ready;
        for request in &self.batch[..taken] {
            let io = &mut self.slots[request.slot as usize];
            if closed {
                io.planned = ready;
            }
            handed += share;
            (io.ready, io.issued) = (ready, handed);
            if !io.sync {
                self.recorder.sent(io);
            }
            if self.recorder.traces() {
                self.recorder.trace(request, handed);
            }
        }
        self.in_flight += taken as u32;
        self.levels.handed_over(taken as u32, self.in_flight);
        if taken == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..taken);
        }
        if let Some(pause) = &mut self.pause {
            pause.issued(taken as u64);
        }
        Ok(issued)
    }

    /// Reaps what has completed, waiting as the plan allows. Returns the time after.
    #[inline]
    fn reap(&mut self, now: u64) -> Result<u64, EngineError> {
        self.reap_with(self.wait(now))
    }

    #[inline]
    fn reap_with(&mut self, wait: Wait) -> Result<u64, EngineError> {
        self.engine.reap(wait, &mut self.done)?;
        let now = self.now();
        self.levels.reaped(self.done.len() as u32);
        let rolls = now >= self.recorder.next_roll();
        if self.done.is_empty() {
            self.recorder.idle(now);
        }
        let mut done = std::mem::take(&mut self.done);
        for completion in &done {
            self.complete(*completion, now);
        }
        done.clear();
        self.done = done;
        // Closing an interval costs microseconds that must not count as latency of the next I/O.
        Ok(if rolls { self.now() } else { now })
    }

    #[inline]
    fn complete(&mut self, completion: Completion, now: u64) {
        let io = &self.slots[completion.slot as usize];
        self.in_flight -= 1;
        self.free.push(completion.slot);
        let in_full = match io.direction {
            Direction::Trim => completion.result >= 0,
            _ => completion.result == i64::from(io.len),
        };
        if io.sync || !in_full {
            let io = *io;
            return if io.sync {
                self.synced(&io, completion, now)
            } else {
                self.went_wrong(&io, completion, now)
            };
        }
        self.recorder.ok(io, now);
        if self.has_more_to_do {
            let io = *io;
            self.after(completion.slot, &io, now);
        }
    }

    /// What follows a good I/O besides recording it.
    fn after(&mut self, slot: u32, io: &InFlight, now: u64) {
        if io.check > 0 {
            self.look_at(slot, io);
        }
        if io.then_write {
            self.chain(io, now);
        }
        if let Some(priorities) = &mut self.priorities
            && now >= self.measured_from
        {
            priorities.record(io, now);
        }
        if let Some(pause) = &mut self.pause {
            pause.completed(now);
        }
        if self.listens {
            self.searched(io, now);
        }
        if self.job.errors.max_latency[io.direction]
            .is_some_and(|limit| now - io.ready > limit.get())
        {
            let what = format!(
                "a {} at {} took {} ns, max_latency is exceeded",
                io.direction.word(),
                io.offset,
                now - io.ready
            );
            self.fail(ETIMEDOUT, what);
        }
    }

    /// The write that follows a trim, of the same range; it is due when the trim is over.
    #[cold]
    fn chain(&mut self, io: &InFlight, now: u64) {
        let draft = Draft {
            offset: io.offset,
            len: io.len,
            file: io.file,
            op: Op::Write,
            then_write: false,
            prio: io.prio,
        };
        self.prepare(draft, now);
    }

    #[cold]
    fn synced(&mut self, io: &InFlight, completion: Completion, now: u64) {
        let result = completion.result;
        if result >= 0 {
            self.recorder.sync.record(now - io.issued);
            if let Some(checker) = &mut self.checker {
                checker.sync_done(completion.slot);
            }
            return;
        }
        self.recorder.sync_failed += 1;
        let errno = -result as i32;
        self.recorder.event(
            now,
            EventKind::FirstError {
                direction: None,
                offset: 0,
                errno,
            },
        );
        self.fail(errno, format!("fsync of {} failed", self.path_of(io)));
    }

    fn path_of(&self, io: &InFlight) -> String {
        self.job
            .files
            .paths
            .get(io.file as usize)
            .map_or_else(String::new, |path| path.display().to_string())
    }

    /// A short or failed I/O: counted apart, told once, and fatal unless the plan says otherwise.
    #[cold]
    fn went_wrong(&mut self, io: &InFlight, completion: Completion, now: u64) {
        let result = completion.result;
        if let Some(checker) = self
            .checker
            .as_mut()
            .filter(|_| io.direction == Direction::Write)
        {
            checker.write_failed(completion.slot);
        }
        self.count_read(io);
        if result >= 0 {
            self.recorder.bad(io, Some(result as u64), now);
            self.fell_short(io, result as u32, now);
            return;
        }
        let errno = -result as i32;
        self.recorder.bad(io, None, now);
        self.live
            .failed
            .store(self.live.failed.load(Relaxed) + 1, Relaxed);
        if matches!(errno, ENOSPC | EDQUOT) && self.job.files.layout.fill_device {
            self.full = true;
            return;
        }
        if !self
            .recorder
            .has_event(|e| matches!(e, EventKind::FirstError { .. }))
        {
            let what = EventKind::FirstError {
                direction: Some(io.direction),
                offset: io.offset,
                errno,
            };
            self.recorder.event(now, what);
        }
        let policy = &self.job.errors;
        let (goes_on, ignored) = match io.direction {
            Direction::Read => (policy.continue_read, &policy.ignore[0]),
            _ => (policy.continue_write, &policy.ignore[1]),
        };
        if ignored.contains(&errno) {
            return;
        }
        if goes_on {
            self.errors_continued += 1;
            return;
        }
        let what = format!(
            "{} of {} bytes at offset {} of {} failed",
            io.direction.word(),
            io.len,
            io.offset,
            self.path_of(io)
        );
        self.fail(errno, what);
    }

    fn fell_short(&mut self, io: &InFlight, moved: u32, now: u64) {
        if !self
            .recorder
            .has_event(|e| matches!(e, EventKind::FirstShort { .. }))
        {
            let what = EventKind::FirstShort {
                direction: io.direction,
                offset: io.offset,
                asked: io.len,
                moved,
            };
            self.recorder.event(now, what);
        }
        let Some(path) = self.job.files.paths.get(io.file as usize) else {
            return;
        };
        let end = io.offset + u64::from(io.len);
        let size = self
            .host
            .size_now(path)
            .map_or(u64::MAX, fathom_model::Bytes::get);
        if io.direction == Direction::Read && size < end {
            let from = fathom_model::Bytes::new(end);
            let what = EventKind::TargetShrank {
                path: path.display().to_string(),
                from,
                to: fathom_model::Bytes::new(size),
            };
            self.recorder.event(now, what);
            let text = format!(
                "{} shrank to {size} bytes during the run: a read at {} found {moved} of {} bytes",
                path.display(),
                io.offset,
                io.len
            );
            self.fail(EIO, text);
        } else if moved == 0 {
            let what = format!(
                "{} at offset {} of {} moved nothing",
                io.direction.word(),
                io.offset,
                path.display()
            );
            self.fail(EIO, what);
        }
    }

    /// Stops the job with an error; the first one stays.
    #[cold]
    fn fail(&mut self, errno: i32, what: String) {
        if self.error.is_none() {
            self.error = Some(JobError {
                errno,
                what,
                at: self.clock.now(),
            });
        }
    }

    /// Waits for what is in flight.
    fn drain(&mut self) -> Result<(), EngineError> {
        finish::drain(self)
    }

    /// How long the next reap waits.
    #[inline]
    fn wait(&self, now: u64) -> Wait {
        let queue = &self.job.queue;
        let at_most = queue
            .batch_complete_max
            .max(queue.batch_complete_min)
            .max(1);
        let at_least = queue
            .batch_complete_min
            .clamp(1, self.in_flight.max(1))
            .min(at_most);
        if self.schedule.is_none() && self.pause.is_none() {
            return Wait {
                at_least,
                at_most,
                limit: Some(Nanos::new(LOOK_UP)),
            };
        }
        self.wait_for_due(now, at_least, at_most)
    }
}
