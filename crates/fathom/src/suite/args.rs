//! The words after `fathom suite`.

use std::path::PathBuf;

use crate::args::{Arg, ArgSpec};
use crate::experiment::CommonOptions;

const WORDS: ArgSpec = ArgSpec {
    word: "suite",
    flags: &[
        "--watch",
        "--read-only",
        "--readonly",
        "--keep",
        "--dry-run",
        "--json",
    ],
    values: &[
        "--suites",
        "--events",
        "--size",
        "--destroy",
        "--purge",
        "--faster",
    ],
};

/// How a target is brought back to its first state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// All of it is discarded.
    Discard,
    /// All of it is written with zeros.
    Zeros,
    /// The user did it, with the device's own command.
    Done,
}

impl Purge {
    /// What is said of it with the result.
    pub fn words(self) -> &'static str {
        match self {
            Purge::Discard => {
                "The target was purged by discarding all of it, which not every device takes for a format."
            }
            Purge::Zeros => {
                "The target was not purged but written with zeros, which is no purge for flash."
            }
            Purge::Done => "The target was purged beforehand, as the user says.",
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct SuiteArgs {
    pub terms: CommonOptions,
    pub name: Option<String>,
    pub path: Option<PathBuf>,
    pub folders: Vec<String>,
    pub purge: Option<Purge>,
    /// Times are divided by this.
    pub faster: Option<u32>,
}

impl SuiteArgs {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(arguments: &[String]) -> Result<SuiteArgs, String> {
        let mut asked = SuiteArgs::default();
        asked.terms.store = WORDS.read(arguments, &mut |given| asked.take(given))?;
        asked.terms.check()?;
        Ok(asked)
    }

    fn take(&mut self, given: Arg<'_>) -> Result<(), String> {
        match given {
            Arg::Value("--suites", value) => self.folders.push(value.to_owned()),
            Arg::Value("--faster", value) => {
                let times = value
                    .parse()
                    .ok()
                    .filter(|times| (2..=100_000).contains(times));
                self.faster = Some(times.ok_or_else(|| {
                    format!(
                        "--faster: '{}' is no number from 2 to 100000",
                        value.escape_debug()
                    )
                })?);
            }
            Arg::Value("--purge", value) => {
                self.purge = Some(match value {
                    "discard" => Purge::Discard,
                    "zeros" => Purge::Zeros,
                    "done" => Purge::Done,
                    _ => {
                        return Err(format!(
                            "--purge: '{}' is none of discard, zeros and done",
                            value.escape_debug()
                        ));
                    }
                });
            }
            Arg::Operand(word) if self.name.is_none() => self.name = Some(word.to_owned()),
            Arg::Operand(word) => {
                if let Some(first) = self.path.replace(word.into()) {
                    return Err(format!(
                        "one target at a time, not {} and {word}",
                        first.display()
                    ));
                }
            }
            other => self.terms.take(other)?,
        }
        Ok(())
    }
}
