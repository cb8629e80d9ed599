//! What holds I/O back besides the queue: pauses, the other jobs of a flow, a latency that must be
//! kept; and what ends a job that is too slow.

use fathom_model::{Job, Nanos, Traffic};

use super::min_rate::Floor;
use super::search::{Next, Search};
use super::{Levels, Worker};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::errno::{EIO, ETIMEDOUT};
use crate::flow::Member;
use crate::host::Host;
use crate::recorder::InFlight;
use crate::script::Draft;

/// The gates of one job; a job without any has none of this in its loop.
#[derive(Debug)]
pub(super) struct Gate {
    pub flow: Option<Member>,
    search: Option<Search>,
    floor: Option<Floor>,
}

impl Gate {
    /// The gates of a job; `None` when nothing is held back.
    pub fn new(
        job: &Job,
        depth: u32,
        measured_from: Nanos,
        flow: Option<Member>,
    ) -> Option<Box<Gate>> {
        let search = job
            .pace
            .latency
            .map(|target| Search::new(target, depth, measured_from.get()));
        let floor = Floor::new(job, measured_from);
        let any = flow.is_some() || search.is_some() || floor.is_some();
        any.then(|| {
            Box::new(Gate {
                flow,
                search,
                floor,
            })
        })
    }

    /// The depth that was found, where one was searched.
    pub fn depth(&self) -> Option<u32> {
        self.search.as_ref().map(Search::depth)
    }

    /// Whether it must hear of every I/O that is over.
    pub fn listens(&self) -> bool {
        self.search.is_some()
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
        self.overlaps(&self.drafts[self.next_draft])
    }

    /// Whether an I/O touches bytes of one that is in flight or about to be.
    pub(super) fn overlaps(&self, next: &Draft) -> bool {
        let (start, end) = (next.offset, next.offset + u64::from(next.len));
        let touches = |io: &InFlight| {
            io.file == next.file
                && !io.sync
                && io.offset < end
                && start < io.offset + u64::from(io.len)
        };
        (0..self.slots.len() as u32)
            .any(|slot| touches(&self.slots[slot as usize]) && !self.free.contains(&slot))
    }

    /// [`Worker::take`] for a job that something holds back.
    #[cold]
    pub(super) fn take_gated(&mut self, room: usize, now: u64) {
        self.look_at_gates(now);
        if self.pause.is_some() && self.paused(now) {
            return;
        }
        let waiting = self.batch.len();
        let room = self.let_in(room.saturating_sub(waiting), now) + waiting;
        if self.job.pace.serialize_overlap || self.keeps_apart {
            self.take_apart(room, now)
        } else {
            self.take_up_to(room, now)
        }
        let unused = room.saturating_sub(self.batch.len());
        if let Some(flow) = self.gate.as_mut().and_then(|gate| gate.flow.as_mut()) {
            flow.unclaim(unused);
        }
    }

    /// How many of `wanted` may go now.
    fn let_in(&mut self, wanted: usize, now: u64) -> usize {
        let (waiting, busy) = (self.batch.len(), self.in_flight + self.batch.len() as u32);
        let wanted = self
            .pause
            .as_ref()
            .map_or(wanted, |pause| pause.room(waiting, busy).min(wanted));
        let Some(gate) = &mut self.gate else {
            return wanted;
        };
        let wanted = gate
            .search
            .as_ref()
            .map_or(wanted, |search| search.room(busy).min(wanted));
        gate.flow
            .as_mut()
            .map_or(wanted, |flow| flow.claim(wanted, now))
    }

    /// When something may go again that would be due at `due`; lets others work while that is now.
    pub(super) fn let_in_at(&self, due: u64, now: u64) -> u64 {
        let Some(flow) = self.gate.as_ref().and_then(|gate| gate.flow.as_ref()) else {
            return due;
        };
        if flow.until() <= now {
            std::thread::yield_now();
        }
        due.max(flow.until())
    }

    fn look_at_gates(&mut self, now: u64) {
        let Some(gate) = &mut self.gate else { return };
        let in_flight = self.in_flight + self.batch.len() as u32;
        let next = gate
            .search
            .as_mut()
            .filter(|_| now >= self.measured_from)
            .map(|search| search.look(in_flight, now));
        let slow = gate
            .floor
            .as_mut()
            .filter(|floor| floor.is_due(now))
            .and_then(|floor| floor.look(self.recorder.done(), now));
        match next {
            Some(Next::StartOver) => self.start_over(now),
            Some(Next::Done) => self.full = true,
            Some(Next::GoOn) | None => {}
        }
        if let Some(what) = slow {
            self.fail(EIO, what);
        }
    }

    /// Measures from here on: what was before was the search for a depth.
    fn start_over(&mut self, now: u64) {
        self.measured_from = now;
        self.recorder.start_over(now);
        self.levels = Levels::default();
        if let Some(priorities) = &mut self.priorities {
            priorities.clear();
        }
    }

    /// An I/O is over that a search for a depth must hear of.
    pub(super) fn searched(&mut self, io: &InFlight, now: u64) {
        let Some(search) = self.gate.as_mut().and_then(|gate| gate.search.as_mut()) else {
            return;
        };
        let chained = self.job.pattern.traffic == Traffic::TrimWrite && io.then_write;
        let latency = now.saturating_sub(io.ready);
        if io.planned < self.measured_from || chained || search.completed(latency) {
            return;
        }
        let limit = self.job.pace.latency.map_or(0, |target| target.limit.get());
        let what = format!(
            "latency_target={limit} ns cannot be kept: with one in flight, a {} at {} took {latency} ns",
            io.direction.word(),
            io.offset
        );
        self.fail(ETIMEDOUT, what);
    }
}
