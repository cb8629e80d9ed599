//! All that was handed in about a device, and the checks over it: each looks for one way in which figures of others mislead.

use fathom_model::{Finding, ImportedFigures, ImportedHosts, LatencyPercentiles};

use super::hosts::judge_hosts;
use super::logs::{ImportedLogs, judge_logs};
use super::merged::judge_percentile;
use super::number::NumberError;
use super::{claims, figures, link, repeats, spec, sweep::judge_sweep};

/// What `fathom check` is handed: results, and what is said of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckInput {
    /// Results, of one device.
    pub results: Vec<ImportedFigures>,
    /// The hosts that they come from.
    pub hosts: ImportedHosts,
    /// Log files of results.
    pub logs: Vec<ImportedLogs>,
    /// How the latencies of each job are spread.
    pub spreads: Vec<LatencyPercentiles>,
    /// Percentiles that are said to be those of all jobs together: which (0 to 100), and nanoseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Figures that could not be read.
    pub malformed: Vec<NumberError>,
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// Code of the findings it makes.
    pub code: &'static str,
    /// What is found, in the order of what was handed in.
    pub judge: fn(&CheckInput) -> Vec<Finding>,
}

/// Every check. What is handed in can be judged with any part of the list.
pub const CHECKS: [Check; 20] = [
    Check {
        code: "NUMBER_MALFORMED",
        judge: |handed| handed.malformed.iter().map(NumberError::finding).collect(),
    },
    Check {
        code: "NOTHING_DONE",
        judge: |handed| each(handed, figures::nothing_done),
    },
    Check {
        code: "IO_ERROR",
        judge: |handed| each(handed, figures::failed),
    },
    Check {
        code: "SUMMARY_DISAGREES",
        judge: |handed| each(handed, figures::counted),
    },
    Check {
        code: "LITTLE_DISAGREES",
        judge: |handed| each(handed, figures::little),
    },
    Check {
        code: "PER_JOB_FIGURES",
        judge: |handed| each(handed, figures::per_job),
    },
    Check {
        code: "ABOVE_LINK",
        judge: |handed| each(handed, link::above),
    },
    Check {
        code: "IN_FLIGHT_MISCOUNTED",
        judge: |handed| each(handed, claims::in_flight),
    },
    Check {
        code: "LINE_CODING_IGNORED",
        judge: |handed| each(handed, claims::line_coding),
    },
    Check {
        code: "HEADROOM_MISJUDGED",
        judge: |handed| each(handed, claims::headroom),
    },
    Check {
        code: "PATTERN_MISNAMED",
        judge: |handed| each(handed, claims::pattern),
    },
    Check {
        code: "BLOCK_ASSUMED",
        judge: |handed| each(handed, claims::block),
    },
    Check {
        code: "ATTACHMENT_IN_THE_WAY",
        judge: |handed| each(handed, claims::attachment),
    },
    Check {
        code: "PART_NUMBER_DISAGREES",
        judge: |handed| each(handed, spec::part_number),
    },
    Check {
        code: "REPEATS_CACHED",
        judge: |handed| each(handed, repeats::cached),
    },
    Check {
        code: "SPEC_MISSED",
        judge: |handed| handed.results.iter().flat_map(spec::missed).collect(),
    },
    Check {
        code: "STATE_DIFFERS",
        judge: |handed| judge_sweep(&handed.results),
    },
    Check {
        code: "HOST_LOST",
        judge: |handed| judge_hosts(&handed.hosts).into_iter().collect(),
    },
    Check {
        code: "PERCENTILES_AVERAGED",
        judge: percentiles,
    },
    Check {
        code: "LOGS_MISLEAD",
        judge: |handed| handed.logs.iter().filter_map(judge_logs).collect(),
    },
];

fn each(handed: &CheckInput, check: fn(&ImportedFigures) -> Option<Finding>) -> Vec<Finding> {
    handed.results.iter().filter_map(check).collect()
}

fn percentiles(handed: &CheckInput) -> Vec<Finding> {
    handed
        .percentiles
        .iter()
        .filter_map(|(percent, ns)| judge_percentile(&handed.spreads, *percent, *ns))
        .collect()
}

/// What is wrong with what was handed in, worst first. Pure: the same figures give the same words.
#[must_use]
pub fn judge_handed(handed: &CheckInput) -> Vec<Finding> {
    judge_handed_with(handed, &CHECKS)
}

/// The same by some checks.
#[must_use]
pub fn judge_handed_with(handed: &CheckInput, checks: &[Check]) -> Vec<Finding> {
    let mut found: Vec<Finding> = checks
        .iter()
        .flat_map(|check| (check.judge)(handed))
        .collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

/// What is wrong with one result by itself.
#[must_use]
pub fn judge_imported(imported: &ImportedFigures) -> Vec<Finding> {
    judge_handed(&CheckInput {
        results: vec![imported.clone()],
        ..CheckInput::default()
    })
}
