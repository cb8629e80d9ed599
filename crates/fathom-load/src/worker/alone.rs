//! The loop for one I/O at a time on a synchronous engine: nothing to queue, so nothing to keep
//! books of but the I/O itself.

use fathom_model::Nanos;

use super::{LOOK_UP, POLL, Worker};
use crate::arrivals::Schedule;
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op, Wait};
use crate::host::Host;
use crate::recorder::InFlight;
use crate::script::Draft;

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether I/Os come one by one with nothing else to do after one.
    pub(super) fn is_alone(&self) -> bool {
        // A stamped write that the end overtakes would leave a gap in the numbers: with a schedule
        // the other loop stamps.
        let counts = self.checker.is_none() || self.schedule.is_none();
        self.synchronous
            && self.slots.len() == 1
            && !self.load_has_more
            && !self.gated
            && !self.recorder.traces()
            && counts
    }

    /// [`Worker::drive`] for that case. The end of one I/O is the start of the next, or of the wait
    /// for it, so one clock reading serves both.
    pub(super) fn drive_alone(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        let mut done = 0;
        while !self.over(now) {
            let Some(draft) = self.draw() else { break };
            self.buffer_for(0, draft);
            if self.fills {
                now = self.now();
            }
            let mut planned = now;
            if let Some(due) = self.schedule.as_ref().map(Schedule::due) {
                now = self.wait_until(due, now);
                if now < due {
                    // The end came first.
                    self.next_draft -= 1;
                    break;
                }
                planned = due;
                if let Some(schedule) = &mut self.schedule {
                    schedule.advance(draft.len);
                }
            }
            now = self.one(draft, planned, now)?;
            done += 1;
        }
        self.levels.one_by_one(done);
        Ok(())
    }

    /// Waits until `due` or until the job is over, and returns the time then.
    #[inline]
    fn wait_until(&mut self, due: u64, now: u64) -> u64 {
        let mut now = now;
        while now < due && !self.over(now) {
            if due - now > POLL {
                self.recorder.idle(now);
                self.clock
                    .sleep_until(Nanos::new(due.min(self.deadline).min(now + LOOK_UP)));
            }
            now = self.now();
        }
        now
    }

    #[inline]
    fn one(&mut self, draft: Draft, planned: u64, ready: u64) -> Result<u64, EngineError> {
        let io = InFlight::new(&draft, planned, ready);
        if !io.sync {
            self.recorder.sent(&io);
        }
        let batch = [draft.request(0)];
        if let Some(direction) = draft.direction() {
            self.live.sync_io_started(direction, draft.len);
        }
        while self.engine.submit(&batch)? == 0 {}
        self.live.sync_io_ended();
        let wait = Wait {
            at_least: 1,
            at_most: 1,
            limit: Some(Nanos::new(LOOK_UP)),
        };
        while self.done.is_empty() {
            self.engine.reap(wait, &mut self.done)?;
            if self.done.is_empty() {
                self.recorder.idle(self.now());
            }
        }
        let now = self.now();
        let completion = self.done.pop().expect("was just reaped");
        let rolls = now >= self.recorder.next_roll();
        let in_full = if draft.op == Op::Trim {
            completion.result >= 0
        } else {
            completion.result == i64::from(draft.len)
        };
        if in_full && !io.sync {
            self.recorder.ok(&io, now);
        } else {
            self.free.clear();
            self.in_flight = 1;
            self.slots[0] = io;
            self.complete(completion, now);
        }
        Ok(if rolls { self.now() } else { now })
    }
}
