//! The pauses of `thinktime`.

use fathom_model::{Nanos, Think};

/// Counts I/Os and begins a pause after every few of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    think: Think,
    count: u64,
    until: u64,
    /// A pause is due and starts once nothing is in flight.
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

    pub fn submitted(&mut self, n: u64) {
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
    /// A pause that delays all remaining due times passes its length to `postpone`.
    pub fn is_active(&mut self, in_flight: u64, now: u64, postpone: impl FnOnce(u64)) -> bool {
        if self.begun && in_flight == 0 {
            (self.count, self.begun) = (0, false);
            self.until = now + self.think.time.get();
            if self.think.ignored_by_rate {
                postpone(self.think.time.get());
            }
        }
        self.begun || now < self.until
    }

    /// End of the last pause.
    pub fn end(&self) -> u64 {
        self.until
    }

    /// End of the busy part of the pause, which comes first as in fio; 0 without one.
    pub fn busy_until(&self) -> u64 {
        if self.think.spin == Nanos::ZERO {
            return 0;
        }
        self.until.saturating_sub(self.think.time.get()) + self.think.spin.get()
    }

    /// How many I/Os may start before the next pause, with `waiting` in the batch and `busy` there
    /// or in flight.
    pub fn room(&self, waiting: usize, busy: u32) -> usize {
        let left = u64::from(self.think.blocks.max(1)).saturating_sub(self.count) as usize;
        left.saturating_sub(if self.think.by_issue {
            waiting
        } else {
            busy as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Access, Direction, Rate, Traffic};

    use super::*;
    use crate::arrivals::Schedule;
    use crate::testing::job;

    const MS: u64 = 1_000_000;

    fn think() -> Think {
        let (time, io_time) = (Nanos::from_millis(30), Nanos::ZERO);
        Think {
            time,
            spin: Nanos::from_millis(5),
            blocks: 4,
            by_issue: false,
            io_time,
            ignored_by_rate: false,
        }
    }

    #[test]
    fn a_pause_waits_for_what_is_in_flight_and_is_busy_first() {
        let mut pause = Pause::new(think(), 0);
        assert_eq!((pause.room(0, 0), pause.room(0, 3)), (4, 1));
        (0..4).for_each(|_| pause.completed(MS));
        assert!(pause.is_active(2, 2 * MS, drop) && pause.is_active(0, 3 * MS, drop));
        assert_eq!((pause.until, pause.busy_until()), (33 * MS, 8 * MS));
        assert!(pause.is_active(0, 33 * MS - 1, drop) && !pause.is_active(0, 33 * MS, drop));
    }

    #[test]
    fn a_load_time_begins_a_pause_too() {
        let mut pause = Pause::new(
            Think {
                blocks: u32::MAX,
                io_time: Nanos::from_millis(20),
                ..think()
            },
            0,
        );
        pause.completed(19 * MS);
        assert!(!pause.is_active(0, 19 * MS, drop));
        pause.completed(20 * MS);
        assert!(pause.is_active(0, 20 * MS, drop));
        assert_eq!(pause.until, 50 * MS);
        pause.completed(69 * MS);
        assert!(
            !pause.is_active(0, 69 * MS, drop),
            "the load is counted from the end of the pause"
        );
    }

    #[test]
    fn only_an_ignored_pause_moves_due_times() {
        for (ignored_by_rate, due) in [(false, 0), (true, 30 * MS)] {
            let mut job = job(Traffic::Read, Access::Sequential { skip: 0 });
            job.pace.rate[Direction::Read] = Some(Rate::Iops(1000.0));
            let mut schedule = Schedule::new(&job, Nanos::ZERO).expect("a rate");
            let mut pause = Pause::new(
                Think {
                    ignored_by_rate,
                    ..think()
                },
                0,
            );
            (0..4).for_each(|_| pause.completed(MS));
            pause.is_active(0, MS, |by| schedule.postpone(by));
            assert_eq!(schedule.due(), due);
        }
    }
}
