//! `fathom fsync`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Text;
use super::size::SizeFormat;
use crate::common::{MachineOptions, OutputOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Compare the methods of making a write durable",
    "Measures commits, each a write that must survive a power cut: open_datasync, fdatasync, fsync, open_sync, RWF_DSYNC, and io_uring \
     with a linked sync; with one and two writes of 8 KiB, then the fastest method with 512 bytes to 64 KiB and with 1 to 64 clients \
     whose commits are grouped. Prints commits per second, median, 99th percentile and maximum, what the device did for a commit, \
     and which method to choose.",
    "Examples:
  fathom fsync /var/lib/postgresql
  fathom fsync . --runtime=60s --json",
);

/// Each of about twenty measurements needs some commits.
const SHORTEST: Duration = Duration::from_secs(4);

/// Arguments of `fathom fsync`.
#[derive(Args, Clone, Debug)]
pub struct FsyncArgs {
    /// Directory (a file is created in it and removed at the end)
    pub path: PathBuf,
    /// Time to measure
    ///
    /// Time of all measurements together; at least 4s.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = runtime)]
    pub runtime: Duration,
    /// Keep the file that was created for the measurement
    #[arg(long, help_heading = "Target")]
    pub keep: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: OutputOptions<SizeFormat>,
}

impl CommandArgs for FsyncArgs {
    const NAME: &'static str = "fsync";

    fn machine(&self) -> MachineOptions {
        self.machine.clone()
    }
}

fn runtime(text: &str) -> Result<Duration, String> {
    match values::time(text)? {
        time if time >= SHORTEST => Ok(time),
        _ => Err("too short for all methods: at least 4s".to_owned()),
    }
}
