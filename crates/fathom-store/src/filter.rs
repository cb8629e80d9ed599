//! Which runs a list contains, and what a copy wrote.

use crate::RunId;

/// Selects runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Texts of which each is part of the run's name, kind, state or of one of its facts, in any case of letters.
    pub texts: Vec<String>,
    /// Labels that the run has, with their values.
    pub labels: Vec<(String, String)>,
    /// At most so many, the newest ones.
    pub newest: Option<u64>,
    /// Only runs that are older than this one: the next page of a list.
    pub before: Option<RunId>,
}

/// What a copy wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Runs.
    pub runs: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// How much larger the numbers of the copied runs are than those of the originals; 0 for an exact copy.
    pub renumbered_by: u64,
}
