//! One result as the input of a report.

use std::collections::BTreeMap;

use crate::JobFigures;

/// One result, by whichever program, as a report shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSource {
    /// Name of the result.
    pub source: String,
    /// Its jobs.
    pub jobs: Vec<JobFigures>,
    /// `valid`, `degraded` or `invalid`, if it was judged.
    pub verdict: Option<String>,
    /// The answer of the experiment that it is a part of.
    pub answer: Option<String>,
    /// Its summary sentences, one text for each job.
    pub summaries: Vec<String>,
    /// Device, host, conditions: headings, each with names and values.
    pub facts: Vec<(String, Vec<(String, String)>)>,
    /// The job file.
    pub plan: String,
}

/// Queue settings by name, for each device: its kernel name, model and serial number.
pub type QueueSettings = BTreeMap<[String; 3], BTreeMap<String, String>>;
