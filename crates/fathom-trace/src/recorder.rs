//! A thread that reads a trace at intervals and gives its events to a consumer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, park_timeout};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::decode::{ThreadNames, Tracepoint};
use crate::error::TraceError;
use crate::session::{TraceConsumer, TraceOptions, TraceSession, TraceTotals};
use crate::tracefs::Tracefs;

/// Between two readings. Rare, so that they cost little; the ring buffers hold far more than arrives meanwhile.
const INTERVAL: Duration = Duration::from_millis(50);
/// If the ring buffers were fuller than this, the next reading follows at once.
const FULL: f64 = 0.25;

/// A trace that is read by a thread of its own.
#[derive(Debug)]
pub struct TraceThread<C> {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Recorded<C>, TraceError>>,
    missing: Vec<Tracepoint>,
    removed: Vec<String>,
}

/// What a [`TraceThread`] recorded.
#[derive(Debug)]
pub struct Recorded<C> {
    /// The consumer, which has seen all events.
    pub consumer: C,
    /// Counts of the trace.
    pub totals: TraceTotals,
    /// Names of the threads that submitted I/O.
    pub names: ThreadNames,
    /// CPU time of the thread: reading, decoding and the consumer. What the kernel spends on recording is not in it.
    pub cpu_ns: u64,
}

impl<C: TraceConsumer + Send + 'static> TraceThread<C> {
    /// Removes instances of dead processes, starts to record, and starts the thread.
    ///
    /// # Errors
    /// As [`Tracefs::open`] and [`TraceSession::start`].
    pub fn start(options: &TraceOptions, consumer: C) -> Result<Self, TraceError> {
        let tracefs = Tracefs::open()?;
        let removed = crate::session::remove_dead_instances(tracefs.root())?;
        let session = TraceSession::start(tracefs.root(), options)?;
        let missing = session.missing().to_vec();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("trace reader".into())
            .spawn(move || {
                // The session's files are below the mount.
                let _tracefs = tracefs;
                read(session, consumer, &stopped)
            })
            .map_err(TraceError::Thread)?;
        Ok(Self {
            stop,
            thread,
            missing,
            removed,
        })
    }

    /// The tracepoints that this kernel does not have.
    #[must_use]
    pub fn missing(&self) -> &[Tracepoint] {
        &self.missing
    }

    /// Instances of processes that were killed, which the start removed.
    #[must_use]
    pub fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Stops recording and delivers what is left.
    ///
    /// # Errors
    /// If tracefs could not be read meanwhile.
    ///
    /// # Panics
    /// If the consumer panicked.
    pub fn stop(self) -> Result<Recorded<C>, TraceError> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn read<C: TraceConsumer>(
    mut session: TraceSession,
    mut consumer: C,
    stop: &AtomicBool,
) -> Result<Recorded<C>, TraceError> {
    while !stop.load(Ordering::Acquire) {
        if session.poll(&mut consumer)? < FULL {
            park_timeout(INTERVAL);
        }
    }
    let (totals, names) = session.finish(&mut consumer)?;
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    Ok(Recorded {
        consumer,
        totals,
        names,
        cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
    })
}
