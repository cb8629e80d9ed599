//! The file system of a target, and whether O_DIRECT bypasses the page cache.

use std::path::PathBuf;

use crate::Bytes;

/// Location of the data of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystemLocation {
    /// On block devices of this host.
    Local,
    /// On another host.
    Network,
    /// In memory.
    Memory,
    /// In a user-space process (FUSE).
    Process,
    /// In files of other file systems (overlay).
    Stacked,
    /// Not known.
    #[default]
    Unknown,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSystemFacts {
    /// Type, such as `ext4`.
    pub kind: String,
    /// Where it is mounted.
    pub mounted_at: PathBuf,
    /// The mount source.
    pub source: String,
    /// Mount and file system options, as the kernel lists them.
    pub options: String,
    /// Mounted read-only.
    pub read_only: bool,
    /// Where its data is.
    pub location: FileSystemLocation,
    /// Its block size.
    pub block: Bytes,
    /// Free space for unprivileged users.
    pub free: Bytes,
    /// Size; zero where unknown.
    pub total: Bytes,
    /// Effect of O_DIRECT on this target.
    pub direct: DirectIoFacts,
}

/// What the file system reports about O_DIRECT. See statx(2), `STATX_DIOALIGN`, Linux 6.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportedDirectIo {
    /// Nothing.
    #[default]
    Unknown,
    /// O_DIRECT is accepted but buffered, or refused.
    Buffered,
    /// Direct I/O is supported.
    Direct {
        /// Offsets and lengths must be multiples of this, bytes.
        offset_align: u32,
        /// Buffers must be aligned to this, bytes.
        memory_align: u32,
    },
}

/// Result of a direct read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DirectIoProbe {
    /// No probe was made, for this reason.
    NotTried(String),
    /// It worked, and no page of it stayed in memory.
    Direct,
    /// It worked, but the pages went into the page cache: it was not direct.
    Buffered,
    /// O_DIRECT was refused with this error of the kernel.
    Refused(String),
    /// Not probed.
    #[default]
    NotProbed,
}

/// Reported and probed behaviour of direct I/O.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectIoFacts {
    /// What the file system reports.
    pub reported: ReportedDirectIo,
    /// Result of the probe.
    pub probe: DirectIoProbe,
}
