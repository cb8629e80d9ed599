//! `fathom compare`.

use std::path::PathBuf;

use clap::Args;
use fathom_analyse::{InvalidLimit, Limit};

use super::Text;
use crate::common::{ResultOptions, StoreSource};
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Compare results or groups of repeats",
    "Compares results job by job: each of the others with the first. A result is a file of fathom or fio (JSON, json+, terse, \
     logs), a directory of them, or a stored run (r12, r12.3, latest). Intervals over time (json+ of fathom, logs of fio) show \
     whether a difference is statistically significant, and how small a difference would have been detected.\n\n\
     With --vs each side is a group of repeats of the same measurement: differences are then judged by the spread between \
     repeats, and results without intervals are enough.",
    "Examples:
  fathom compare before.json after.json
  fathom compare r12 r13 --fail-if=p99:+5% --fail-if=iops:-3%
  fathom compare a1.json a2.json a3.json --vs b1.json b2.json b3.json

Exit codes: 0 compared, and every --fail-if limit passes; 1 a limit fails; 2 refused; 3 no limit fails, but one is inconclusive.",
);

/// Arguments of `fathom compare`.
#[derive(Args, Clone, Debug, Default)]
pub struct CompareArgs {
    /// The results to compare; the others are compared with the first
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,
    /// Repeats of another measurement; the results before --vs are repeats of the first; can be repeated
    #[arg(long, value_name = "RESULT", num_args = 1.., action = clap::ArgAction::Append)]
    pub vs: Vec<String>,
    /// Fail when a metric changed significantly and by more than this; can be repeated
    ///
    /// Each limit passes, fails or is inconclusive: it passes if the 95 % confidence interval of the change lies within it, and is
    /// inconclusive if the results vary too much, or have no intervals. METRIC is iops, bw, mean, p50, p99 or p99.9: p99:+5%, iops:-3%.
    #[arg(long, value_name = "METRIC:CHANGE", value_parser = limit)]
    pub fail_if: Vec<(String, Limit)>,
    /// Show how even the rates are over time
    ///
    /// Standard deviation, slowest and fastest interval, period, and the shift between the two results, each direction for itself.
    #[arg(long)]
    pub shape: bool,
    /// Compare although the plans differ
    #[arg(long)]
    pub unlike: bool,
    /// Write the table as Markdown to this file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
    /// Write the verdicts as JUnit test cases to this file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
    /// The results by group; each group has one result or more.
    #[arg(skip)]
    pub groups: Vec<Vec<String>>,
}

impl CommandArgs for CompareArgs {
    const NAME: &'static str = "compare";

    fn occurrences(&mut self, matches: &clap::ArgMatches) {
        let sides = matches
            .get_occurrences::<String>("vs")
            .map(|sides| sides.map(|side| side.cloned().collect()));
        self.groups = match sides {
            Some(sides) => std::iter::once(self.results.clone()).chain(sides).collect(),
            None => self.results.iter().map(|name| vec![name.clone()]).collect(),
        };
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.groups.len() < 2 {
            return Err("nothing to compare with: give two results or more, such as `fathom compare BEFORE AFTER`".to_owned());
        }
        Ok(())
    }
}

/// A limit with its text, which messages repeat.
fn limit(text: &str) -> Result<(String, Limit), InvalidLimit> {
    Ok((text.to_owned(), text.parse()?))
}
