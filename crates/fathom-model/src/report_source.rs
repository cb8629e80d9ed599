//! One result as the input of a report.

use std::collections::BTreeMap;

use crate::{Dimension, JobFigures};

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
    /// The answer of the search that it belongs to; only its first result has it.
    pub search: Option<StoredAnswer>,
    /// What was measured, where and when.
    pub subject: ReportSubject,
}

/// What was measured, where and when. Unknown texts are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSubject {
    /// Model or name of the device, or the path of the target.
    pub device: String,
    /// Capacity, medium, transport and file system of the device.
    pub properties: String,
    /// The medium, by the name of [`crate::Medium`].
    pub medium: String,
    /// Kernel, CPUs and memory of the host.
    pub host: String,
    /// Date and time of the measurement.
    pub date: String,
    /// The program that measured.
    pub program: String,
    /// Number of drives below the target.
    pub drives: Option<u32>,
    /// How the target is built from them, such as `raid5`; empty for a drive by itself.
    pub array: String,
    /// Kind and payload rate, bytes per second, of the slowest link between the device and the host.
    pub link: Option<(String, f64)>,
}

/// The answer of a stored search, as `fathom search` gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAnswer {
    /// Name of the run.
    pub run: String,
    /// The answer and its explanation.
    pub sentences: Vec<String>,
    /// The first limit: a latency and its largest value, nanoseconds.
    pub slo: (Dimension, f64),
    /// The offered I/Os per second of the highest load within all limits; `None` if no load is.
    pub load: Option<u64>,
}

/// Queue settings by name, for each device: its kernel name, model and serial number.
pub type QueueSettings = BTreeMap<[String; 3], BTreeMap<String, String>>;
