//! What a plan will do: the result of a dry run.

use std::path::PathBuf;

use crate::{Bytes, Nanos, PerDirection};

/// The work that a plan amounts to on the targets in their present state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanEstimate {
    /// One for each job of the plan, in its order.
    pub jobs: Vec<JobEstimate>,
    /// Files that are checked and laid out before the first I/O.
    pub files: Vec<FileEstimate>,
}

/// The part of one clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobEstimate {
    /// Path, start, and end (exclusive).
    pub regions: Vec<(PathBuf, u64, u64)>,
    /// Passes over the regions; `None` where something else ends them.
    pub passes: Option<u64>,
    /// Bytes after which the job ends, where they are counted.
    pub bytes: Option<u64>,
    /// I/Os after which the job ends, where they are counted.
    pub ios: Option<u64>,
    /// Memory of its I/O buffers.
    pub buffers: Bytes,
}

/// The present and the required state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEstimate {
    /// Its path.
    pub path: PathBuf,
    /// Its present size; 0 if it does not exist.
    pub current_size: Bytes,
    /// The required size; 0 leaves it unchanged.
    pub size: Bytes,
    /// It must contain data, not only reserved space.
    pub needs_data: bool,
}

/// What will run, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanExplanation {
    /// What is done before the first I/O, one sentence for each file.
    pub preparation: Vec<String>,
    /// Steps that run one after another.
    pub steps: Vec<ExplainedStep>,
    /// How the result will be divided.
    pub entries: Vec<String>,
    /// All bytes, all directions.
    pub total: PerDirection<Amount>,
    /// Shortest and longest duration from the first step to the last; `None` without an upper bound.
    pub time: (Nanos, Option<Nanos>),
    /// Most memory of I/O buffers at any time.
    pub buffers: Bytes,
    /// Likely misunderstandings of the job file.
    pub cautions: Vec<String>,
}

/// Jobs that run at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainedStep {
    /// Shortest and longest time it takes.
    pub time: (Nanos, Option<Nanos>),
    /// Its jobs, clones of a section as one.
    pub jobs: Vec<ExplainedJob>,
}

/// All clones of one section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainedJob {
    /// Its name.
    pub name: String,
    /// Number of clones.
    pub clones: usize,
    /// Its reporting group.
    pub group: u32,
    /// What it does: `random read, 4 KiB blocks, queue depth 32, io_uring, direct`.
    pub workload: String,
    /// When it starts, relative to its step, as text.
    pub start: String,
    /// One line for each region.
    pub regions: Vec<String>,
    /// The amount as text.
    pub amount: String,
    /// How many different blocks a skewed job touches, as text.
    pub repeats: Option<String>,
    /// When it ends, as text.
    pub end: String,
    /// Shortest and longest time of the job from the start of its step.
    pub time: (Nanos, Option<Nanos>),
    /// Bytes of all clones.
    pub bytes: PerDirection<Amount>,
}

/// Bounds of an amount of I/O in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Lower bound.
    pub min: u64,
    /// Upper bound; `None` without one.
    pub max: Option<u64>,
}

impl Amount {
    /// Zero bytes.
    pub const NONE: Amount = Amount {
        min: 0,
        max: Some(0),
    };

    /// Exactly `bytes`.
    #[must_use]
    pub const fn exactly(bytes: u64) -> Amount {
        Amount {
            min: bytes,
            max: Some(bytes),
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Amount) -> Amount {
        let max = self.max.zip(other.max).map(|(a, b)| a.saturating_add(b));
        Amount {
            min: self.min.saturating_add(other.min),
            max,
        }
    }
}
