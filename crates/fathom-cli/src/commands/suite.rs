//! `fathom suite`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::Text;
use crate::common::{DisplayOptions, ExperimentOptions, MachineOptions};
use crate::parse::{CommandArgs, ParseStop, parse};
use crate::values;

pub(crate) const TEXT: Text = (
    "Run a named procedure (hero, surface, mysql-16k, pts-iops, ...), or list them",
    "Runs a procedure step by step and reports its result. Without a name it lists the procedures. The time that a procedure \
     takes, and what it writes, are shown before it starts.\n\n\
     A target that must not be written is only read, and the steps that write are skipped. With --machine the target is \
     on a simulated machine.",
    "Examples:
  fathom suite                             list the procedures
  fathom suite hero /dev/nvme0n1
  fathom suite pts-iops /dev/nvme0n1 --purge=discard --destroy=CODE
  fathom suite mysql-16k /mnt --dry-run    the steps and the time they take
  fathom suite working-set /dev/sim --machine hdd-7200

Procedures are recipes in TOML; docs/recipes.md explains how to write one.",
);

/// How a target is brought back to its initial state.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Discard all of the target
    Discard,
    /// Write zeros to all of the target
    Zeros,
    /// You have already purged it, with the format command of the device
    Done,
}

impl Purge {
    /// The sentence about it in the result.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Purge::Discard => {
                "The target was purged by discarding all of it, which not every device treats as a format."
            }
            Purge::Zeros => {
                "The target was not purged but written with zeros, which does not purge flash."
            }
            Purge::Done => "The user reports that the target was purged beforehand.",
        }
    }
}

/// Arguments of `fathom suite`.
#[derive(Args, Clone, Debug, Default)]
pub struct SuiteArgs {
    /// Name of the procedure
    pub name: Option<String>,
    /// Directory (a file is created in it and removed at the end), file or block device
    pub path: Option<PathBuf>,
    /// How to purge the target where a procedure requires it
    ///
    /// Without it the target is not purged, and the result says so.
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Target")]
    pub purge: Option<Purge>,
    /// Stop after this time in total
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub budget: Option<Duration>,
    /// Divide all times by N, to try a procedure; the result is marked as a rehearsal
    #[arg(long, value_name = "N", value_parser = values::whole_number::<2, 100_000>)]
    pub faster: Option<u32>,
    /// Read recipes from this directory too, besides ~/.config/fathom/suites; can be repeated
    #[arg(long = "suites", value_name = "DIR")]
    pub directories: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub common: ExperimentOptions,
    /// Write the verdicts as JUnit test cases to this file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
}

impl CommandArgs for SuiteArgs {
    const NAME: &'static str = "suite";

    fn machine(&self) -> MachineOptions {
        self.common.machine.clone()
    }

    fn hosts(&self) -> Option<&str> {
        self.common.hosts.hosts.as_deref()
    }

    fn display(&mut self, display: DisplayOptions) {
        self.common.observers.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        self.common.validate()
    }
}

impl SuiteArgs {
    /// Parses arguments that a run was started with.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(arguments: &[String]) -> Result<SuiteArgs, String> {
        parse(arguments)
            .map(|parsed| parsed.args)
            .map_err(ParseStop::into_text)
    }
}
