//! `fathom quick`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::{HostsOptions, MachineOptions, MeasurementOptions, SheetOptions, StoreOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Measure the main figures of a disk in about a minute",
    "Measures small random reads and writes at low and high queue depth, large sequential ones, a mix, and commits. Prints \
     each row as it is measured, then one table, the verdict, the queue depth that the device needs, and the class of the device.\n\n\
     A file that fathom did not create, and a device, are only read.",
    "Examples:
  fathom quick .                        the disk of this directory
  fathom quick /dev/nvme0n1             a device, only read
  fathom quick /mnt --runtime=30s --json
  fathom quick . --dry-run > quick.fio  the job file it would run; `fathom run` runs it too",
);

/// The shortest time in which the figures mean something.
const SHORTEST: Duration = Duration::from_secs(10);

/// Arguments of `fathom quick`.
#[derive(Args, Clone, Debug)]
pub struct QuickArgs {
    /// Directory (a file is created in it and removed at the end), file or block device
    pub path: PathBuf,
    /// Time to measure
    ///
    /// Time of all measurements together, preparation included; at least 10s.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = runtime)]
    pub runtime: Duration,
    /// Write nothing to the target
    #[arg(long, help_heading = "Target")]
    pub read_only: bool,
    /// Create the file if it does not exist
    #[arg(long, help_heading = "Target")]
    pub create: bool,
    /// Keep the file that was created for the measurement
    #[arg(long, help_heading = "Target")]
    pub keep: bool,
    /// Show the figures while they are measured
    ///
    /// Throughput, latencies and findings over time, in a full-screen view.
    #[arg(long, help_heading = "Output")]
    pub watch: bool,
    /// Show what would be done, and exit
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub hosts: HostsOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sheets: SheetOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: MeasurementOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
    /// Write the verdicts as JUnit test cases to this file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
}

impl CommandArgs for QuickArgs {
    const NAME: &'static str = "quick";

    fn machine(&self) -> MachineOptions {
        self.machine.clone()
    }

    fn hosts(&self) -> Option<&str> {
        self.hosts.hosts.as_deref()
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.hosts.hosts.is_some() && self.watch {
            return Err("--watch does not work with --hosts; leave it out".to_owned());
        }
        self.hosts.validate()
    }
}

fn runtime(text: &str) -> Result<Duration, String> {
    match values::time(text)? {
        time if time >= SHORTEST => Ok(time),
        _ => Err("too short for meaningful figures: at least 10s".to_owned()),
    }
}
