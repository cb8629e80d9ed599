//! The loop for a queue of I/Os in a closed loop that are only moved and counted: whole batches at
//! once.

use super::Worker;
use crate::clock::Clock;
use crate::engine::{Engine, EngineError};
use crate::host::Host;

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether each I/O is due when there is room for it, and is only counted afterwards.
    pub(super) fn is_batched(&self) -> bool {
        !self.features.synchronous
            && !self.pacing.is_open_loop()
            && !self.features.load_has_follow_up
            && !self.pacing.holds_back()
            && !self.recorder.logs_each_io()
            && !self.recorder.has_commits()
    }

    /// [`Worker::drive`] for that case.
    pub(super) fn drive_batched(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        while !self.is_over(now) {
            now = self.fill_with_batches(now)?;
            if self.queue.in_flight() == 0 {
                return Ok(());
            }
            now = self.reap_batch(now)?;
        }
        Ok(())
    }

    /// [`Worker::fill_queue`].
    #[inline]
    fn fill_with_batches(&mut self, now: u64) -> Result<u64, EngineError> {
        let mut now = now;
        loop {
            let (room, left) = (self.queue.room(), self.queue.batch().len());
            let ready = self.add_batch(room, now);
            if self.queue.batch().is_empty() {
                return Ok(ready);
            }
            if left > 0 || self.features.fills_buffers {
                self.queue.reset_ready(ready);
            }
            now = self.submit_batch(ready)?;
            if !self.queue.batch().is_empty() || !self.queue.has_room() {
                return Ok(now);
            }
        }
    }

    /// Fills the batch up to `room`. Returns when its I/Os were ready.
    #[inline]
    fn add_batch(&mut self, room: usize, now: u64) -> u64 {
        let mut ready = now;
        while self.queue.batch().len() < room && (!self.source.is_empty() || self.refill()) {
            let free = room - self.queue.batch().len();
            let count = free.min(self.source.ahead().len());
            if self.features.fills_buffers {
                self.fill_buffers(count);
                ready = self.now();
            }
            self.queue.push_all(&self.source.ahead()[..count], ready);
            self.source.skip(count);
        }
        ready
    }

    /// Makes the buffers of the next `count` I/Os ready, in the slots that they will get.
    fn fill_buffers(&mut self, count: usize) {
        for n in 0..count {
            self.prepare_buffer(self.queue.next_slots(count)[n], self.source.ahead()[n]);
        }
    }

    /// [`Worker::submit`]: returns the time after.
    #[inline]
    fn submit_batch(&mut self, ready: u64) -> Result<u64, EngineError> {
        let accepted = self.engine.submit(self.queue.batch())?;
        let issued = self.now();
        let recorder = &mut self.recorder;
        self.queue
            .submitted_runs(accepted, (ready, issued), |direction, ios, bytes| {
                recorder.sent_batch(ready, direction, ios, bytes);
            });
        Ok(issued)
    }

    /// [`Worker::reap`].
    #[inline]
    fn reap_batch(&mut self, now: u64) -> Result<u64, EngineError> {
        let wait = self.pacing.wait(&self.queue, now);
        self.queue.reap(&mut self.engine, wait)?;
        let now = self.now();
        let rolls = now >= self.recorder.next_roll();
        if self.queue.reaped().is_empty() {
            self.recorder.idle(now);
        }
        let mut at = 0;
        while at < self.queue.reaped().len() {
            let (slots, reaped) = (self.queue.slots(), self.queue.reaped());
            let good = self.recorder.ok_batch(slots, &reaped[at..], now);
            self.queue.complete_all(at, good);
            at += good;
            if let Some(completion) = self.queue.reaped().get(at).copied().filter(|_| good == 0) {
                self.complete(completion, now);
                at += 1;
            }
        }
        self.queue.clear_reaped();
        Ok(if rolls { self.now() } else { now })
    }
}
