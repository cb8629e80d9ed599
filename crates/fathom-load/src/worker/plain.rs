//! The loop for a queue of I/Os in a closed loop that are only moved and counted: whole batches at
//! once.

use super::Worker;
use crate::clock::Clock;
use crate::engine::{Engine, EngineError};
use crate::host::Host;
use crate::recorder::InFlight;
use crate::script::direction_of;

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether each I/O is due when it has room, and nothing but counting follows it.
    pub(super) fn is_plain(&self) -> bool {
        !self.synchronous
            && self.schedule.is_none()
            && !self.load_has_more
            && !self.gated
            && !self.recorder.logs_each_io()
    }

    /// [`Worker::drive`] for that case.
    pub(super) fn drive_plain(&mut self) -> Result<(), EngineError> {
        let mut now = self.now();
        while !self.over(now) {
            now = self.fill_with_batches(now)?;
            if self.in_flight == 0 {
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
            let (room, left) = (self.room(), self.batch.len());
            let ready = self.take_batch(room, now);
            if self.batch.is_empty() {
                return Ok(ready);
            }
            if left > 0 || self.fills {
                self.ready_anew(ready);
            }
            now = self.hand_over_batch(ready)?;
            if !self.batch.is_empty() || self.in_flight == self.slots.len() as u32 {
                return Ok(now);
            }
        }
    }

    /// Fills the batch up to `room`. Returns when its I/Os were ready.
    #[inline]
    fn take_batch(&mut self, room: usize, now: u64) -> u64 {
        let mut ready = now;
        while self.batch.len() < room && (self.next_draft < self.drafts.len() || self.refill()) {
            let count = (room - self.batch.len()).min(self.drafts.len() - self.next_draft);
            if self.fills {
                self.fill_buffers(count);
                ready = self.now();
            }
            self.prepare_batch(count, ready);
        }
        ready
    }

    /// Puts the next `count` drafts into slots and the batch.
    #[inline]
    fn prepare_batch(&mut self, count: usize, ready: u64) {
        let drafts = &self.drafts[self.next_draft..self.next_draft + count];
        let left = self.free.len() - count;
        let slots = &mut self.slots[..];
        self.batch
            .extend(self.free[left..].iter().zip(drafts).map(|(slot, draft)| {
                slots[*slot as usize] = InFlight::new(draft, ready, ready);
                draft.request(*slot)
            }));
        self.free.truncate(left);
        self.next_draft += count;
    }

    /// Makes the buffers of the next `count` drafts ready, in the slots that they will get.
    fn fill_buffers(&mut self, count: usize) {
        let left = self.free.len() - count;
        for n in 0..count {
            self.buffer_for(self.free[left + n], self.drafts[self.next_draft + n]);
        }
    }

    /// [`Worker::hand_over`]: returns the time after.
    #[inline]
    fn hand_over_batch(&mut self, ready: u64) -> Result<u64, EngineError> {
        let taken = self.engine.submit(&self.batch)?;
        let issued = self.now();
        let share = (issued - ready) / (taken as u64).max(1);
        let mut handed = ready;
        let mut rest = &self.batch[..taken];
        while let Some(first) = rest.first() {
            let (mut ios, mut bytes) = (0, 0);
            for request in rest.iter().take_while(|request| request.op == first.op) {
                handed += share;
                self.slots[request.slot as usize].issued = handed;
                bytes += u64::from(request.len);
                ios += 1;
            }
            if let Some(direction) = direction_of(first.op) {
                self.recorder.sent_batch(ready, direction, ios, bytes);
            }
            rest = &rest[ios as usize..];
        }
        self.in_flight += taken as u32;
        self.levels.handed_over(taken as u32, self.in_flight);
        if taken == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..taken);
        }
        Ok(issued)
    }

    /// The batch holds I/Os whose buffers were filled one after the other, or that the kernel did
    /// not take the last time.
    fn ready_anew(&mut self, ready: u64) {
        for request in &self.batch {
            let io = &mut self.slots[request.slot as usize];
            (io.planned, io.ready, io.issued) = (ready, ready, ready);
        }
    }

    /// [`Worker::reap`].
    #[inline]
    fn reap_batch(&mut self, now: u64) -> Result<u64, EngineError> {
        let wait = self.wait(now);
        self.engine.reap(wait, &mut self.done)?;
        let now = self.now();
        self.levels.reaped(self.done.len() as u32);
        let rolls = now >= self.recorder.next_roll();
        if self.done.is_empty() {
            self.recorder.idle(now);
        }
        let mut at = 0;
        while at < self.done.len() {
            let good = self.recorder.ok_batch(&self.slots, &self.done[at..], now);
            self.free.extend(
                self.done[at..at + good]
                    .iter()
                    .map(|completion| completion.slot),
            );
            self.in_flight -= good as u32;
            at += good;
            if let Some(completion) = self.done.get(at).copied().filter(|_| good == 0) {
                self.complete(completion, now);
                at += 1;
            }
        }
        self.done.clear();
        Ok(if rolls { self.now() } else { now })
    }
}
