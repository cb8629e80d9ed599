//! The words after `fathom sweep`.

use std::path::PathBuf;

use fathom_plan::Axis;

use crate::args::{Arg, ArgSpec};
use crate::experiment::{CommonOptions, is_job_file, percent};

/// Splits of the same number outstanding that differ by less agree.
const AGREE: f64 = 0.10;
/// Repeats never end without a bound.
const MOST_REPEATS: u32 = 1000;

const WORDS: ArgSpec = ArgSpec {
    word: "sweep",
    flags: &[
        "--watch",
        "--adaptive",
        "--alone",
        "--read-only",
        "--readonly",
        "--keep",
        "--dry-run",
        "--json",
    ],
    values: &[
        "--agree",
        "--events",
        "--axis",
        "--for",
        "--budget",
        "--repeat",
        "--precision",
        "--set",
        "--size",
        "--destroy",
    ],
};

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct SweepArgs {
    pub terms: CommonOptions,
    pub job_file: Option<String>,
    pub paths: Vec<PathBuf>,
    pub axes: Vec<Axis>,
    pub repeat: Option<u32>,
    /// As a share.
    pub precision: Option<f64>,
    /// `--adaptive`, with the largest difference that still counts as agreement, as a share.
    pub agree: Option<f64>,
    /// Several targets are not loaded together.
    pub alone: bool,
}

impl SweepArgs {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(arguments: &[String]) -> Result<SweepArgs, String> {
        let mut asked = SweepArgs::default();
        asked.terms.store = WORDS.read(arguments, &mut |given| asked.take(given))?;
        asked.check()
    }

    fn take(&mut self, given: Arg<'_>) -> Result<(), String> {
        match given {
            Arg::Flag("--alone") => self.alone = true,
            Arg::Flag("--adaptive") => self.agree = Some(self.agree.unwrap_or(AGREE)),
            Arg::Value("--axis", value) => self
                .axes
                .push(Axis::parse(value).map_err(|error| format!("--axis: {error}"))?),
            Arg::Value(name @ "--repeat", value) => self.repeat = Some(count(name, value)?),
            Arg::Value(name @ "--agree", value) => {
                self.agree = Some(percent(name, value, (0.1, 100.0))?)
            }
            Arg::Value(name @ "--precision", value) => {
                self.precision = Some(percent(name, value, (0.1, 100.0))?)
            }
            Arg::Operand(word) if is_job_file(word) => {
                if let Some(first) = self.job_file.replace(word.to_owned()) {
                    return Err(format!("one job file at a time, not {first} and {word}"));
                }
            }
            Arg::Operand(word) => self.paths.push(word.into()),
            other => self.terms.take(other)?,
        }
        Ok(())
    }

    fn check(self) -> Result<SweepArgs, String> {
        let by_axis = self.axes.iter().any(|axis| axis.name == "target");
        if self.axes.is_empty() && self.paths.len() < 2 {
            return Err(
                "say what is varied, such as --axis bs=4k,16k --axis iodepth=1..64*2".to_owned(),
            );
        }
        if self.paths.is_empty() && self.job_file.is_none() && !by_axis {
            return Err("give a folder, a file, a device or a job file, such as `fathom sweep . --axis iodepth=1..64*2`".to_owned());
        }
        if by_axis && !self.paths.is_empty() {
            return Err("the axis target names the targets; leave the others out".to_owned());
        }
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!(
                "--axis {}: there are two axes of this name; give all values to one",
                names[twice]
            ));
        }
        self.terms.check()?;
        Ok(self)
    }
}

fn count(option: &str, text: &str) -> Result<u32, String> {
    let wrong = || {
        format!(
            "{option}: '{}' is no number from 1 to {MOST_REPEATS}",
            text.escape_debug()
        )
    };
    text.parse()
        .ok()
        .filter(|n| (1..=MOST_REPEATS).contains(n))
        .ok_or_else(wrong)
}
