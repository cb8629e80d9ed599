//! Recipes: named procedures in TOML. See `docs/recipes.md`.

mod cells;
mod profile;
mod read;
mod table;
mod tenants;
mod tests;

use std::fmt;

use fathom_model::{Bytes, Nanos, ReadyFigure};

use super::axis::Axis;

pub use self::cells::{RunTarget, Setting};
pub use self::profile::{
    Profile, ProfileJob, ProfilePlace, ProfileStep, profile_place, read_profile,
};
pub use self::read::read_recipe;
pub use self::tenants::LIMITED_STEP;

/// A procedure: steps on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// One line about what it measures.
    pub title: String,
    /// Its origin, and how to interpret its result.
    pub about: String,
    /// The standard that defines the procedure, if any.
    pub procedure: Option<String>,
    /// Size of the file that is created in a directory, where there is space.
    pub size: Option<Bytes>,
    /// Time of a cell, unless its step sets one.
    pub time: Nanos,
    /// Options of all steps.
    pub options: Vec<(String, String)>,
    /// The steps, in order; those of tenants follow the others.
    pub steps: Vec<Step>,
    /// Loads that share the target and join one after another.
    pub tenants: Vec<Tenant>,
    /// The name of its file.
    pub source: String,
    /// The text of that file.
    pub text: String,
}

/// A part of a procedure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Unique in its recipe.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// A job file; by default a single job with this name.
    pub job: Option<String>,
    /// Options of all its cells.
    pub options: Vec<(String, String)>,
    /// Options on targets that must not be written; without any, cells that write are left out there.
    pub read_only: Vec<(String, String)>,
    /// Every combination of their values is a cell; the first axis is the outer loop.
    pub axes: Vec<Axis>,
    /// Axes whose values are percentages of the result of an earlier step.
    pub levels: Vec<Level>,
    /// Time of a cell.
    pub time: Option<Nanos>,
    /// Instead of a time: the size of the target is transferred this many times.
    pub passes: Option<u32>,
    /// Number of parallel jobs, each with its own part of the target.
    pub share: Option<u32>,
    /// It preconditions the target and is not part of the result.
    pub prepares: bool,
    /// The procedure requires a purged target before this step.
    pub purge: bool,
    /// It is repeated until it reaches a steady state.
    pub rounds: Option<Rounds>,
    /// Its time series is a result.
    pub series: bool,
    /// The job whose figures are the result; by default all jobs together.
    pub judged: Option<String>,
    /// Its jobs are the read threads of accelerators that train; their number is its only axis.
    pub training: Option<Training>,
    /// The step transfers a small copy of this many bytes, and its result says how long all of them take.
    pub stands_for: Option<Bytes>,
    /// The tenants that run in it, by their position in the recipe.
    pub tenants: Vec<usize>,
    /// The tenants join one after another during the cell, at equal distances.
    pub joining: bool,
}

/// A load that shares the target with others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tenant {
    /// Unique in its recipe.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Its sections of a job file; of an application one that waits while the application runs.
    pub job: String,
    /// The engine and the options of `fathom app`, where it is an application in place of a job.
    pub app: Option<String>,
    /// The names of these sections.
    pub sections: Vec<String>,
    /// The latency that it needs, of the direction with most I/Os.
    pub limit: Option<(ReadyFigure, Nanos)>,
    /// Options that restrict it in the last stage.
    pub limited: Vec<(String, String)>,
    /// Rates to which the kernel restricts its process in the last stage.
    pub io_max: Vec<(String, u64)>,
}

/// Accelerators that train: each reads samples as fast as it computes with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Training {
    /// Bytes of a sample.
    pub sample: u32,
    /// Samples of a batch.
    pub batch: u32,
    /// Time to compute with a batch.
    pub compute: Nanos,
    /// Threads that read for one accelerator.
    pub read_threads: u32,
    /// The lowest acceptable utilisation, percent.
    pub least: u32,
}

impl Training {
    /// Bytes per second that one accelerator reads when it never waits.
    #[must_use]
    pub fn demand(&self) -> f64 {
        f64::from(self.sample) * f64::from(self.batch) / self.compute.as_secs_f64()
    }
}

/// An axis whose values are percentages of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The option, such as `reads.rate_iops`.
    pub option: String,
    /// The step that measured 100 %.
    pub of: String,
    /// The figure.
    pub figure: Tracked,
    /// The percentages.
    pub percent: Vec<u32>,
}

/// Rounds until the last five are in a steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// Maximum number of rounds.
    pub max: u32,
    /// Cells of the step, by their values, whose figure must be steady.
    pub tracked: Vec<Vec<(String, String)>>,
    /// The figure.
    pub figure: Tracked,
    /// Load before each round, which is not judged.
    pub soak: Option<Nanos>,
    /// The rounds end when this many times the size of the target has been written.
    pub written: Option<u32>,
}

/// A figure that is tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracked {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Mean,
}

/// An invalid recipe: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeError {
    /// The file.
    pub file: String,
    /// Line in it, from 1; 0 for the file itself.
    pub line: usize,
    /// What is wrong, and how to fix it.
    pub problem: String,
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.escape_debug();
        if self.line == 0 {
            write!(f, "{file}: {}", self.problem)
        } else {
            write!(f, "{file}:{}: {}", self.line, self.problem)
        }
    }
}

impl std::error::Error for RecipeError {}
