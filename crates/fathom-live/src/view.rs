//! What the view knows. All of it is bounded: it is as large after a week as after a minute.

use std::collections::VecDeque;
use std::time::Duration;

use fathom_model::Finding;

/// Rows of the heat strip: latencies of less than 10 us, 32 us, 100 us and so on, a row for each half of a decade, then all above.
pub const DECADES: usize = 12;
/// Steps that are kept: more than a terminal has columns.
const STEPS: usize = 512;
/// Lines of finished cells, and findings.
const LINES: usize = 64;

/// About a second of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Median latency, nanoseconds; nothing where nothing completed.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// How many I/Os took how long, by half decades from 10 us.
    pub heat: [u64; DECADES],
}

/// Everything that is drawn.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub(crate) title: String,
    /// Name of the cell, its number, how many there are.
    pub(crate) cell: (String, usize, usize),
    /// Share of the cell that is over.
    pub(crate) share: Option<f64>,
    pub(crate) left: Option<Duration>,
    /// What the cell does, in words.
    pub(crate) words: String,
    pub(crate) steps: VecDeque<Step>,
    /// (code, evidence)
    pub(crate) findings: Vec<(String, String)>,
    pub(crate) done: VecDeque<String>,
}

impl View {
    /// An experiment that has not begun.
    #[must_use]
    pub fn new(title: &str) -> View {
        View {
            title: plain(title),
            ..View::default()
        }
    }

    /// A cell begins.
    pub fn begin(&mut self, name: &str, number: usize, all: usize) {
        self.cell = (plain(name), number, all);
        self.share = None;
        self.words.clear();
        self.findings.clear();
    }

    /// How the cell stands: the share of it that is over, what it does, and how long all of it goes on.
    pub fn progress(&mut self, share: Option<f64>, words: &str, left: Option<Duration>) {
        (self.share, self.left) = (share.map(|share| share.clamp(0.0, 1.0)), left);
        self.words = plain(words);
    }

    /// Another second.
    pub fn step(&mut self, step: Step) {
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
    }

    /// What is found so far in the running cell.
    pub fn found(&mut self, findings: &[Finding]) {
        self.findings = findings
            .iter()
            .take(LINES)
            .map(|finding| (finding.code.to_owned(), plain(&finding.evidence)))
            .collect();
    }

    /// A cell came to this line.
    pub fn end(&mut self, line: &str) {
        if self.done.len() == LINES {
            self.done.pop_front();
        }
        self.done.push_back(plain(line));
    }
}

/// Names come from files and devices; only the view speaks to the terminal.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
