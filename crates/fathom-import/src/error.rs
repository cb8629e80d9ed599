//! Why a result cannot be read.

use std::fmt;

/// What is wrong with a result, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// There is no JSON object in it.
    NoDocument,
    /// The JSON is broken.
    Malformed {
        /// Line, from 1, counted from the start of the document.
        line: usize,
        /// What the reader says.
        why: String,
    },
    /// It is JSON, but no result of fio.
    NoJobs,
    /// A line of a log file.
    LogLine {
        /// Which, from 1.
        line: usize,
        /// What was expected there.
        why: &'static str,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDocument => write!(f, "there is no JSON document in it; write it with --output-format=json"),
            Self::Malformed { line, why } => write!(f, "line {line} of the JSON document is broken: {why}"),
            Self::NoJobs => write!(f, "it is JSON, but has no 'jobs' or 'client_stats' as fio's results have"),
            Self::LogLine { line, why } => write!(f, "line {line}: {why}"),
        }
    }
}

impl std::error::Error for ImportError {}
