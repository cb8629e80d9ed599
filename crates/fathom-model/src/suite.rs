//! Results of a suite.

use crate::{Grid, Nanos, Simulated};

/// The result of a suite: a procedure with its steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteResult {
    /// The recipe's name.
    pub name: String,
    /// What it measures.
    pub title: String,
    /// How to interpret it.
    pub about: String,
    /// The standard whose procedure it follows.
    pub procedure: Option<String>,
    /// The target.
    pub target: String,
    /// Deviations from the procedure.
    pub notes: Vec<String>,
    /// The result of each step.
    pub steps: Vec<SuiteStep>,
    /// The answer to its question, in one sentence.
    pub answer: Option<String>,
    /// Set where a simulated device was measured.
    pub simulated: Option<Simulated>,
}

/// One step of a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteStep {
    /// Its name.
    pub name: String,
    /// The same as text.
    pub title: String,
    /// One row for each cell; of rounds, those of the measurement window.
    pub grid: Grid,
    /// Rounds until steady state.
    pub rounds: Option<SuiteRounds>,
    /// Its cells over time, where the procedure reports them.
    pub timelines: Vec<CellTimeline>,
}

/// How a step reached its steady state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteRounds {
    /// The tracked metrics, with the value in each round.
    pub tracked: Vec<(String, Vec<f64>)>,
    /// Their unit: `IOPS`, `MB/s`, `us`.
    pub unit: String,
    /// The last round of the first steady window; `None` without one.
    pub steady: Option<u32>,
    /// The evaluation of the rule on the last window, and the result.
    pub sentences: Vec<String>,
}

/// A cell over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellTimeline {
    /// The cell.
    pub cell: String,
    /// I/Os per second, mean over its seconds.
    pub mean: f64,
    /// Standard deviation of its seconds, as a share of the mean.
    pub deviation: f64,
    /// IOPS of the slowest and of the fastest second.
    pub range: (f64, f64),
    /// The same as text.
    pub sentence: String,
    /// At most twenty equal parts of its time.
    pub slices: Vec<TimeSlice>,
}

/// A part of a cell's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSlice {
    /// From the start of the run.
    pub start: Nanos,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// 99th percentile over all its I/Os, nanoseconds.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}
