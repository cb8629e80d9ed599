//! Entries of fio's log files, as the recorder streams them out while the load runs.

use crate::{Direction, Nanos, SparseHistogram};

/// Which log an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogKind {
    /// Bandwidth, KiB/s.
    Bw,
    /// I/Os per second; 1 for each I/O in a log that is not averaged.
    Iops,
    /// Total latency, nanoseconds.
    Lat,
    /// Completion latency, nanoseconds.
    Clat,
    /// Submission latency, nanoseconds.
    Slat,
    /// Histograms of completion latency.
    Hist,
    /// The I/O itself, to be replayed (`write_iolog`).
    Trace,
}

impl LogKind {
    /// Its name in file names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LogKind::Bw => "bw",
            LogKind::Iops => "iops",
            LogKind::Lat => "lat",
            LogKind::Clat => "clat",
            LogKind::Slat => "slat",
            LogKind::Hist => "clat_hist",
            LogKind::Trace => "iolog",
        }
    }
}

/// One line of a bw, iops, lat, clat or slat log: one I/O, or one window of `log_avg_msec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it completed (or the window ended): since the job's start, or since 1970 with `log_unix_epoch`.
    pub at: Nanos,
    /// In the unit of its [`LogKind`]; the value of a window depends on `log_window_value`.
    pub value: u64,
    /// Largest value of the window, with `log_window_value=both`.
    pub max: Option<u64>,
    /// Read, write or trim.
    pub direction: Direction,
    /// Bytes of the I/O; 0 for a window.
    pub block_size: u32,
    /// Offset of the I/O, bytes; 0 for a window.
    pub offset: u64,
    /// I/O priority in the kernel's encoding (class << 13 | level). See ioprio_set(2).
    pub prio: u16,
    /// When the I/O was submitted, since the job's start; 0 for a window. Printed for clat and slat only, as in fio.
    pub issued: Nanos,
}

/// One line of a histogram log: what completed in one `log_hist_msec`, in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistEntry {
    /// End of the interval: since the job's start, or since 1970 with `log_unix_epoch`.
    pub at: Nanos,
    /// Read, write or trim.
    pub direction: Direction,
    /// Bytes of the I/O that ended the interval.
    pub block_size: u32,
    /// Completion latencies of this interval only.
    pub clat: SparseHistogram,
}

/// What one I/O of a trace did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceAction {
    /// Read a range.
    Read,
    /// Wrote a range.
    Write,
    /// Discarded a range.
    Trim,
    /// fsync(2).
    Sync,
    /// fdatasync(2).
    Datasync,
}

impl TraceAction {
    /// Its name in fio's trace, version 3.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TraceAction::Read => "read",
            TraceAction::Write => "write",
            TraceAction::Trim => "trim",
            TraceAction::Sync => "sync",
            TraceAction::Datasync => "datasync",
        }
    }
}

/// One I/O of a trace, as it was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// When it was submitted, since the job's start.
    pub at: Nanos,
    /// Index into the job's files.
    pub file: u32,
    /// The operation.
    pub action: TraceAction,
    /// Offset in the file, bytes; 0 for a sync.
    pub offset: u64,
    /// Bytes; 0 for a sync.
    pub len: u32,
    /// When it completed, on the clock of `at`; [`Nanos::MAX`] where the log does not say.
    pub done: Nanos,
}

/// Log entries of one job, in time order, delivered while the load runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogChunk {
    /// Lines of one of the five plain logs.
    Entries {
        /// Index into [`crate::Plan::jobs`].
        job: u32,
        /// Which log; neither [`LogKind::Hist`] nor [`LogKind::Trace`].
        kind: LogKind,
        /// The lines.
        entries: Vec<LogEntry>,
    },
    /// Lines of the histogram log.
    Histograms {
        /// Index into [`crate::Plan::jobs`].
        job: u32,
        /// The lines.
        entries: Vec<HistEntry>,
    },
    /// Lines of the trace.
    Trace {
        /// Index into [`crate::Plan::jobs`].
        job: u32,
        /// The lines.
        entries: Vec<TraceEntry>,
    },
}
