//! Limits on the change between two results.

use crate::{ComparisonRow, Verdict};

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
    /// The largest allowed change, as a share.
    pub allowed: f64,
    /// The metric and its change.
    pub row: ComparisonRow,
    /// The outcome.
    pub outcome: GateOutcome,
}

/// A compared result with its own verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedInput {
    /// The devices that its results name.
    pub drives: Vec<String>,
    /// File, directory or stored run.
    pub name: String,
    /// The worst verdict of its results.
    pub verdict: Verdict,
    /// Codes of the findings that lower the verdict.
    pub findings: Vec<String>,
    /// How many of its results were simulated.
    pub simulated: usize,
    /// How many were measured.
    pub measured: usize,
}
