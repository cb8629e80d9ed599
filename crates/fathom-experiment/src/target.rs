//! The target of an experiment.

use std::path::PathBuf;

use fathom_model::Bytes;

/// A target, and what the experiment may do to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentTarget {
    /// A file or a device.
    pub file: PathBuf,
    /// Its name where there are several: the path as given, with its file system.
    pub display_name: String,
    /// How much of it is used; `None` is all.
    pub size: Option<Bytes>,
    /// Whether it may be written.
    pub writes: bool,
    /// The experiment created it, or an earlier one did in the same directory.
    pub made: bool,
}
