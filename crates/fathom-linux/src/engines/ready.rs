//! Completions waiting to be reaped, and the time limits of a reap.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fathom_load::{Completion, EngineError, Wait};

use crate::memory::Arena;

/// Waiting time of a reap without a limit.
const DEFAULT_WAIT: Duration = Duration::from_millis(500);

/// Upper bound of any wait, so that the worker loop stays in control.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Time limit for the I/O in flight when an engine is dropped. Afterwards its memory is left to the
/// kernel.
const DROP_WAIT: Duration = Duration::from_secs(2);

/// Completions the engine already has. At most one per slot, so it never grows.
#[derive(Debug)]
pub(crate) struct ReadyQueue(VecDeque<Completion>);

impl ReadyQueue {
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

    /// Moves at most `at_most` completions to `done` and takes back their slots. Returns how many.
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

/// Waits for everything in flight, to drop an engine.
pub(crate) const WAIT_FOR_ALL: Wait = Wait {
    at_least: u32::MAX,
    at_most: u32::MAX,
    limit: None,
};

/// The slow path of a reap that has found `count` of `want` completions: repeats `wait_once`, which
/// gets the completions still wanted, the capacity left and the remaining time, and returns how
/// many it found.
#[inline]
pub(crate) fn reap_until(
    wait: Wait,
    want: u32,
    mut count: u32,
    mut wait_once: impl FnMut(u32, u32, Duration) -> Result<u32, EngineError>,
) -> Result<(), EngineError> {
    let deadline = Deadline::for_reap(wait);
    loop {
        let limit = deadline.remaining().unwrap_or_default();
        count += wait_once(want.saturating_sub(count), wait.at_most - count, limit)?;
        if count >= want || limit.is_zero() {
            return Ok(());
        }
    }
}

/// Number of completions that a reap waits for: at most those in flight.
#[inline]
pub(crate) fn completions_wanted(wait: Wait, in_flight: u32) -> u32 {
    wait.at_least.min(wait.at_most).min(in_flight)
}

/// When a reap must return. Created only when there is something to wait for, so that a reap that
/// finds enough reads no clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// The deadline of a reap.
    #[inline]
    pub(crate) fn for_reap(wait: Wait) -> Self {
        let limit = wait.limit.map_or(DEFAULT_WAIT, |limit| {
            Duration::from_nanos(limit.get()).min(MAX_WAIT)
        });
        Self(Instant::now() + limit)
    }

    /// The deadline for dropping an engine.
    pub(crate) fn for_drop() -> Self {
        Self(Instant::now() + DROP_WAIT)
    }

    /// Remaining time; `None` if it has passed.
    #[inline]
    pub(crate) fn remaining(self) -> Option<Duration> {
        self.0
            .checked_duration_since(Instant::now())
            .filter(|remaining| !remaining.is_zero())
    }
}
