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
}

impl ReplayLog {
    pub fn new(read_ahead: TraceReadAhead, replay: &Replay, start: Nanos) -> Self {
        ReplayLog {
            read_ahead,
            timing: replay.reading.timing,
            start: start.get(),
            last: start.get(),
            over: false,
        }
    }

    /// The next I/O and when it is due; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<(PlannedIo, u64)>, HostError> {
        if self.over {
            return Ok(None);
        }
        let entry = self.read_ahead.peek()?;
        self.over = entry.is_none();
        Ok(entry.map(|entry| (planned_io(&entry), self.due(entry.at.get()))))
    }

    /// Takes the I/O that was seen.
    pub fn advance(&mut self) {
        self.read_ahead.advance();
    }

    fn due(&self, at: u64) -> u64 {
        match self.timing {
            ReplayTiming::AsFast => 0,
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
        loop {
            let (planned_io, due) = self.peek_log()?;
            if due > now || self.queue.batch().len() >= room {
                self.pacing.set_due(due);
                return Some(due);
            }
            if self.verification.separates_writes() && self.queue.overlaps(&planned_io) {
                return Some(due);
            }
            let planned = if self.pacing.is_open_loop() { due } else { now };
            self.verification.note_replayed(planned_io);
            self.push(planned_io, planned);
            if let Some(log) = self.source.log() {
                log.advance();
                // The gap after an I/O counts from its submission: the next one waits for that.
                if log.timing == ReplayTiming::AfterLast {
                    log.last = now;
                }
            }
        }
    }

    fn peek_log(&mut self) -> Option<(PlannedIo, u64)> {
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
            let Some((planned_io, due)) = self.peek_log().filter(|(_, due)| *due < end) else {
                return;
            };
            if let Some(direction) = direction_of(planned_io.op) {
                self.recorder.not_sent(due, direction);
            }
            if let Some(log) = self.source.log() {
                log.advance();
            }
        }
    }
}
