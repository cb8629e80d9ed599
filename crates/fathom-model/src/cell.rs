//! A cell: one point of an experiment and what was measured there.

use crate::Recording;
use crate::names::named;

/// One point of an experiment. Its [`CellContent`] is large and stored separately.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCell {
    /// Its position in the experiment, from 1: the third cell of run `r12` is `r12.3`.
    pub position: u64,
    /// Name and value of each axis, in order. Empty in a run of one cell.
    pub axes: Vec<(String, String)>,
    /// The job file.
    pub plan: String,
    /// Its state.
    pub state: CellState,
    /// Wall clock at its start, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// How long it took, nanoseconds.
    pub elapsed_ns: u64,
    /// `valid`, `degraded` or `invalid`; empty without a verdict.
    pub verdict: String,
    /// The figures that lists, tables and charts show, in SI units without prefix: `iops`, `bandwidth` (B/s), `p99` (s).
    pub figures: Vec<(String, f64)>,
    /// Findings about the figures, worst first.
    pub findings: Vec<StoredFinding>,
    /// Further remarks, such as the unknown properties of an imported result.
    pub notes: Vec<String>,
}

impl Default for StoredCell {
    fn default() -> Self {
        StoredCell {
            position: 1,
            axes: Vec::new(),
            plan: String::new(),
            state: CellState::Finished,
            started_unix_ns: 0,
            elapsed_ns: 0,
            verdict: String::new(),
            figures: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// The state of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellState {
    /// Being measured, or its process was killed.
    Running,
    /// Measured to its end.
    Finished,
    /// Measured in part: it was interrupted.
    Interrupted,
    /// It could not be measured; `notes` contain the reason.
    Failed,
}

named!(CellState {
    Running => "running",
    Finished => "finished",
    Interrupted => "interrupted",
    Failed => "failed",
});

impl CellState {
    /// The state with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<CellState> {
        CellState::ALL
            .iter()
            .copied()
            .find(|state| state.name() == name)
    }
}

/// A finding as it was when the cell was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFinding {
    /// Stable name, such as `SHORT_IO`.
    pub code: String,
    /// `note`, `degrades` or `invalidates`.
    pub weight: String,
    /// The job it is about; empty is the whole run.
    pub about: String,
    /// The sentence with its figures.
    pub evidence: String,
}

/// What was measured in a cell.
#[derive(Clone, Debug)]
pub enum CellContent {
    /// Nothing (yet).
    Nothing,
    /// The whole recording.
    Recording(Box<Recording>),
    /// A result of another program, as it was read.
    Imported {
        /// Its format, such as `fio json`.
        format: String,
        /// Every byte of it.
        bytes: Vec<u8>,
    },
}
