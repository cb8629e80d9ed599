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
    /// How busy storage keeps accelerators that train.
    pub training: Option<SuiteTraining>,
    /// What each tenant got, of a step with tenants.
    pub tenants: Vec<SuiteTenant>,
}

/// A load that shares the target with others, in one stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteTenant {
    /// Its name.
    pub name: String,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// The latency that is judged: `mean`, `p99`.
    pub figure: String,
    /// Its value, nanoseconds, of the direction with most I/Os.
    pub latency: f64,
    /// The highest acceptable value, nanoseconds.
    pub limit: Option<f64>,
    /// The same tenant alone: I/Os per second, and the latency.
    pub alone: Option<(f64, f64)>,
}

impl SuiteTenant {
    /// Whether it misses its limit. A tenant without a completed I/O misses every limit.
    #[must_use]
    pub fn breaks(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.latency > limit || self.iops <= 0.0)
    }

    /// I/Os per second as a share of those alone.
    #[must_use]
    pub fn of_alone(&self) -> Option<f64> {
        let (iops, _) = self.alone?;
        (iops > 0.0).then(|| self.iops / iops)
    }
}

/// Jain's index of the tenants' throughput as shares of what each has alone: 1 when all keep the same share, 1 / n when one of n
/// has everything. `None` for fewer than two tenants, or without figures alone.
#[must_use]
pub fn fairness(tenants: &[SuiteTenant]) -> Option<f64> {
    let shares: Option<Vec<f64>> = tenants.iter().map(SuiteTenant::of_alone).collect();
    let shares = shares.filter(|shares| shares.len() > 1)?;
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The utilisation of accelerators that train: ideal compute time divided by real time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteTraining {
    /// Numbers of accelerators with their utilisation, at most 1; none of cells that did not measure the device.
    pub utilisation: Vec<(u32, Option<f64>)>,
    /// The lowest acceptable utilisation, percent.
    pub least: u32,
    /// The most accelerators with that utilisation; `None` when no number has it.
    pub most: Option<u32>,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Jain, Chiu and Hawe, 1984: k of n users with equal shares and the others without have k / n.
    #[test]
    fn fairness_is_the_share_of_tenants_that_are_served() {
        let tenants = |shares: &[f64]| -> Vec<SuiteTenant> {
            let one = |share: &f64| SuiteTenant {
                iops: share * 500.0,
                alone: Some((500.0, 1.0)),
                ..SuiteTenant::default()
            };
            shares.iter().map(one).collect()
        };
        for (shares, known) in [
            (vec![0.5, 0.5, 0.5, 0.5], 1.0),
            (vec![1.0, 0.0, 0.0, 0.0], 0.25),
            (vec![1.0, 1.0, 1.0, 0.0], 0.75),
            (vec![1.0, 0.5], 0.9),
        ] {
            let found = fairness(&tenants(&shares)).expect("an index");
            assert!((found - known).abs() < 1e-9, "{shares:?}: {found}");
        }
        assert_eq!(fairness(&tenants(&[1.0])), None);
    }
}
