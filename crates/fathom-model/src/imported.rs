//! Results of other programs, in our units: the same figures as those of our own runs, with the unknown ones listed.
//!
//! `fathom-import` fills these from text; `fathom_analyse::imported` turns them into [`crate::Findings`], like
//! those of our own runs.

use crate::{DiskSummary, Entry, ImportedHosts, JobFinding, Nanos};

/// One run of another program.
///
/// Its entries are those of the result, each with a [`crate::MergedInterval`] for every window of its logs. A figure that the result
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
    /// The hosts of a client/server result.
    pub hosts: ImportedHosts,
    /// The result is of a run of fathom, which judged it with more data than the result contains.
    pub judged: bool,
    /// Findings in the result that cannot be found again from its figures.
    pub recorded: Vec<RecordedFinding>,
}

/// A finding in a result of fathom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedFinding {
    /// Name of the entry it is about; `None` is the whole run.
    pub about: Option<String>,
    /// The finding.
    pub finding: JobFinding,
}

/// Where the figures of an imported result come from, and what is unknown about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Program and version, such as `fio-3.33`; empty where unknown.
    pub program: String,
    /// What it was read from: the result first, then its logs.
    pub files: Vec<String>,
    /// Unknown properties: `queue depth`, `device`.
    pub unknown: Vec<String>,
    /// Remarks of the importer, in sentences.
    pub notes: Vec<String>,
}
