//! Results of other programs, in our units: the same figures as those of our own runs, with what is not known of them.
//!
//! `fathom-import` fills these from text; `fathom_analyse::imported` makes [`crate::Findings`] of them, which everything that shows or
//! compares a run takes.

use crate::{DiskSummary, Entry, Nanos};

/// One run of another program.
///
/// Its entries are those of the result, each with a [`crate::Moment`] for every window of its logs. A figure that the result
/// does not have is empty: a `depth` of 0 is unknown, as is an empty `rw`.
#[derive(Clone, Debug, Default)]
pub struct ImportedResult {
    /// Where it comes from.
    pub source: Provenance,
    /// When the result was written, milliseconds since 1970; 0 where unknown.
    pub written_unix_ms: u64,
    /// Length of the run as far as it is known.
    pub elapsed: Nanos,
    /// Options of the global section.
    pub globals: Vec<(String, Option<String>)>,
    /// Jobs, or groups of clones reported as one.
    pub entries: Vec<Entry>,
    /// Block devices below the targets.
    pub disks: Vec<DiskSummary>,
}

/// Where the figures of an imported result come from, and what they lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Program and version, such as `fio-3.33`; empty where unknown.
    pub program: String,
    /// What it was read from: the result first, then its logs.
    pub files: Vec<String>,
    /// What is not known, in a few words each: `queue depth`, `device`.
    pub unknown: Vec<String>,
    /// What was noticed while reading, in sentences.
    pub notes: Vec<String>,
}
