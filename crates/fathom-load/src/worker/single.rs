//! The loop for one I/O at a time on a synchronous engine: nothing is queued, so only the I/O
//! itself is accounted for.

use fathom_model::Nanos;

use super::{MAX_WAIT, POLL, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, EngineError, Op, Wait};
use crate::host::Host;
use crate::io_generator::PlannedIo;
use crate::recorder::InFlight;

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether I/Os come one by one with nothing else to do after each.
    pub(super) fn is_single(&self) -> bool {
        // A stamped write that is not submitted because the job ends would leave a gap in the
        // numbers. In an open loop that can happen here.
        let numbers_hold = !self.verification.is_enabled() || !self.pacing.is_open_loop();
        self.features.synchronous
            && self.queue.depth() == 1
            && !self.features.load_has_follow_up
            && !self.pacing.holds_back()
            && !self.recorder.traces()
            && numbers_hold
    }

    /// [`Worker::drive`] for that case. The end of one I/O is the start of the next, or of the wait
    /// for it, so one clock reading serves both.
    pub(super) fn drive_single(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        let mut done = 0;
        while !self.is_over(now) {
            let Some(planned_io) = self.draw() else { break };
            self.prepare_buffer(0, planned_io);
            if self.features.fills_buffers {
                now = self.now();
            }
            let mut planned = now;
            if let Some(due) = self
                .pacing
                .due()
                .filter(|_| planned_io.direction().is_some())
            {
                now = self.wait_until(due, now);
                if now < due {
                    // The job ended first.
                    self.source.put_back();
                    break;
                }
                planned = due;
                self.pacing.advance(planned_io.len);
            }
            now = self.submit_and_reap(planned_io, planned, now)?;
            done += 1;
        }
        self.queue.count_singles(done);
        Ok(())
    }

    /// Waits until `due` or until the job is over, and returns the time then.
    #[inline]
    fn wait_until(&mut self, due: u64, now: u64) -> u64 {
        let mut now = now;
        while now < due && !self.is_over(now) {
            if due - now > POLL || C::IS_VIRTUAL {
                self.recorder.idle(now);
                self.sleep_until(due, now);
            }
            now = self.now();
        }
        now
    }

    #[inline]
    fn submit_and_reap(
        &mut self,
        planned_io: PlannedIo,
        planned: u64,
        ready: u64,
    ) -> Result<u64, EngineError> {
        let io = InFlight::new(&planned_io, planned, ready);
        if !io.sync {
            self.recorder.sent(&io);
            self.live.sync_io_started(io.direction, io.len);
        }
        let batch = [planned_io.request(0)];
        while self.engine.submit(&batch)? == 0 {}
        self.live.sync_io_ended();
        let wait = Wait {
            at_least: 1,
            at_most: 1,
            limit: Some(Nanos::new(MAX_WAIT)),
        };
        while self.queue.reaped().is_empty() {
            self.queue.reap_uncounted(&mut self.engine, wait)?;
            if self.queue.reaped().is_empty() {
                self.recorder.idle(self.now());
            }
        }
        let now = self.now();
        let completion = self.queue.pop_reaped().expect("was just reaped");
        let rolls = now >= self.recorder.next_roll();
        let in_full = if planned_io.op == Op::Trim {
            completion.result >= 0
        } else {
            completion.result == i64::from(planned_io.len)
        };
        if in_full && !io.sync {
            self.recorder.ok(&io, now);
        } else {
            self.queue.adopt_single(io);
            self.complete(completion, now);
        }
        Ok(if rolls { self.now() } else { now })
    }
}
