//! The loop of a replay: each I/O comes from a log, at the time in the log.

use fathom_model::{Nanos, Replay, ReplayTiming, TraceAction, TraceEntry};

use super::finish::COUNT_NOT_SENT;
use super::{MAX_WAIT, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op, Wait};
use crate::host::{Host, HostError};
use crate::io_generator::{PlannedIo, direction_of};
use crate::trace_read_ahead::TraceReadAhead;

/// A log that is being replayed.
pub(crate) struct ReplayLog {
    read_ahead: TraceReadAhead,
    timing: ReplayTiming,
    start: u64,
    /// When the last I/O was submitted.
    last: u64,
    over: bool,
    /// With dependencies: the slots of I/Os that have not completed, and when each had completed in the log.
    sent: Vec<(u32, u64)>,
}

/// The next I/O of a log.
#[derive(Clone, Copy)]
pub(crate) struct NextIo {
    io: PlannedIo,
    due: u64,
    /// Its times in the log, which say what it depends on.
    issued: u64,
    done: u64,
}

impl ReplayLog {
    pub fn new(read_ahead: TraceReadAhead, replay: &Replay, start: Nanos, depth: u32) -> Self {
        ReplayLog {
            read_ahead,
            timing: replay.reading.timing,
            start: start.get(),
            last: start.get(),
            over: false,
            sent: Vec::with_capacity(match replay.reading.timing {
                ReplayTiming::ByDependency => depth as usize,
                _ => 0,
            }),
        }
    }

    /// The next I/O; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<NextIo>, HostError> {
        if self.over {
            return Ok(None);
        }
        let entry = self.read_ahead.peek()?;
        self.over = entry.is_none();
        Ok(entry.map(|entry| NextIo {
            io: planned_io(&entry),
            due: self.due(entry.at.get()),
            issued: entry.at.get(),
            done: entry.done.get(),
        }))
    }

    /// Whether an I/O has not completed yet that had completed in the log when the next one was issued there.
    ///
    /// I/Os are sent in the order of the log, so that no other one can precede it.
    fn must_wait(&self, next: &NextIo) -> bool {
        self.sent.iter().any(|(_, done)| *done <= next.issued)
    }

    /// Takes the I/O that was seen.
    pub fn advance(&mut self) {
        self.read_ahead.advance();
    }

    fn due(&self, at: u64) -> u64 {
        match self.timing {
            ReplayTiming::AsFast | ReplayTiming::ByDependency => 0,
            ReplayTiming::OnTime | ReplayTiming::NotBefore => self.start.saturating_add(at),
            ReplayTiming::AfterLast => self.last.saturating_add(at),
        }
    }
}

fn planned_io(entry: &TraceEntry) -> PlannedIo {
    let op = match entry.action {
        TraceAction::Read => Op::Read,
        TraceAction::Write => Op::Write,
        TraceAction::Trim => Op::Trim,
        TraceAction::Sync => Op::Fsync,
        TraceAction::Datasync => Op::Fdatasync,
    };
    PlannedIo {
        offset: entry.offset,
        len: entry.len,
        file: entry.file,
        op,
        then_write: false,
        prio: 0,
    }
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// [`Worker::drive`] for a replay: until the log or the time ends. Leaves I/O in flight.
    pub(super) fn drive_replay(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        while !self.is_over(now) {
            let due = self.fill_batch_from_log(now);
            if !self.queue.batch().is_empty() {
                now = self.submit(now)?;
                self.set_last_submission(now);
                if self.queue.batch().is_empty() && self.queue.has_room() {
                    continue;
                }
            }
            if self.queue.in_flight() > 0 {
                now = self.reap_with(self.wait_for_log(now, due))?;
                continue;
            }
            let Some(due) = due else { return Ok(()) };
            self.recorder.idle(now);
            self.sleep_until(due, now);
            now = self.now();
        }
        Ok(())
    }

    /// Fills the batch with I/O of the trace that is due, as far as the queue has room. Returns when the next one is
    /// due; `None` at the end.
    fn fill_batch_from_log(&mut self, now: u64) -> Option<u64> {
        let room = self.queue.room();
        if let Some(log) = self.source.log() {
            log.sent.retain(|(slot, _)| self.queue.is_busy(*slot));
        }
        loop {
            let next = self.peek_log()?;
            let (planned_io, due) = (next.io, next.due);
            if due > now || self.queue.batch().len() >= room {
                self.pacing.set_due(due);
                return Some(due);
            }
            // Until a completion, however long that takes.
            if self.source.log().is_some_and(|log| log.must_wait(&next)) {
                return Some(u64::MAX);
            }
            if self.verification.separates_writes() && self.queue.overlaps(&planned_io) {
                return Some(due);
            }
            let planned = if self.pacing.is_open_loop() { due } else { now };
            self.verification.note_replayed(planned_io);
            let slot = self.push(planned_io, planned);
            if let Some(log) = self.source.log() {
                log.advance();
                if log.timing == ReplayTiming::ByDependency {
                    log.sent.push((slot, next.done));
                }
                // The gap after an I/O counts from its submission: the next one waits for that.
                if log.timing == ReplayTiming::AfterLast {
                    log.last = now;
                }
            }
        }
    }

    fn peek_log(&mut self) -> Option<NextIo> {
        match self.source.log()?.peek() {
            Ok(next) => next,
            Err(HostError { errno, what }) => {
                self.fail(errno, what);
                None
            }
        }
    }

    fn set_last_submission(&mut self, now: u64) {
        if let Some(log) = self.source.log() {
            log.last = now;
        }
    }

    /// A wait that ends in time for the next I/O of the log if the queue has room for it.
    fn wait_for_log(&self, now: u64, due: Option<u64>) -> Wait {
        let left = due
            .filter(|_| self.queue.has_room())
            .map_or(MAX_WAIT, |due| due.saturating_sub(now).min(MAX_WAIT));
        self.queue.wait_for(left)
    }

    /// Counts I/O of the log that was due when the load ended but had not been submitted.
    pub(super) fn count_log_not_sent(&mut self, end: u64) {
        if !self.pacing.is_open_loop() {
            return;
        }
        for _ in 0..COUNT_NOT_SENT {
            let Some(next) = self.peek_log().filter(|next| next.due < end) else {
                return;
            };
            if let Some(direction) = direction_of(next.io.op) {
                self.recorder.not_sent(next.due, direction);
            }
            if let Some(log) = self.source.log() {
                log.advance();
            }
        }
    }
}
