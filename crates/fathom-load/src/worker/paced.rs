//! The general loop where pacing holds I/O back: the batch gets what may start, and the limits of
//! the job are checked.

use fathom_model::{Direction, Nanos, Traffic};

use super::Worker;
use super::depth_search::Step;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::errno::{EIO, ETIMEDOUT};
use crate::host::Host;
use crate::live::Stop;
use crate::recorder::InFlight;

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// [`Worker::add_due`] for a job whose I/O is held back.
    #[cold]
    pub(super) fn fill_batch_paced(&mut self, room: usize, now: u64) {
        self.judge_limits(now);
        if self.is_paused(now) {
            return;
        }
        let (waiting, busy) = (self.queue.batch().len(), self.queue.busy());
        let wanted = room.saturating_sub(waiting);
        let room = waiting + self.pacing.admit(wanted, waiting, busy, now);
        if self.pacing.separates_overlaps() {
            self.add_non_overlapping(room, now);
        } else {
            self.add_allowed(room, now);
        }
        let unused = room.saturating_sub(self.queue.batch().len());
        self.pacing.give_back(unused);
    }

    /// Adds I/O that touches nothing in flight.
    fn add_non_overlapping(&mut self, room: usize, now: u64) {
        while self.queue.batch().len() < room {
            if self.pacing.chooses_direction() && !self.choose_direction(now) {
                return self.add_syncs(room, now);
            }
            if self.next_overlaps() {
                return;
            }
            let before = self.queue.batch().len();
            self.add_allowed(before + 1, now);
            if self.queue.batch().len() == before {
                return;
            }
        }
    }

    /// Adds I/O that is due, whatever is in flight.
    fn add_allowed(&mut self, room: usize, now: u64) {
        if self.pacing.chooses_direction() {
            self.add_due_of_mix(room, now);
        } else {
            self.add_due(room, now);
        }
    }

    /// [`Worker::add_due`] for a mix whose directions have due times of their own.
    fn add_due_of_mix(&mut self, room: usize, now: u64) {
        self.add_syncs(room, now);
        while self.queue.batch().len() < room {
            let fixed = self.next_direction();
            let Some((direction, planned)) = self.pacing.choose_direction(fixed, now) else {
                return;
            };
            if fixed.is_none() {
                self.source.steer(direction);
            }
            let Some(planned_io) = self.draw() else {
                return;
            };
            self.pacing.advance_direction(direction, planned_io.len);
            self.push(planned_io, planned);
            self.add_syncs(room, now);
        }
    }

    /// The direction of the next I/O if it has been drawn already.
    fn next_direction(&self) -> Option<Direction> {
        self.source
            .ahead()
            .first()
            .and_then(|planned_io| planned_io.direction())
    }

    /// Makes sure that the next I/O of a mix, if it has not been drawn yet, is of a direction that
    /// is due. False when none is.
    fn choose_direction(&mut self, now: u64) -> bool {
        if !self.source.is_empty() {
            return self
                .next_direction()
                .is_none_or(|fixed| self.pacing.choose_direction(Some(fixed), now).is_some());
        }
        let Some((direction, _)) = self.pacing.choose_direction(None, now) else {
            return false;
        };
        self.source.steer(direction);
        true
    }

    /// Whether the next I/O touches bytes of one that is in flight or in the batch.
    fn next_overlaps(&mut self) -> bool {
        if self.is_exhausted() {
            return false;
        }
        self.queue.overlaps(&self.source.ahead()[0])
    }

    /// Whether nothing is submitted now because of a pause, which includes waiting for the I/Os
    /// before it. The busy part of a pause is spent here.
    fn is_paused(&mut self, now: u64) -> bool {
        let Some(busy_until) = self.pacing.pause(self.queue.busy(), now) else {
            return false;
        };
        let busy_until = busy_until.min(self.times.deadline);
        while self.now() < busy_until && self.live.stopping() == Stop::No {
            if C::IS_VIRTUAL {
                self.clock.sleep_until(Nanos::new(busy_until));
            }
            std::hint::spin_loop();
        }
        true
    }

    /// When the next I/O may start; `None` when there is none.
    pub(super) fn next_due(&mut self, now: u64) -> Option<u64> {
        if let Some(end) = self.pacing.pause_end(now) {
            return Some(end);
        }
        if let Some(direction) = self.pacing.first_direction() {
            self.source.steer(direction);
        }
        if self.is_exhausted() {
            return None;
        }
        Some(self.pacing.next_start(now))
    }

    /// Judges the depth that is tried and the rates that must be reached.
    fn judge_limits(&mut self, now: u64) {
        let step = if now >= self.times.measured_from {
            self.pacing.judge_depth(self.queue.busy(), now)
        } else {
            None
        };
        let recorder = &self.recorder;
        let too_slow = self.pacing.judge_rate(|| recorder.done(), now);
        match step {
            Some(Step::Restart) => self.restart_measurement(now),
            Some(Step::Done) => self.outcome.complete = true,
            Some(Step::Continue) | None => {}
        }
        if let Some(message) = too_slow {
            self.fail(EIO, message);
        }
    }

    /// Measures from here on: what was before was a warm-up or the search for a depth.
    pub(super) fn restart_measurement(&mut self, now: u64) {
        self.times.measured_from = now;
        self.recorder.start_over(now);
        self.queue.clear_levels();
        if let Some(priorities) = &mut self.priorities {
            priorities.clear();
        }
    }

    /// Passes the latency of an I/O to the search for a depth.
    pub(super) fn judge_latency(&mut self, io: &InFlight, now: u64) {
        let chained = self.job.pattern.traffic == Traffic::TrimWrite && io.then_write;
        if io.planned < self.times.measured_from || chained {
            return;
        }
        let latency = now.saturating_sub(io.ready);
        if self.pacing.keeps_latency(latency) {
            return;
        }
        let limit = self.job.pace.latency.map_or(0, |target| target.limit.get());
        let message = format!(
            "latency_target={limit} ns cannot be met: with one I/O in flight, a {} at {} took {latency} ns",
            io.direction.name(),
            io.offset
        );
        self.fail(ETIMEDOUT, message);
    }
}
