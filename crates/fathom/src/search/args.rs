//! The words after `fathom search`.

use std::path::PathBuf;

use fathom_analyse::{LoadArrivals, SloLimit};

use crate::args::{Arg, ArgSpec};
use crate::experiment::{CommonOptions, is_job_file, percent};

const WORDS: ArgSpec = ArgSpec {
    word: "search",
    flags: &["--watch", "--read-only", "--readonly", "--keep", "--json"],
    values: &[
        "--slo",
        "--max",
        "--arrivals",
        "--events",
        "--for",
        "--budget",
        "--precision",
        "--set",
        "--size",
        "--destroy",
    ],
};

/// What is told first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Iops,
    MegaBytes,
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct SearchArgs {
    pub terms: CommonOptions,
    pub job_file: Option<String>,
    pub path: Option<PathBuf>,
    pub limits: Vec<SloLimit>,
    pub unit: Unit,
    pub arrivals: LoadArrivals,
    /// As a share.
    pub precision: Option<f64>,
}

impl SearchArgs {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(arguments: &[String]) -> Result<SearchArgs, String> {
        let mut asked = SearchArgs::default();
        asked.terms.store = WORDS.read(arguments, &mut |given| asked.take(given))?;
        if asked.path.is_none() && asked.job_file.is_none() {
            return Err("give a folder, a file, a device or a job file, such as `fathom search . --slo 'p99<=1ms'`".to_owned());
        }
        asked.terms.check()?;
        Ok(asked)
    }

    fn take(&mut self, given: Arg<'_>) -> Result<(), String> {
        match given {
            Arg::Value("--slo", value) => self
                .limits
                .push(value.parse().map_err(|error| format!("--slo: {error}"))?),
            Arg::Value("--max", value) => {
                self.unit = match value {
                    "iops" => Unit::Iops,
                    "mbps" | "mb/s" => Unit::MegaBytes,
                    _ => {
                        return Err(format!(
                            "--max: '{}' is neither iops nor mbps",
                            value.escape_debug()
                        ));
                    }
                }
            }
            Arg::Value("--arrivals", value) => {
                self.arrivals = match value {
                    "poisson" => LoadArrivals::Poisson,
                    "even" => LoadArrivals::Even,
                    _ => {
                        return Err(format!(
                            "--arrivals: '{}' is neither poisson nor even",
                            value.escape_debug()
                        ));
                    }
                }
            }
            Arg::Value(name @ "--precision", value) => {
                self.precision = Some(percent(name, value, (0.1, 50.0))?)
            }
            Arg::Operand(word) => return self.operand(word),
            other => self.terms.take(other)?,
        }
        Ok(())
    }

    fn operand(&mut self, word: &str) -> Result<(), String> {
        let before = if is_job_file(word) {
            self.job_file.replace(word.to_owned())
        } else {
            self.path
                .replace(word.into())
                .map(|path| path.display().to_string())
        };
        match before {
            None => Ok(()),
            Some(first) => Err(format!("one at a time, not {first} and {word}")),
        }
    }
}
