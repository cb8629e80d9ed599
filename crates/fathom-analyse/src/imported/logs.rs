//! Checks log files of fio: an interval in which nothing completed has no row, so rows of several
//! jobs with one number are of different times.

use fathom_model::{Finding, Weight};

use super::CheckInput;
use crate::figures::{count, percent, rate, share};

/// Above this share of missing rows, sums by row number are misleading.
const MISSING_PERCENT: f64 = 1.0;

/// The IOPS logs of one result, averaged over a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedLogs {
    /// Their name.
    pub name: String,
    /// Window of a row, milliseconds (`log_avg_msec`).
    pub window_ms: u64,
    /// Length of the run, milliseconds.
    pub runtime_ms: u64,
    /// I/Os of the run by its summary.
    pub total_ios: u64,
    /// For each job its rows: end of the window in milliseconds, I/Os per second in it.
    pub jobs: Vec<Vec<(u64, f64)>>,
}

impl ImportedLogs {
    /// Rows that a run of this length should have.
    fn expected(&self) -> u64 {
        self.runtime_ms / self.window_ms.max(1) * self.jobs.len() as u64
    }

    /// I/Os that the rows account for, each over its window.
    #[must_use]
    pub fn accounted(&self) -> f64 {
        let window = self.window_ms as f64 / 1e3;
        self.jobs
            .iter()
            .flatten()
            .map(|(_, iops)| iops * window)
            .sum()
    }

    /// Mean I/Os per second if rows are added by their number and longer logs are cut to the
    /// shortest.
    #[must_use]
    pub fn by_row_number(&self) -> f64 {
        let rows = self.jobs.iter().map(Vec::len).min().unwrap_or(0);
        let sum: f64 = self
            .jobs
            .iter()
            .flat_map(|job| &job[..rows])
            .map(|(_, iops)| iops)
            .sum();
        if rows == 0 { 0.0 } else { sum / rows as f64 }
    }
}

/// Whether these logs, drawn as they are, contradict the summary.
pub(crate) fn mislead(input: &CheckInput) -> Vec<Finding> {
    input.logs.iter().filter_map(missing_rows).collect()
}

fn missing_rows(logs: &ImportedLogs) -> Option<Finding> {
    let rows: u64 = logs.jobs.iter().map(|job| job.len() as u64).sum();
    let expected = logs.expected();
    let missing = expected.saturating_sub(rows);
    if expected == 0 || share(missing, expected) < MISSING_PERCENT {
        return None;
    }
    let shortest = logs.jobs.iter().map(Vec::len).min().unwrap_or(0);
    let evidence = format!(
        "{} of {} rows are missing ({}; the shortest of {} logs has {shortest}): where nothing completed fio writes no row. \
         Added by row number they show {} I/Os per second, the summary says {}; the rows account for {} of its I/Os.",
        count(missing),
        count(expected),
        percent(share(missing, expected)),
        logs.jobs.len(),
        rate(logs.by_row_number()),
        rate(logs.total_ios as f64 * 1e3 / (logs.runtime_ms as f64).max(1.0)),
        percent(logs.accounted() * 100.0 / (logs.total_ios as f64).max(1.0)),
    );
    let advice = "Add logs by time, with zeros where there is no row, never by row number; trust the summary.";
    let name = (!logs.name.is_empty()).then(|| logs.name.clone());
    Some(Finding {
        id: "",
        code: "",
        weight: Weight::Degrades,
        about: name,
        evidence,
        advice: advice.to_owned(),
        when: Vec::new(),
    })
}
