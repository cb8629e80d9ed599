//! A report as data: verdict and findings first, then the figures, the charts, and all that is needed to repeat it.

use crate::Chart;

/// The content of a report on one or several results. No text is trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// `valid`, `degraded`, `invalid`; `None` without a verdict.
    pub verdict: Option<String>,
    /// The results as sentences.
    pub summary: Vec<String>,
    /// What qualifies them, worst first.
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
    /// What the report leaves out, in sentences.
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
    /// What the probe showed.
    pub evidence: String,
    /// What to do about it.
    pub advice: String,
}
