//! Recipes: named procedures as TOML that anyone can read and write. See `docs/recipes.md`.

mod cells;
mod read;
mod table;
mod tests;

use std::fmt;

use fathom_model::{Bytes, Nanos};

use super::axis::Axis;

pub use self::cells::{RunTarget, Setting};
pub use self::read::read_recipe;

/// A procedure: steps on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recipe {
    /// What it is called by.
    pub name: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from and how to read its result.
    pub about: String,
    /// The standard whose procedure it is, where it is one.
    pub procedure: Option<String>,
    /// Size of the file that is made in a folder, where there is room.
    pub size: Option<Bytes>,
    /// How long a cell takes where its step does not say.
    pub time: Nanos,
    /// Options of all steps.
    pub options: Vec<(String, String)>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// The file it is from.
    pub source: String,
    /// The text of that file.
    pub text: String,
}

/// A part of a procedure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Unique in its recipe.
    pub name: String,
    /// The same in words.
    pub title: String,
    /// A job file; without one there is a single job of this name.
    pub job: Option<String>,
    /// Options of all its cells.
    pub options: Vec<(String, String)>,
    /// Options where the target may not be written; without any, cells that write are left out there.
    pub read_only: Vec<(String, String)>,
    /// Every combination of their values is a cell, the first axis in the outer loop.
    pub axes: Vec<Axis>,
    /// Axes whose values are shares of what an earlier step came to.
    pub levels: Vec<Level>,
    /// How long a cell takes.
    pub time: Option<Nanos>,
    /// In place of a time: so many times the size of the target is moved.
    pub passes: Option<u32>,
    /// So many jobs at once, each with its own part of the target.
    pub share: Option<u32>,
    /// It brings the target into a state and is no result.
    pub prepares: bool,
    /// The procedure wants the target purged before this step.
    pub purge: bool,
    /// It is repeated until it is steady.
    pub rounds: Option<Rounds>,
    /// Its course over time is a result.
    pub series: bool,
    /// The job whose figures are the result; without it all jobs together.
    pub judged: Option<String>,
}

/// An axis whose values are shares of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The option, such as `reads.rate_iops`.
    pub option: String,
    /// The step that measured the whole.
    pub of: String,
    /// What of it.
    pub figure: Tracked,
    /// The shares.
    pub percent: Vec<u32>,
}

/// Rounds until the last five are steady.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// No more than this.
    pub most: u32,
    /// Cells of the step, by their values, whose figure must be steady.
    pub tracked: Vec<Vec<(String, String)>>,
    /// What of them.
    pub figure: Tracked,
    /// Load without a check before each round.
    pub soak: Option<Nanos>,
    /// The rounds end when so many times the size of the target has been written.
    pub written: Option<u32>,
}

/// A figure that is followed.
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

/// What is wrong with a recipe, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeError {
    /// The file.
    pub file: String,
    /// Line in it, from 1; 0 where the file itself is meant.
    pub line: usize,
    /// What, and how to mend it.
    pub what: String,
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.escape_debug();
        if self.line == 0 {
            write!(f, "{file}: {}", self.what)
        } else {
            write!(f, "{file}:{}: {}", self.line, self.what)
        }
    }
}

impl std::error::Error for RecipeError {}
