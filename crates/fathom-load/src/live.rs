//! Live values of a worker, and the request to stop it. Each value has one writer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use fathom_model::{Direction, JobRecording};

/// How a worker should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Keep running.
    No = 0,
    /// Submit nothing more and wait for what is in flight.
    Drain = 1,
    /// Do not wait either.
    Abort = 2,
}

/// The phase of a worker.
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

/// Live values of one worker. Aligned so that workers do not share cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Live {
    stop: AtomicU8,
    phase: AtomicU8,
    pub ios: [AtomicU64; 3],
    pub bytes: [AtomicU64; 3],
    pub failed: AtomicU64,
    /// Sum of all service times, for the detection of a steady latency.
    pub latency_ns: AtomicU64,
    pub in_flight: AtomicU32,
    /// The I/O inside a synchronous engine: direction (1 to 3) in the lowest two bits, bytes above;
    /// 0 is none.
    sync_io: AtomicU64,
    /// Lateness of the last submission of an open loop.
    pub late_ns: AtomicU64,
    /// When the coordinator started it, nanoseconds since the start of the run.
    pub started_ns: AtomicU64,
    /// A snapshot of the recording has been requested.
    snapshot_request: AtomicBool,
    /// The progress of the writes has been requested.
    verify_state_request: AtomicBool,
    /// Name and content of the verify state; locked only to publish or to take it.
    verify_state: Mutex<Option<(String, Vec<u8>)>>,
    /// The last snapshot; locked only to publish or to read it.
    last_snapshot: Mutex<Option<Box<JobRecording>>>,
}

impl Live {
    /// Asks the worker to stop; never weakens an earlier request.
    pub fn stop(&self, how: Stop) {
        self.stop.fetch_max(how as u8, Relaxed);
    }

    /// The current request.
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

    /// A synchronous engine starts an I/O. If it never returns, nothing else is recorded about it.
    #[inline]
    pub fn sync_io_started(&self, direction: Direction, len: u32) {
        self.sync_io
            .store(u64::from(len) << 2 | (direction as u64 + 1), Relaxed);
    }

    /// The I/O has returned.
    #[inline]
    pub fn sync_io_ended(&self) {
        self.sync_io.store(0, Relaxed);
    }

    /// Direction and bytes of the I/O inside a synchronous engine.
    pub fn sync_io_in_flight(&self) -> Option<(Direction, u64)> {
        let sync_io = self.sync_io.load(Relaxed);
        let direction = Direction::ALL.get((sync_io & 3).checked_sub(1)? as usize)?;
        Some((*direction, sync_io >> 2))
    }

    /// Asks the worker for the progress of its writes.
    pub fn request_verify_state(&self) {
        self.verify_state_request.store(true, Relaxed);
    }

    /// Whether it has been requested and not published yet.
    #[inline]
    pub fn verify_state_requested(&self) -> bool {
        self.verify_state_request.load(Relaxed)
    }

    /// Publishes the progress of the writes.
    pub fn publish_verify_state(&self, state: Option<(String, Vec<u8>)>) {
        *self
            .verify_state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = state;
        self.verify_state_request.store(false, Relaxed);
    }

    /// Takes what was published.
    pub fn take_verify_state(&self) -> Option<(String, Vec<u8>)> {
        self.verify_state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take()
    }

    /// Asks the worker for a snapshot of its recording.
    pub fn request_snapshot(&self) {
        self.snapshot_request.store(true, Relaxed);
    }

    /// Whether a requested snapshot has not been published yet. The worker checks this every few
    /// milliseconds.
    #[inline]
    pub fn snapshot_requested(&self) -> bool {
        self.snapshot_request.load(Relaxed)
    }

    /// Publishes a snapshot.
    pub fn publish_snapshot(&self, recording: JobRecording) {
        // A panic while the lock was held leaves an old snapshot, which this one replaces.
        *self
            .last_snapshot
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Box::new(recording));
        self.snapshot_request.store(false, Relaxed);
    }

    /// The last snapshot, if any.
    pub fn snapshot(&self) -> Option<JobRecording> {
        self.last_snapshot
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .as_deref()
            .cloned()
    }

    /// Publishes the totals of one direction.
    pub fn set_totals(&self, direction: Direction, ios: u64, bytes: u64) {
        self.ios[direction as usize].store(ios, Relaxed);
        self.bytes[direction as usize].store(bytes, Relaxed);
    }
}
