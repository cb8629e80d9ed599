//! The input of `fathom check`, and the checks over it.

use fathom_model::{Finding, ImportedFigures, ImportedHosts, LatencyPercentiles};

use super::logs::ImportedLogs;
use super::number::NumberError;
use crate::catalogue::{FindingKind, checks};

/// The input of `fathom check`: results, and what their authors state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckInput {
    /// Results of one device.
    pub results: Vec<ImportedFigures>,
    /// The hosts of the results.
    pub hosts: ImportedHosts,
    /// Log files of results.
    pub logs: Vec<ImportedLogs>,
    /// Latency percentiles of each job.
    pub spreads: Vec<LatencyPercentiles>,
    /// Claimed percentiles of all jobs together: percentile (0 to 100) and nanoseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Figures that could not be parsed.
    pub malformed: Vec<NumberError>,
    /// Findings that the results contain.
    pub recorded: Vec<Finding>,
}

/// The findings of every check, worst first. Pure: the same input gives the same findings.
#[must_use]
pub fn judge(input: &CheckInput) -> Vec<Finding> {
    judge_with(input, &checks().collect::<Vec<_>>())
}

/// The findings of some checks.
#[must_use]
pub fn judge_with(input: &CheckInput, kinds: &[&FindingKind]) -> Vec<Finding> {
    let mut found: Vec<Finding> = kinds.iter().flat_map(|kind| kind.judge(input)).collect();
    let known = |recorded: &Finding| {
        found
            .iter()
            .any(|other| (other.code, &other.about) == (recorded.code, &recorded.about))
    };
    let recorded: Vec<Finding> = input
        .recorded
        .iter()
        .filter(|recorded| !known(recorded))
        .cloned()
        .collect();
    found.extend(recorded);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

/// The findings about one result by itself: its jobs are not repeats of each other.
pub(super) fn judge_alone(input: &CheckInput) -> Vec<Finding> {
    judge_with(
        input,
        &checks()
            .filter(|kind| !kind.across_results)
            .collect::<Vec<_>>(),
    )
}

/// The findings about one result by itself.
#[must_use]
pub fn judge_imported(figures: &ImportedFigures) -> Vec<Finding> {
    judge(&CheckInput {
        results: vec![figures.clone()],
        ..CheckInput::default()
    })
}

/// The findings of comparing several results of one device: the points of a sweep, or repeats.
#[must_use]
pub fn judge_sweep(points: &[ImportedFigures]) -> Vec<Finding> {
    let input = CheckInput {
        results: points.to_vec(),
        ..CheckInput::default()
    };
    let kinds: Vec<_> = checks().filter(|kind| kind.across_results).collect();
    judge_with(&input, &kinds)
}

/// Whether these logs, plotted as they are, contradict the summary.
#[must_use]
pub fn judge_logs(logs: &ImportedLogs) -> Option<Finding> {
    let input = CheckInput {
        logs: vec![logs.clone()],
        ..CheckInput::default()
    };
    judge(&input).into_iter().next()
}
