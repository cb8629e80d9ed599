//! Why a result cannot be read.

use std::fmt;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// It could not be opened or read.
    Unreadable(String),
    /// There is nothing in it.
    Empty,
    /// It is larger than [`crate::LARGEST`] bytes and no log.
    TooLarge,
    /// Its JSON has more values than [`crate::MOST_VALUES`].
    TooManyValues,
    /// There is neither JSON nor a terse line in it, and its lines are no log's.
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
    /// A figure that cannot be one.
    Figure {
        /// Which.
        name: String,
        /// What stands there.
        value: String,
    },
    /// A line of a log file.
    LogLine {
        /// Which, from 1.
        line: usize,
        /// What was expected there.
        why: &'static str,
    },
    /// A line of a histogram log.
    HistLine(String),
    /// A log whose name does not say of what.
    LogOfWhat,
    /// A log in the packed form of `log_store_compressed`.
    Packed,
    /// Text in UTF-16.
    Utf16,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Empty => write!(f, "is empty: the run wrote no result"),
            Self::TooLarge => write!(f, "is larger than 256 MiB, more than any fio result"),
            Self::TooManyValues => write!(
                f,
                "has more than {} values, more than any fio result",
                crate::MOST_VALUES
            ),
            Self::NoDocument => write!(
                f,
                "not a fio result: no JSON document, no terse line and no log; use --output-format=json"
            ),
            Self::Malformed { line, why } => {
                write!(f, "malformed JSON in line {line}: {why}")
            }
            Self::NoJobs => write!(
                f,
                "not a fio result: the JSON document has no 'jobs' or 'client_stats'"
            ),
            Self::Figure { name, value } => write!(f, "invalid {name}: {value}"),
            Self::LogLine { line, why } => write!(f, "line {line}: {why}"),
            Self::HistLine(why) => write!(f, "{why}"),
            Self::LogOfWhat => write!(
                f,
                "a log whose kind is unknown; name it as fio does: NAME_bw.1.log, or iops, lat, clat, slat"
            ),
            Self::Packed => write!(
                f,
                "a compressed log (log_store_compressed); unpack it with `fathom fio --inflate-log=FILE` first"
            ),
            Self::Utf16 => write!(
                f,
                "the file is in UTF-16, as some shells redirect; write it in UTF-8 (fio's --output does)"
            ),
        }
    }
}

impl std::error::Error for ImportError {}
