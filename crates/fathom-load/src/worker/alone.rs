//! The loop for one I/O at a time on a synchronous engine: nothing to queue, so nothing to keep books of but the I/O itself.

use fathom_model::Direction;

use super::{LOOK_UP, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op, Request, Wait};
use crate::host::Host;
use crate::recorder::InFlight;
use crate::script::{Draft, direction_of};

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether I/Os come one by one, each due when the last is over, with nothing else to do after one.
    pub(super) fn is_alone(&self) -> bool {
        self.synchronous && self.slots.len() == 1 && self.schedule.is_none() && !self.has_more_to_do && !self.gated && !self.recorder.traces()
    }

    /// [`Worker::drive`] for that case. The end of one I/O is the start of the next, so one clock reading serves both.
    pub(super) fn drive_alone(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        let mut done = 0;
        while !self.over(now) {
            let Some(draft) = self.draw() else { break };
            self.buffer_for(0, draft);
            let ready = if self.filler.is_some() { self.now() } else { now };
            now = self.one(draft, ready)?;
            done += 1;
        }
        self.levels.one_by_one(done);
        Ok(())
    }

    #[inline]
    fn one(&mut self, draft: Draft, ready: u64) -> Result<u64, EngineError> {
        let Draft { offset, len, file, op, .. } = draft;
        let direction = direction_of(op);
        let io = InFlight {
            planned: ready,
            ready,
            issued: ready,
            offset,
            len,
            file,
            direction: direction.unwrap_or(Direction::Write),
            sync: direction.is_none(),
            ..InFlight::NONE
        };
        if !io.sync {
            self.recorder.sent(&io);
        }
        let batch = [Request { slot: 0, file, op, len, offset, prio: 0 }];
        if let Some(direction) = direction {
            self.live.carry(direction, len);
        }
        while self.engine.submit(&batch)? == 0 {}
        self.live.put_down();
        let wait = Wait { at_least: 1, at_most: 1, limit: Some(fathom_model::Nanos::new(LOOK_UP)) };
        while self.done.is_empty() {
            self.engine.reap(wait, &mut self.done)?;
        }
        let now = self.now();
        let completion = self.done.pop().expect("was just reaped");
        let rolls = now >= self.recorder.next_roll();
        let in_full = if op == Op::Trim { completion.result >= 0 } else { completion.result == i64::from(len) };
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
