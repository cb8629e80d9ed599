//! A report as data: verdict and findings first, then the figures, the charts, and everything needed to repeat the run.

use crate::Chart;

/// The content of a report on one or several results. All texts are untrusted input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// `valid`, `degraded`, `invalid`; `None` without a verdict.
    pub verdict: Option<String>,
    /// The results as sentences.
    pub summary: Vec<String>,
    /// The findings, worst first.
    pub findings: Vec<ReportFinding>,
    /// Device, host, conditions: headings with names and values.
    pub facts: Vec<(String, Vec<(String, String)>)>,
    /// The figures of every job: a head and rows.
    pub figures: Vec<Vec<String>>,
    /// Charts, each with a text on how its figures were computed.
    pub charts: Vec<(Chart, String)>,
    /// Every job over time, where there are intervals.
    pub over_time: Vec<Chart>,
    /// How the figures over time were computed.
    pub over_time_derived: String,
    /// What was run, in full: a name and its text.
    pub plans: Vec<(String, String)>,
    /// What the report omits, in sentences.
    pub notes: Vec<String>,
}

/// A finding in a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportFinding {
    /// `F005 SHORT_IO`.
    pub name: String,
    /// 0 note, 1 degrades, 2 invalidates.
    pub severity: u8,
    /// Jobs it is about; empty for all.
    pub about: Vec<String>,
    /// The evidence, with its figures.
    pub evidence: String,
    /// What the user can do about it.
    pub advice: String,
}
