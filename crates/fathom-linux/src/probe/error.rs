//! What can go wrong while looking at or opening a target.

use fathom_device::Refusal;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The kernel would not let us look, open or mark.
#[derive(Debug)]
pub struct ProbeError {
    /// What was being done, as in "cannot open the folder of".
    pub doing: &'static str,
    /// To which path.
    pub path: PathBuf,
    /// The kernel's answer.
    pub source: io::Error,
}

impl ProbeError {
    pub(super) fn new(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: cannot {}: {}",
            self.path.display(),
            self.doing,
            self.source
        )?;
        let kind = self.source.kind();
        match kind {
            io::ErrorKind::PermissionDenied => {
                write!(f, "; run as a user who may, or choose another target")
            }
            io::ErrorKind::NotFound => write!(f, "; check the path, and create the folder first"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why a target is not held.
#[derive(Debug)]
pub enum HoldError {
    /// The second look, with the claim in hand, ended in a refusal.
    Refused(Box<Refusal>),
    /// The device holds something known, and no place was given to save its ends to.
    BackupWanted(PathBuf),
    /// The kernel said no.
    Probe(ProbeError),
}

impl From<Refusal> for HoldError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<ProbeError> for HoldError {
    fn from(error: ProbeError) -> Self {
        Self::Probe(error)
    }
}

impl fmt::Display for HoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::BackupWanted(path) => {
                let path = path.display();
                write!(
                    f,
                    "{path}: it holds something known; name a file to save its first and last MiB to before it is written"
                )
            }
            Self::Probe(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HoldError {}
