//! Why a trace cannot be taken, with the place and what to do.

use std::io;
use std::path::PathBuf;

/// Why the block tracepoints cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file of tracefs could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write`, `create`, ...
        action: &'static str,
        /// The file below the root of tracefs.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A `format` or `header_page` file does not have the form that the kernel's documentation describes.
    #[error("{}: {problem}", path.display())]
    Format {
        /// The file below the root of tracefs.
        path: PathBuf,
        /// What is missing or wrong.
        problem: String,
    },
    /// This user may not trace.
    #[error("reading block tracepoints needs root")]
    NoPermission,
    /// The kernel has no tracefs.
    #[error("this kernel has no tracefs (CONFIG_TRACING is off)")]
    NoTracefs,
    /// tracefs is not mounted and cannot be.
    #[error(
        "tracefs is not mounted, and mounting it failed: {0}; to proceed: mount -t tracefs none /sys/kernel/tracing"
    )]
    Mount(io::Error),
    /// The thread that reads the trace could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The load that was to be traced failed.
    #[error("{0}")]
    Load(String),
    /// None of the tracepoints that are needed exists.
    #[error("this kernel has no block tracepoints (CONFIG_BLK_DEV_IO_TRACE is off)")]
    NoTracepoints,
    /// The trace clock `mono` is missing, so that times could not be compared with those of programs.
    #[error("this kernel's tracefs has no trace clock 'mono' (Linux 3.17 or newer has it)")]
    NoClock,
}
