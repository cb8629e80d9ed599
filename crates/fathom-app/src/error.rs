//! Why a database could not be run.

use std::io;
use std::path::{Path, PathBuf};

/// Why a database could not be prepared or run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// A file or folder cannot be used.
    #[error("{}: {operation}: {}", .path.display(), reason(.error))]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        operation: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// No room.
    #[error(
        "{}: no room for the database: free some space, choose a smaller --scale, or another path", .0.display()
    )]
    Full(PathBuf),
    /// A statement failed.
    #[error("{engine}: {message}")]
    Statement {
        /// The engine.
        engine: &'static str,
        /// Its message.
        message: String,
    },
    /// The engine is not installed.
    #[error("{0}")]
    Missing(String),
    /// A program of the engine failed; its last lines.
    #[error("{program} failed ({status}):\n{log}")]
    Program {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines of what it said.
        log: String,
    },
    /// The request cannot be carried out by this engine.
    #[error("{0}")]
    Request(String),
}

impl AppError {
    /// An error of a file; a full disk has its own message.
    pub(crate) fn file(path: &Path, operation: &'static str, error: io::Error) -> AppError {
        if error.kind() == io::ErrorKind::StorageFull {
            return AppError::Full(path.to_owned());
        }
        AppError::File {
            path: path.to_owned(),
            operation,
            error,
        }
    }
}

/// The text of an error without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}
