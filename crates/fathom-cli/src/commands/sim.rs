//! `fathom sim`.

use clap::Args;

use super::Text;
use crate::common::{DisplayOptions, MachineOptions, ResultOptions, StoreOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Run job files on a simulated device",
    "Runs the jobs of fio job files on a model of a device, in virtual time: a minute of a slow disk takes milliseconds. The \
     targets of the jobs are files on that device; nothing is opened, created or written. A job without a size uses the whole \
     device. The same jobs, device and seed give the same result.\n\n\
     Results say that they are simulated. Reports, charts and comparisons work as with measured ones. It is short for \
     `fathom run JOB.fio --machine MODEL`; every command that measures has this option.",
    "Examples:
  fathom sim job.fio --machine hdd-7200
  fathom sim job.fio --machine 'sata-600(hdd-7200, order=fifo)' --set iodepth=32 --json
  fathom sim --models

A model has parameters, which a composition can change: 'hdd-7200(rpm=10000)'. Quantities need units: 8.2ms, 64k, 160MB/s.
Models of your own are TOML files in the folder fathom/models of the configuration directory ($XDG_CONFIG_HOME or ~/.config).",
);

/// Arguments of `fathom sim`.
#[derive(Args, Clone, Debug, Default)]
pub struct SimArgs {
    /// Job files
    #[arg(value_name = "JOB.fio")]
    pub job_files: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    /// List the models and the kinds of models
    #[arg(long, help_heading = "Simulation")]
    pub models: bool,
    /// Override an option of the jobs; shown in every result
    #[arg(long, value_name = "OPTION=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl CommandArgs for SimArgs {
    const NAME: &'static str = "sim";

    fn machine(&self) -> MachineOptions {
        self.machine.clone()
    }

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.models {
            return Ok(());
        }
        if self.job_files.is_empty() {
            return Err(
                "no job file: give one, such as `fathom sim job.fio --machine hdd-7200`".to_owned(),
            );
        }
        if self.machine.machine.is_none() {
            return Err("no machine: give one, such as --machine hdd-7200; `fathom sim --models` lists the models".to_owned());
        }
        Ok(())
    }
}
