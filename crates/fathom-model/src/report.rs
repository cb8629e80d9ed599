//! A report as data: sections of blocks, in the order in which every format shows them.

use crate::Chart;

/// The content of a report on one or several results. All texts are untrusted input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// The first section is the answer and has no heading.
    pub sections: Vec<ReportSection>,
}

/// A part of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportSection {
    /// Its heading; empty for the first.
    pub heading: String,
    /// Closed until the reader opens it, and left out in print.
    pub folded: bool,
    /// Its content.
    pub blocks: Vec<ReportBlock>,
}

/// A paragraph, table, chart or list.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportBlock {
    /// Device, host and date, in one line.
    Subject(String),
    /// The main statement.
    Answer(String),
    /// A heading inside a section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A remark.
    Note(String),
    /// `valid`, `degraded` or `invalid`, and the reason.
    Verdict {
        /// The verdict.
        verdict: String,
        /// Why, in one sentence.
        reason: String,
    },
    /// A table.
    Table(ReportTable),
    /// A chart.
    Chart(Box<ReportChart>),
    /// A finding.
    Finding(ReportFinding),
    /// Sentences, one a line.
    List(Vec<String>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A job file.
    Plan(String),
}

/// A chart with the texts that replace it for those who do not see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportChart {
    /// The chart.
    pub chart: Chart,
    /// Its main statement, in one sentence or two.
    pub statement: String,
    /// How its values are derived.
    pub derived: String,
}

/// A table whose first column names the row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportTable {
    /// What it shows.
    pub caption: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// Its rows, in groups.
    pub groups: Vec<ReportRows>,
}

/// Rows below a common heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportRows {
    /// The heading; may be empty.
    pub name: String,
    /// As many cells each as the table has columns.
    pub rows: Vec<Vec<ReportCell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportCell {
    /// Its text.
    pub text: String,
    /// The colour of the device that it names, an index of the palette.
    pub colour: Option<usize>,
    /// It is the best of its row or column.
    pub best: bool,
    /// Its share of the largest value of the table, 0 to 1, drawn as a shade.
    pub shade: Option<f64>,
}

impl From<String> for ReportCell {
    fn from(text: String) -> ReportCell {
        ReportCell {
            text,
            ..ReportCell::default()
        }
    }
}

impl From<&str> for ReportCell {
    fn from(text: &str) -> ReportCell {
        text.to_owned().into()
    }
}

/// A finding in a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportFinding {
    /// `F005 SHORT_IO`.
    pub name: String,
    /// 0 note, 1 degrades, 2 invalidates.
    pub severity: u8,
    /// Jobs or devices it is about; empty for all.
    pub about: Vec<String>,
    /// The evidence, with its figures.
    pub evidence: String,
    /// What the user can do about it.
    pub advice: String,
}

impl Report {
    /// All charts, in order.
    pub fn charts(&self) -> impl Iterator<Item = &ReportChart> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| match block {
            ReportBlock::Chart(chart) => Some(&**chart),
            _ => None,
        })
    }
}
