//! Why a result cannot be read.

use std::io;

use crate::scan::{Cause, HistLogError, LogError};

/// Why a file cannot be imported, and where in the file the reason is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It cannot be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] Cause<io::Error>),
    /// It is empty.
    #[error("the file is empty: the run wrote no result")]
    Empty,
    /// It is larger than [`crate::LARGEST`] bytes and not a log.
    #[error("larger than 256 MiB, more than any fio result")]
    TooLarge,
    /// Its JSON has more values than [`crate::MOST_VALUES`].
    #[error(
        "has more than {} values, more than any fio result",
        crate::MOST_VALUES
    )]
    TooManyValues,
    /// It contains neither JSON nor a terse line nor normal output, and it is not a log.
    #[error(
        "not a fio result: no JSON document, no terse line, no text output and no log; use --output-format=json"
    )]
    NoDocument,
    /// The JSON is malformed.
    #[error("malformed JSON in line {line}: {why}")]
    Malformed {
        /// Line, from 1, counted from the start of the document.
        line: usize,
        /// The message of the JSON parser, without the position.
        why: String,
        /// The error of the JSON parser.
        source: Cause<serde_json::Error>,
    },
    /// It is JSON, but not a result of fio.
    #[error("not a fio result: the JSON document has no 'jobs' or 'client_stats'")]
    NoJobs,
    /// An invalid figure.
    #[error("invalid {name}: {value}")]
    Figure {
        /// Name of the figure.
        name: String,
        /// Its value in the file.
        value: String,
    },
    /// An invalid line of a log file.
    #[error("line {line}: {why}")]
    LogLine {
        /// Line, from 1.
        line: usize,
        /// What is expected there.
        why: &'static str,
    },
    /// An invalid line of a histogram log.
    #[error("{0}")]
    HistLine(#[source] Cause<HistLogError>),
    /// A log whose name does not say what it contains.
    #[error(
        "a log whose kind is unknown; name it as fio does: NAME_bw.1.log, or iops, lat, clat, slat"
    )]
    LogOfWhat,
    /// A log in the compressed format of `log_store_compressed`.
    #[error(
        "a compressed log (log_store_compressed); unpack it with `fathom fio --inflate-log=FILE` first"
    )]
    Packed,
    /// Text in UTF-16.
    #[error(
        "the file is in UTF-16, as some shells redirect; write it in UTF-8 (fio's --output does)"
    )]
    Utf16,
}

impl From<io::Error> for ImportError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(Cause::new(error))
    }
}

impl From<LogError> for ImportError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Unreadable(cause) => Self::Unreadable(cause),
            LogError::Line { line, why } => Self::LogLine { line, why },
            LogError::Histogram(cause) => Self::HistLine(cause),
        }
    }
}
