//! Waiting: for I/O that is due later, and for the pauses of a closed loop.

use fathom_model::{Nanos, Think};

use super::{LOOK_UP, POLL, Worker};
use crate::arrivals::Schedule;
use crate::clock::Clock;
use crate::engine::{Engine, Wait};
use crate::host::Host;
use crate::live::Stop;

/// The pauses of `thinktime`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    think: Think,
    count: u64,
    until: u64,
    /// A pause starts once nothing is in flight any more.
    begun: bool,
}

impl Pause {
    pub fn new(think: Think, now: u64) -> Self {
        Pause {
            think,
            count: 0,
            until: now,
            begun: false,
        }
    }

    pub fn issued(&mut self, n: u64) {
        if self.think.by_issue {
            self.count(n);
        }
    }

    pub fn completed(&mut self, now: u64) {
        let load_time = self.think.io_time.get();
        self.begun |= load_time > 0 && now >= self.until.saturating_add(load_time);
        if !self.think.by_issue {
            self.count(1);
        }
    }

    fn count(&mut self, n: u64) {
        self.count += n;
        self.begun |= self.count >= u64::from(self.think.blocks.max(1));
    }

    /// Whether there is a pause at `now`, which includes waiting for what is in flight before it.
    fn active(&mut self, in_flight: u64, now: u64, schedule: Option<&mut Schedule>) -> bool {
        if self.begun && in_flight == 0 {
            (self.count, self.begun) = (0, false);
            self.until = now + self.think.time.get();
            if let Some(schedule) = schedule.filter(|_| self.think.forgiven) {
                schedule.postpone(self.think.time.get());
            }
        }
        self.begun || now < self.until
    }

    /// End of the busy part of the pause, which comes first as in fio.
    fn busy_until(&self) -> u64 {
        self.until.saturating_sub(self.think.time.get()) + self.think.spin.get()
    }

    /// How many may be taken before the next pause, when `waiting` are taken and `busy` taken or in flight.
    pub fn room(&self, waiting: usize, busy: u32) -> usize {
        let left = u64::from(self.think.blocks.max(1)).saturating_sub(self.count) as usize;
        left.saturating_sub(if self.think.by_issue {
            waiting
        } else {
            busy as usize
        })
    }
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Whether nothing is handed over now because of a pause, which includes waiting for the I/Os that begin it.
    pub(super) fn paused(&mut self, now: u64) -> bool {
        let in_flight = u64::from(self.in_flight) + self.batch.len() as u64;
        let Some(pause) = &mut self.pause else {
            return false;
        };
        let active = pause.active(in_flight, now, self.schedule.as_mut());
        if active {
            let busy = pause.busy_until().min(self.deadline);
            while pause.think.spin > Nanos::ZERO
                && self.clock.now().get() < busy
                && self.live.stopping() == Stop::No
            {
                std::hint::spin_loop();
            }
        }
        active
    }

    /// When something will be due; `None` when nothing more comes.
    pub(super) fn next_due(&mut self, now: u64) -> Option<u64> {
        if let Some(pause) = self.pause.filter(|pause| now < pause.until) {
            return Some(pause.until);
        }
        if self.draw_is_over() {
            return None;
        }
        let due = self
            .schedule
            .as_ref()
            .map_or(now, |schedule| schedule.due());
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::job;
    use fathom_model::{Access, Direction, Rate, Traffic};

    const MS: u64 = 1_000_000;

    fn think() -> Think {
        let (time, io_time) = (Nanos::from_millis(30), Nanos::ZERO);
        Think {
            time,
            spin: Nanos::from_millis(5),
            blocks: 4,
            by_issue: false,
            io_time,
            forgiven: false,
        }
    }

    #[test]
    fn a_pause_waits_for_what_is_in_flight_and_is_busy_first() {
        let mut pause = Pause::new(think(), 0);
        assert_eq!((pause.room(0, 0), pause.room(0, 3)), (4, 1));
        (0..4).for_each(|_| pause.completed(MS));
        assert!(pause.active(2, 2 * MS, None) && pause.active(0, 3 * MS, None));
        assert_eq!((pause.until, pause.busy_until()), (33 * MS, 8 * MS));
        assert!(pause.active(0, 33 * MS - 1, None) && !pause.active(0, 33 * MS, None));
    }

    #[test]
    fn a_time_of_load_begins_a_pause_too() {
        let mut pause = Pause::new(
            Think {
                blocks: u32::MAX,
                io_time: Nanos::from_millis(20),
                ..think()
            },
            0,
        );
        pause.completed(19 * MS);
        assert!(!pause.active(0, 19 * MS, None));
        pause.completed(20 * MS);
        assert!(pause.active(0, 20 * MS, None));
        assert_eq!(pause.until, 50 * MS);
        pause.completed(69 * MS);
        assert!(
            !pause.active(0, 69 * MS, None),
            "the load is counted from the end of the pause"
        );
    }

    #[test]
    fn only_a_forgiven_pause_moves_what_is_due() {
        for (forgiven, due) in [(false, 0), (true, 30 * MS)] {
            let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
            job.pace.rate[Direction::Read] = Some(Rate::Iops(1000.0));
            let mut schedule = Schedule::new(&job, Nanos::ZERO);
            let mut pause = Pause::new(
                Think {
                    forgiven,
                    ..think()
                },
                0,
            );
            (0..4).for_each(|_| pause.completed(MS));
            pause.active(0, MS, schedule.as_mut());
            assert_eq!(schedule.expect("there is a rate").due(), due);
        }
    }
}
