//! `fathom spec`.

use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::{MachineOptions, ResultOptions, SheetOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Show the data sheet of a device, and check whether the device meets it",
    "Without PATH, lists the data sheets. With PATH, shows the sheet of its device. With --run, measures each figure under the \
     conditions of the sheet, and explains each figure that is not reached.",
    "Examples:
  fathom spec
  fathom spec /dev/nvme0n1
  fathom spec /dev/nvme0n1 --run --runtime=30s
  fathom spec --list-links",
);

/// The longest time for a figure.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Arguments of `fathom spec`.
#[derive(Args, Clone, Debug)]
pub struct SpecArgs {
    /// Device, or a file or directory on it
    #[arg(id = "path")]
    pub path: Option<String>,
    /// Measure each figure of the sheet
    #[arg(long)]
    pub run: bool,
    /// List all known links with their line rate, coding and usable rate
    #[arg(long, conflicts_with_all = ["path", "run", "writes", "destroy", "sheet", "specs"])]
    pub list_links: bool,
    /// Time to measure
    ///
    /// Time of each figure, 1 to 86400 seconds.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = runtime)]
    pub runtime: Duration,
    /// Measure writes too
    #[arg(long, help_heading = "Target")]
    pub writes: bool,
    /// Confirm that the data on this target may be destroyed
    #[arg(long, value_name = "CODE", help_heading = "Target")]
    pub destroy: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sheets: SheetOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
}

impl CommandArgs for SpecArgs {
    const NAME: &'static str = "spec";

    fn machine(&self) -> MachineOptions {
        self.machine.clone()
    }

    fn finish(&mut self) -> Result<(), String> {
        self.writes |= !self.destroy.is_empty();
        Ok(())
    }
}

fn runtime(text: &str) -> Result<Duration, String> {
    values::time(text)
        .ok()
        .filter(|time| (Duration::from_secs(1)..=LONGEST).contains(time))
        .filter(|time| time.subsec_nanos() == 0)
        .ok_or_else(|| "not 1 to 86400 whole seconds".to_owned())
}
