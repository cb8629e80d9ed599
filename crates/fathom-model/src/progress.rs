//! Progress of a run at one moment, for the live line.

use crate::{Bytes, Nanos, PerDirection};

/// What one job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobPhase {
    /// Not started: an earlier job must end first.
    Waiting,
    /// Being set up.
    Preparing,
    /// Laying out its files.
    LayingOut,
    /// Warm-up load that is not measured.
    WarmingUp,
    /// Measured load.
    Running(JobPattern),
    /// Reading back what it wrote.
    Verifying,
    /// Making data durable.
    Syncing,
    /// Load over, result not collected.
    Finishing,
    /// Over.
    Done,
    /// Ended by an error.
    Failed,
}

/// The pattern of a running job, for its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPattern {
    /// Addresses are drawn.
    pub random: bool,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// It trims.
    pub trims: bool,
}

/// Rates of one direction over the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveRate {
    /// Bytes per second.
    pub bandwidth: f64,
    /// I/Os per second.
    pub iops: f64,
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// One for each job, in the plan's order.
    pub jobs: Vec<JobPhase>,
    /// Files open in all running jobs.
    pub open_files: u32,
    /// Since the run began.
    pub elapsed: Nanos,
    /// How long the run is expected to last; `None` while unknown.
    pub expected: Option<Nanos>,
    /// Read, write, trim over the last interval; zero without I/O.
    pub rates: PerDirection<LiveRate>,
    /// Layout: bytes written, of how many. `None` when no layout is running.
    pub layout: Option<(Bytes, Bytes)>,
    /// Open loop: mean lateness of the submissions in the last interval. `None` in a closed loop.
    pub lateness: Option<Nanos>,
    /// I/Os that failed so far.
    pub failed: u64,
}
