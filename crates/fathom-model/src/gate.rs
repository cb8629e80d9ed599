//! Limits on the change between two results.

use crate::{Direction, Metric, Verdict};

/// The outcome of one limit for one metric of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateOutcome {
    /// The 95 % confidence interval of the change lies within the limit.
    Pass,
    /// The change is beyond the limit, or may be, but the results do not show it with 95 % confidence.
    Inconclusive,
    /// The metric changed significantly and by more than the limit allows.
    Fail,
}

impl GateOutcome {
    /// The word that reports print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GateOutcome::Pass => "PASS",
            GateOutcome::Inconclusive => "INCONCLUSIVE",
            GateOutcome::Fail => "FAIL",
        }
    }
}

/// One limit applied to one metric of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The limit as it was written: `p99:+5%`.
    pub limit: String,
    /// Name of the job.
    pub job: String,
    /// Direction of the I/O.
    pub direction: Direction,
    /// The metric.
    pub metric: Metric,
    /// Its value in the first result, in the unit of the metric.
    pub before: f64,
    /// Its value in the second result.
    pub after: f64,
    /// `after / before - 1`.
    pub change: f64,
    /// The largest allowed change, as a share.
    pub allowed: f64,
    /// 95 % confidence interval of the change, as shares. `None` if the results have too few intervals or repeats.
    pub interval: Option<(f64, f64)>,
    /// The outcome.
    pub outcome: GateOutcome,
}

/// A compared result with its own verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedInput {
    /// File, directory or stored run.
    pub name: String,
    /// The worst verdict of its results.
    pub verdict: Verdict,
    /// Codes of the findings that lower the verdict.
    pub findings: Vec<String>,
}
