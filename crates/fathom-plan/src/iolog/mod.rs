//! fio's I/O traces (iolog), versions 2 and 3, as `write_iolog` writes and `read_iolog` replays them.
//!
//! A trace is read line by line in constant memory: once by [`summarise_trace`], which finds the first error and the I/O of each
//! file, and once more during the replay.

mod line;
mod reader;
mod summary;
mod timeline;

use std::fmt;

pub use self::reader::TraceReader;
pub use self::summary::{TraceSummary, summarise_trace};

/// Maximum length of a line. fio reads 4095 bytes at a time, with names of at most 256.
pub(crate) const MAX_LINE: usize = 8191;

/// A trace that cannot be replayed: where, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong.
    pub problem: String,
    /// How to fix it.
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
