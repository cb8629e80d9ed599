//! Why a log cannot be read.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::hist_log::HistLogError;

/// Why a log cannot be read, and where in it the reason is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It cannot be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] Cause<io::Error>),
    /// An invalid line.
    #[error("line {line}: {why}")]
    Line {
        /// Line, from 1.
        line: usize,
        /// What is expected there.
        why: &'static str,
    },
    /// An invalid line of a histogram log.
    #[error("{0}")]
    Histogram(#[source] Cause<HistLogError>),
}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(Cause::new(error))
    }
}

impl From<HistLogError> for LogError {
    fn from(error: HistLogError) -> Self {
        Self::Histogram(Cause::new(error))
    }
}

/// The error behind a [`LogError`], or behind the error of an import. Two of them are equal if their messages are.
#[derive(Debug)]
pub struct Cause<E>(Arc<E>);

impl<E> Cause<E> {
    /// Wraps `error`.
    #[must_use]
    pub fn new(error: E) -> Self {
        Self(Arc::new(error))
    }

    /// The error itself.
    #[must_use]
    pub fn get(&self) -> &E {
        &self.0
    }
}

impl<E> Clone for Cause<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E: fmt::Display> PartialEq for Cause<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl<E: fmt::Display> Eq for Cause<E> {}

impl<E: fmt::Display> fmt::Display for Cause<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Error> Error for Cause<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
