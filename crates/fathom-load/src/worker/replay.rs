//! The loop of a replay: I/O comes from a log, each at the time the log says.

use fathom_model::{Nanos, Replay, ReplayTiming, TraceAction, TraceEntry};

use super::finish::COUNT_NOT_SENT;
use super::{LOOK_UP, POLL, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op, Wait};
use crate::host::{Host, HostError};
use crate::script::{Draft, direction_of};
use crate::tracelog::Feed;

/// A log that is being replayed.
pub(crate) struct Log {
    feed: Feed,
    timing: ReplayTiming,
    start: u64,
    /// When the last I/O was handed over.
    last: u64,
    over: bool,
}

impl Log {
    pub fn new(feed: Feed, replay: &Replay, start: Nanos) -> Self {
        Log {
            feed,
            timing: replay.reading.timing,
            start: start.get(),
            last: start.get(),
            over: false,
        }
    }

    /// The next I/O and when it is due; `None` at the end.
    fn peek(&mut self) -> Result<Option<(Draft, u64)>, HostError> {
        if self.over {
            return Ok(None);
        }
        let entry = self.feed.peek()?;
        self.over = entry.is_none();
        Ok(entry.map(|entry| (draft(&entry), self.due(entry.at.get()))))
    }

    fn due(&self, at: u64) -> u64 {
        match self.timing {
            ReplayTiming::AsFast => 0,
            ReplayTiming::OnTime | ReplayTiming::NotBefore => self.start.saturating_add(at),
            ReplayTiming::AfterLast => self.last.saturating_add(at),
        }
    }
}

fn draft(entry: &TraceEntry) -> Draft {
    let op = match entry.action {
        TraceAction::Read => Op::Read,
        TraceAction::Write => Op::Write,
        TraceAction::Trim => Op::Trim,
        TraceAction::Sync => Op::Fsync,
        TraceAction::Datasync => Op::Fdatasync,
    };
    Draft {
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
    pub(super) fn drive_log(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        while !self.over(now) {
            let due = self.take_from_log(now);
            if !self.batch.is_empty() {
                now = self.hand_over(now)?;
                self.handed_over_at(now);
                if self.batch.is_empty() && self.in_flight < self.slots.len() as u32 {
                    continue;
                }
            }
            if self.in_flight > 0 {
                now = self.reap_with(self.wait_for_log(now, due))?;
                continue;
            }
            let Some(due) = due else { return Ok(()) };
            self.recorder.idle(now);
            self.clock
                .sleep_until(Nanos::new(due.min(self.deadline).min(now + LOOK_UP)));
            now = self.now();
        }
        Ok(())
    }

    /// Fills the batch with I/O of the log that is due and has room. Returns when the next one is due; `None` at the end.
    fn take_from_log(&mut self, now: u64) -> Option<u64> {
        let room = self.room();
        loop {
            let (draft, due) = self.peek_log()?;
            if due > now || self.batch.len() >= room {
                if let Some(schedule) = &mut self.schedule {
                    schedule.set(due);
                }
                return Some(due);
            }
            if self.keeps_apart && self.overlaps(&draft) {
                return Some(due);
            }
            let planned = if self.schedule.is_some() { due } else { now };
            if let Some(checker) = &mut self.checker {
                checker.hears(draft);
            }
            self.prepare(draft, planned);
            if let Some(log) = &mut self.log {
                log.feed.advance();
                // The gap after an I/O counts from when it is handed over: the next one waits for that.
                if log.timing == ReplayTiming::AfterLast {
                    log.last = now;
                }
            }
        }
    }

    fn peek_log(&mut self) -> Option<(Draft, u64)> {
        match self.log.as_mut()?.peek() {
            Ok(next) => next,
            Err(HostError { errno, what }) => {
                self.fail(errno, what);
                None
            }
        }
    }

    fn handed_over_at(&mut self, now: u64) {
        if let Some(log) = &mut self.log {
            log.last = now;
        }
    }

    /// A wait that ends in time for the next I/O of the log, as far as the queue has room for it.
    fn wait_for_log(&self, now: u64, due: Option<u64>) -> Wait {
        let queue = &self.job.queue;
        let at_most = queue
            .batch_complete_max
            .max(queue.batch_complete_min)
            .max(1);
        let at_least = queue
            .batch_complete_min
            .clamp(1, self.in_flight.max(1))
            .min(at_most);
        let has_room = self.in_flight < self.slots.len() as u32;
        let until = due
            .filter(|_| has_room)
            .map_or(LOOK_UP, |due| due.saturating_sub(now).min(LOOK_UP));
        match until.checked_sub(POLL).filter(|rest| *rest > 0) {
            Some(limit) => Wait {
                at_least,
                at_most,
                limit: Some(Nanos::new(limit)),
            },
            None => Wait {
                at_least: 0,
                at_most,
                limit: None,
            },
        }
    }

    /// I/O of the log that was due when the load ended but had not been handed over.
    pub(super) fn count_log_not_sent(&mut self, end: u64) {
        if self.schedule.is_none() {
            return;
        }
        for _ in 0..COUNT_NOT_SENT {
            let Some((draft, due)) = self.peek_log().filter(|(_, due)| *due < end) else {
                return;
            };
            if let Some(direction) = direction_of(draft.op) {
                self.recorder.not_sent(due, direction);
            }
            if let Some(log) = &mut self.log {
                log.feed.advance();
            }
        }
    }
}
