//! What a plan will do, before it does it.

use std::path::PathBuf;

use crate::{Bytes, Nanos, PerDirection};

/// What the load will make of a plan, given the targets as they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanEstimate {
    /// One for each job of the plan, in its order.
    pub jobs: Vec<JobForesight>,
    /// Files that are looked at and laid out before the first I/O.
    pub files: Vec<FileForesight>,
}

/// One clone's part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobForesight {
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

/// A file as it is and as the jobs want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileForesight {
    /// Which.
    pub path: PathBuf,
    /// Its size now; 0 when it is not there.
    pub there: Bytes,
    /// The size it must have; 0 leaves it as it is.
    pub size: Bytes,
    /// It must hold data, not only have room.
    pub content: bool,
}

/// What will run, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanExplanation {
    /// What is done before the first I/O, a sentence for each file.
    pub before: Vec<String>,
    /// Steps that run one after another.
    pub steps: Vec<OutlookStep>,
    /// How the result will be divided.
    pub entries: Vec<String>,
    /// All bytes, all directions.
    pub total: PerDirection<Amount>,
    /// Shortest and longest duration from the first step to the last; no longest without a bound.
    pub time: (Nanos, Option<Nanos>),
    /// Most memory of I/O buffers at any time.
    pub buffers: Bytes,
    /// What is easily meant otherwise.
    pub cautions: Vec<String>,
}

/// Jobs that run at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutlookStep {
    /// Shortest and longest time it takes.
    pub time: (Nanos, Option<Nanos>),
    /// Its jobs, clones of a section as one.
    pub jobs: Vec<OutlookJob>,
}

/// All clones of one section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutlookJob {
    /// Its name.
    pub name: String,
    /// How many of it run.
    pub clones: usize,
    /// Its reporting group.
    pub group: u32,
    /// What it does: `random read, 4 KiB blocks, queue depth 32, io_uring, direct`.
    pub words: String,
    /// When it starts, relative to its step, as text.
    pub begins: String,
    /// Where: a line for each region.
    pub places: Vec<String>,
    /// The amount as text.
    pub amount: String,
    /// When it ends, as text.
    pub ends: String,
    /// Shortest and longest time of the job from the start of its step.
    pub time: (Nanos, Option<Nanos>),
    /// Bytes of all clones.
    pub bytes: PerDirection<Amount>,
}

/// Bytes that are not known to the last one before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// No fewer.
    pub least: u64,
    /// The most; `None` without a bound.
    pub most: Option<u64>,
}

impl Amount {
    /// Nothing at all.
    pub const NONE: Amount = Amount {
        least: 0,
        most: Some(0),
    };

    /// Exactly this many.
    #[must_use]
    pub const fn exactly(bytes: u64) -> Amount {
        Amount {
            least: bytes,
            most: Some(bytes),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Amount) -> Amount {
        let most = self.most.zip(other.most).map(|(a, b)| a.saturating_add(b));
        Amount {
            least: self.least.saturating_add(other.least),
            most,
        }
    }
}
