//! Waiting: for I/O that is due later, and for the pauses of a closed loop.

use fathom_model::{Nanos, Think};

use super::{LOOK_UP, POLL, Worker};
use crate::clock::Clock;
use crate::engine::{Engine, Wait};
use crate::host::Host;

/// The pauses of `thinktime`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    think: Think,
    count: u64,
    until: u64,
    /// A pause that counts hand-overs starts at the next look.
    begun: bool,
}

impl Pause {
    pub fn new(think: Think) -> Self {
        Pause { think, count: 0, until: 0, begun: false }
    }

    pub fn issued(&mut self, n: u64) {
        if self.think.by_issue {
            self.count += n;
            self.begun |= self.count >= u64::from(self.think.blocks.max(1));
        }
    }

    pub fn completed(&mut self, now: u64) {
        if !self.think.by_issue {
            self.count += 1;
            if self.count >= u64::from(self.think.blocks.max(1)) {
                self.begin(now);
            }
        }
    }

    fn begin(&mut self, now: u64) {
        self.count = 0;
        self.begun = false;
        self.until = now + self.think.time.get();
    }

    fn active(&mut self, now: u64) -> bool {
        if self.begun {
            self.begin(now);
        }
        now < self.until
    }

    /// How many may be handed over before the next pause.
    fn left(&self) -> u64 {
        u64::from(self.think.blocks.max(1)).saturating_sub(self.count)
    }
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether nothing is handed over now because of a pause, which includes waiting for the I/Os that begin it.
    pub(super) fn paused(&mut self, now: u64) -> bool {
        let in_flight = u64::from(self.in_flight);
        let Some(pause) = &mut self.pause else { return false };
        if pause.active(now) {
            if pause.think.spin > Nanos::ZERO && pause.until - now <= pause.think.spin.get() {
                while self.clock.now().get() < pause.until {
                    std::hint::spin_loop();
                }
                return false;
            }
            return true;
        }
        !pause.think.by_issue && in_flight >= pause.left()
    }

    /// When something will be due; `None` when nothing more comes.
    pub(super) fn next_due(&mut self, now: u64) -> Option<u64> {
        if let Some(pause) = self.pause.filter(|pause| now < pause.until) {
            return Some(pause.until);
        }
        if self.draw_is_over() {
            return None;
        }
        let due = self.schedule.as_ref().map_or(now, |schedule| schedule.due());
        Some(self.let_in_at(due, now))
    }

    /// A wait that ends in time for what is due next.
    pub(super) fn wait_for_due(&self, now: u64, at_least: u32, at_most: u32) -> Wait {
        let mut due = now + LOOK_UP;
        if self.in_flight < self.slots.len() as u32 {
            if let Some(schedule) = &self.schedule {
                due = due.min(schedule.due().max(now));
            }
            if let Some(pause) = self.pause.filter(|pause| pause.until > now) {
                due = due.min(pause.until);
            }
        }
        match (due - now).checked_sub(POLL).filter(|rest| *rest > 0) {
            Some(limit) => Wait { at_least, at_most, limit: Some(Nanos::new(limit)) },
            None => Wait { at_least: 0, at_most, limit: None },
        }
    }
}
