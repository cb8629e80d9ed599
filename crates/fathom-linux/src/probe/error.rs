//! Errors of examining and opening a target.

use fathom_device::Refusal;
use std::io;
use std::path::{Path, PathBuf};

/// The kernel refused to examine, open or mark a target.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {operation}: {source}{}", path.display(), advice(source))]
pub struct ProbeError {
    /// The operation, as in "cannot open the directory of".
    pub operation: &'static str,
    /// The path.
    pub path: PathBuf,
    /// The kernel's error.
    pub source: io::Error,
}

impl ProbeError {
    pub(super) fn new(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self {
            operation,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// What the user can do about an error of this kind.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run as a user with permission, or choose another target"
        }
        io::ErrorKind::NotFound => "; check the path, and create the directory first",
        _ => "",
    }
}

/// Why a target could not be held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// The second check, while the target was claimed, refused it.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The device has a known structure, and no file to save its first and last MiB to was given.
    #[error(
        "{}: it has a known structure; specify a file for a backup of its first and last MiB",
        .0.display()
    )]
    BackupRequired(PathBuf),
    /// The kernel returned an error.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

impl From<Refusal> for HoldError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
