//! What holds I/O back besides the queue: pauses, and the other jobs of a flow.

use super::Worker;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::flow::Member;
use crate::host::Host;
use crate::recorder::InFlight;

/// The gates of one job; a job without any has none of this in its loop.
#[derive(Debug)]
pub(super) struct Gate {
    pub flow: Option<Member>,
}

impl Gate {
    /// The gates of a job; `None` when nothing is held back.
    pub fn new(flow: Option<Member>) -> Option<Box<Gate>> {
        flow.is_some().then(|| Box::new(Gate { flow }))
    }
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Takes what touches nothing in flight (`serialize_overlap`).
    fn take_apart(&mut self, room: usize, now: u64) {
        while self.batch.len() < room && !self.next_overlaps() {
            let before = self.batch.len();
            self.take_up_to(before + 1, now);
            if self.batch.len() == before {
                return;
            }
        }
    }

    /// Whether the next I/O touches bytes of one that is in flight or about to be.
    fn next_overlaps(&mut self) -> bool {
        if self.next_draft == self.drafts.len() && !self.refill() {
            return false;
        }
        let next = self.drafts[self.next_draft];
        let (start, end) = (next.offset, next.offset + u64::from(next.len));
        let touches = |io: &InFlight| io.file == next.file && !io.sync && io.offset < end && start < io.offset + u64::from(io.len);
        (0..self.slots.len() as u32).any(|slot| touches(&self.slots[slot as usize]) && !self.free.contains(&slot))
    }

    /// [`Worker::take`] for a job that something holds back.
    #[cold]
    pub(super) fn take_gated(&mut self, room: usize, now: u64) {
        if self.pause.is_some() && self.paused(now) {
            return;
        }
        let waiting = self.batch.len();
        let room = self.let_in(room.saturating_sub(waiting), now) + waiting;
        if self.job.pace.serialize_overlap { self.take_apart(room, now) } else { self.take_up_to(room, now) }
        let unused = room.saturating_sub(self.batch.len());
        if let Some(flow) = self.gate.as_mut().and_then(|gate| gate.flow.as_mut()) {
            flow.give_back(unused);
        }
    }

    /// How many of `wanted` may go now.
    fn let_in(&mut self, wanted: usize, now: u64) -> usize {
        match &mut self.gate {
            Some(gate) => gate.flow.as_mut().map_or(wanted, |flow| flow.claim(wanted, now)),
            None => wanted,
        }
    }

    /// When something may go again that would be due at `due`; lets others work while that is now.
    pub(super) fn let_in_at(&self, due: u64, now: u64) -> u64 {
        let Some(flow) = self.gate.as_ref().and_then(|gate| gate.flow.as_ref()) else { return due };
        if flow.until() <= now {
            std::thread::yield_now();
        }
        due.max(flow.until())
    }
}
