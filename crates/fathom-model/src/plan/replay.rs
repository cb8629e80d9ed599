//! The replay of a log of I/O (`read_iolog`): which log, how it is read, and its content.

use crate::{Bytes, Direction, Nanos, PerDirection};

/// A job whose I/O comes from a log instead of a pattern.
///
/// The log is read twice: once for the plan, which fills the figures here, and again in pieces while the load
/// runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Name of the log; `-` is the standard input.
    pub log: String,
    /// How its lines are read.
    pub reading: ReplayReading,
    /// The accesses to each file of [`crate::FileSet::paths`], in the same order.
    pub files: Vec<ReplayFile>,
    /// I/Os in the log, skipped ones left out.
    pub ios: PerDirection<u64>,
    /// Their bytes.
    pub bytes: PerDirection<u64>,
    /// fsync and fdatasync calls in the log.
    pub syncs: u64,
    /// From its start to the due time of the last I/O; zero without due times.
    pub length: Nanos,
    /// Bytes of the largest read or write.
    pub largest: u32,
    /// The largest power of two that divides every offset and length of reads and writes.
    pub alignment: Bytes,
    /// Lines that fio skips with a warning, as does `fathom fio`.
    pub bad_lines: u64,
}

/// How the lines of a log become I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReading {
    /// When each I/O is due.
    pub timing: ReplayTiming,
    /// `replay_time_scale`: speed in percent of the log's own.
    pub time_percent: u64,
    /// `replay_redirect`: the one target of all I/O.
    pub redirect: Option<String>,
    /// `directory`: where files with relative names are.
    pub directory: Option<String>,
    /// `replay_scale`: offsets are divided by this, at least 1.
    pub scale: u64,
    /// `replay_align`: offsets are rounded down to this power of two, at least 1.
    pub align: u64,
    /// `replay_skip`: directions left out.
    pub skip: PerDirection<bool>,
    /// `replay_skip=sync`: fsync is left out.
    pub skip_sync: bool,
    /// Malformed lines are skipped, as in fio, and not an error.
    pub lenient: bool,
}

/// When the I/Os of a log are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayTiming {
    /// As soon as the queue has a free slot (`replay_no_stall`).
    AsFast,
    /// At the log's time, counted from the start of the job: a late I/O does not delay the following ones.
    OnTime,
    /// fio's way: not before the log's gap after the last submission; lateness accumulates.
    AfterLast,
    /// fio's way with the waits of version 2: not before the log's time, counted from the start.
    NotBefore,
    /// As soon as all I/Os have completed that had completed in the log before this one was issued there: the order that
    /// hfplayer's analyser derives from a trace (Haghdoost et al., FAST 2017), without its limit on the time between the two.
    ByDependency,
}

impl Replay {
    /// I/Os are due whatever the target does: response times count from there.
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        self.reading.timing == ReplayTiming::OnTime
    }

    /// Whether file `index` is changed.
    #[must_use]
    pub fn changes(&self, index: usize) -> bool {
        self.files
            .get(index)
            .is_some_and(|file| file.uses[Direction::Write] || file.uses[Direction::Trim])
    }
}

/// The accesses of a log to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayFile {
    /// First byte that is touched.
    pub start: u64,
    /// End of the touched range (exclusive).
    pub end: u64,
    /// Directions it is used in.
    pub uses: PerDirection<bool>,
}
