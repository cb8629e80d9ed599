//! fio's log of I/O, versions 2 and 3: what `write_iolog` writes and `read_iolog` replays.
//!
//! A log is read line by line in constant memory, whatever its length: once as a [`summarise_trace`], which finds every mistake and
//! what the log will do to which file, and once more while it is replayed.

mod line;
mod reader;
mod summary;
mod timeline;

use std::fmt;

pub use self::reader::TraceReader;
pub use self::summary::{TraceSummary, summarise_trace};

/// Longest line. fio reads 4095 bytes at a time, in which names have at most 256.
pub(crate) const LONGEST_LINE: usize = 8191;

/// A log that cannot be replayed: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line, from 1.
    pub line: u64,
    /// What is the matter.
    pub problem: String,
    /// How to mend it.
    pub advice: Option<&'static str>,
}

impl TraceError {
    pub(crate) fn new(line: u64, problem: impl Into<String>) -> Self {
        TraceError {
            line,
            problem: problem.into(),
            advice: None,
        }
    }

    pub(crate) fn advise(self, advice: &'static str) -> Self {
        TraceError {
            advice: Some(advice),
            ..self
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.problem)?;
        self.advice
            .map_or(Ok(()), |advice| write!(f, " ({advice})"))
    }
}

impl std::error::Error for TraceError {}
