//! The data of the view. Its size is bounded: the same after a week as after a minute.

use std::collections::VecDeque;
use std::time::Duration;

use fathom_model::Finding;

/// Rows of the latency heat map: less than 10 us, 32 us, 100 us and so on, two rows per decade; the
/// last has no limit.
pub const DECADES: usize = 12;
/// Maximum number of steps: more than a terminal has columns.
const STEPS: usize = 512;
/// Maximum number of findings and of lines of finished cells.
const LINES: usize = 64;

/// About a second of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Median latency in nanoseconds; `None` if no I/O completed.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Number of I/Os by latency, in half decades from 10 us.
    pub heat: [u64; DECADES],
}

/// The content of the screen.
#[derive(Clone, Debug, Default)]
pub struct View {
    #[cfg_attr(
        not(feature = "screen"),
        expect(dead_code, reason = "only the screen shows it")
    )]
    pub(crate) title: String,
    /// Name of the cell, its number, and the number of cells.
    pub(crate) cell: (String, usize, usize),
    /// Completed share of the cell.
    pub(crate) share: Option<f64>,
    pub(crate) left: Option<Duration>,
    /// Status of the cell.
    pub(crate) status: String,
    pub(crate) steps: VecDeque<Step>,
    /// (code, evidence)
    pub(crate) findings: Vec<(String, String)>,
    pub(crate) done: VecDeque<String>,
}

impl View {
    /// An experiment that has not started.
    #[must_use]
    pub fn new(title: &str) -> View {
        View {
            title: plain(title),
            ..View::default()
        }
    }

    /// Starts a cell.
    pub fn begin(&mut self, name: &str, number: usize, all: usize) {
        self.cell = (plain(name), number, all);
        self.share = None;
        self.status.clear();
        self.findings.clear();
    }

    /// Updates the running cell: its completed share, its status, and the remaining time of all
    /// cells.
    pub fn progress(&mut self, share: Option<f64>, status: &str, left: Option<Duration>) {
        (self.share, self.left) = (share.map(|share| share.clamp(0.0, 1.0)), left);
        self.status = plain(status);
    }

    /// Adds a second.
    pub fn step(&mut self, step: Step) {
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
    }

    /// Replaces the findings of the running cell.
    pub fn found(&mut self, findings: &[Finding]) {
        self.findings = findings
            .iter()
            .take(LINES)
            .map(|finding| (finding.code.to_owned(), plain(&finding.evidence)))
            .collect();
    }

    /// Ends a cell with its result in one line.
    pub fn end(&mut self, line: &str) {
        if self.done.len() == LINES {
            self.done.pop_front();
        }
        self.done.push_back(plain(line));
    }
}

/// Names come from files and devices and must not contain escape sequences.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
