//! What a worker shows while it runs, and how it is told to stop: single values, each on one writer's side only.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use fathom_model::{Direction, JobRecording};

/// How a worker is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// It is not.
    No = 0,
    /// Hand over nothing more, wait for what is in flight.
    Drain = 1,
    /// Do not wait either.
    Abort = 2,
}

/// Where a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting = 0,
    Preparing = 1,
    WarmingUp = 2,
    Running = 3,
    Verifying = 4,
    Finishing = 5,
    Done = 6,
    Failed = 7,
}

impl Phase {
    fn from(value: u8) -> Phase {
        use Phase::*;
        [
            Waiting, Preparing, WarmingUp, Running, Verifying, Finishing, Done, Failed,
        ][usize::from(value.min(7))]
    }
}

/// One worker's live values. Aligned so that workers do not share cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Live {
    stop: AtomicU8,
    phase: AtomicU8,
    pub ios: [AtomicU64; 3],
    pub bytes: [AtomicU64; 3],
    pub failed: AtomicU64,
    /// Sum of all service times, where a steady state of latency is looked for.
    pub latency_ns: AtomicU64,
    pub in_flight: AtomicU32,
    /// What a synchronous engine is carrying: direction (1 to 3) in the lowest two bits, bytes above; 0 is nothing.
    carried: AtomicU64,
    /// Time by which the last hand-over of an open loop was late.
    pub late_ns: AtomicU64,
    /// Somebody asks how the job stands.
    state_asked: AtomicBool,
    /// The answer, locked only when there is one to give or to take.
    state: Mutex<Option<Box<JobRecording>>>,
}

impl Live {
    /// Asks the worker to stop; never takes a stronger request back.
    pub fn stop(&self, how: Stop) {
        self.stop.fetch_max(how as u8, Relaxed);
    }

    /// What the worker was asked.
    #[inline]
    pub fn stopping(&self) -> Stop {
        match self.stop.load(Relaxed) {
            0 => Stop::No,
            1 => Stop::Drain,
            _ => Stop::Abort,
        }
    }

    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    pub fn phase(&self) -> Phase {
        Phase::from(self.phase.load(Relaxed))
    }

    /// A synchronous engine is handed an I/O: should it never come back, this is what is known of it.
    #[inline]
    pub fn carry(&self, direction: Direction, len: u32) {
        self.carried
            .store(u64::from(len) << 2 | (direction as u64 + 1), Relaxed);
    }

    /// It came back.
    #[inline]
    pub fn put_down(&self) {
        self.carried.store(0, Relaxed);
    }

    /// Direction and bytes of the I/O that a synchronous engine is carrying.
    pub fn carrying(&self) -> Option<(Direction, u64)> {
        let carried = self.carried.load(Relaxed);
        let direction = Direction::ALL.get((carried & 3).checked_sub(1)? as usize)?;
        Some((*direction, carried >> 2))
    }

    /// Asks the worker for its recording so far.
    pub fn ask_state(&self) {
        self.state_asked.store(true, Relaxed);
    }

    /// Whether it was asked and has not answered. The worker looks at this every few milliseconds.
    #[inline]
    pub fn is_state_asked(&self) -> bool {
        self.state_asked.load(Relaxed)
    }

    /// The worker answers.
    pub fn answer(&self, state: JobRecording) {
        // A panic elsewhere while the lock was held leaves an old answer, which this one replaces.
        *self
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Box::new(state));
        self.state_asked.store(false, Relaxed);
    }

    /// The last answer, if there was any.
    pub fn state(&self) -> Option<JobRecording> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .as_deref()
            .cloned()
    }

    /// Shows the totals of one direction.
    pub fn show(&self, direction: Direction, ios: u64, bytes: u64) {
        self.ios[direction as usize].store(ios, Relaxed);
        self.bytes[direction as usize].store(bytes, Relaxed);
    }
}
