//! Completions that wait to be reaped, and how long a reap may take.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fathom_load::{Completion, Wait};

use crate::memory::Arena;

/// How long a reap without a limit waits.
const USUAL_WAIT: Duration = Duration::from_millis(500);

/// How long a reap waits whatever its limit, so that the loop stays in control.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How long a dropped engine waits for I/O in flight before it leaves its memory to the kernel for good.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Completions the engine already knows of. Holds at most one for each slot, so it never grows.
#[derive(Debug)]
pub(crate) struct Ready(VecDeque<Completion>);

impl Ready {
    pub(crate) fn new(depth: u32) -> Self {
        Self(VecDeque::with_capacity(depth as usize))
    }

    #[inline]
    pub(crate) fn push(&mut self, slot: u32, result: i64) {
        self.0.push_back(Completion { slot, result });
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Moves at most `at_most` to `done` and ends the loan of their slots. Returns how many.
    #[inline]
    pub(crate) fn reap(
        &mut self,
        at_most: u32,
        arena: &mut Arena,
        done: &mut Vec<Completion>,
    ) -> u32 {
        let mut count = 0;
        while count < at_most {
            let Some(completion) = self.0.pop_front() else {
                break;
            };
            arena.take_back(completion.slot);
            done.push(completion);
            count += 1;
        }
        count
    }
}

/// How many completions a reap has to wait for: never more than can come.
#[inline]
pub(crate) fn wanted(wait: Wait, in_flight: u32) -> u32 {
    wait.at_least.min(wait.at_most).min(in_flight)
}

/// When a reap must return. Made only once there is something to wait for, so that a reap that finds enough reads no clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// For a reap.
    pub(crate) fn of(wait: Wait) -> Self {
        let limit = wait.limit.map_or(USUAL_WAIT, |limit| {
            Duration::from_nanos(limit.get()).min(LONGEST_WAIT)
        });
        Self(Instant::now() + limit)
    }

    /// For the end of an engine.
    pub(crate) fn last() -> Self {
        Self(Instant::now() + LAST_WAIT)
    }

    /// Time left; `None` when it has passed.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    }
}
