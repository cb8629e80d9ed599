//! `fathom limits`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::{MachineOptions, ResultOptions, StoreOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Find the limits of a volume: burst credits, IOPS and bandwidth limits",
    "Reads 4 KiB blocks as fast as the volume allows until its burst ends, then measures the base rate with one I/O in flight and \
     with other block sizes, lets the volume rest and measures how much has come back. Says base rate, burst rate, the size \
     of the token bucket, what the limit counts (I/Os, bytes, or I/Os of at most so many bytes), and which volume of a \
     provider has these limits.\n\n\
     It uses up the burst of the volume: until the bucket is full again, everything on it runs at the base rate. The cost in \
     time is printed first. A file that fathom did not create, and a device, are only read.",
    "Examples:
  fathom limits /mnt/data                    in two minutes, a file in this directory
  fathom limits /dev/nvme1n1 --runtime=1h    a gp2 volume needs up to 50 minutes until its burst ends
  fathom limits /data --machine 'limit(nvme-ssd, iops=300, burst=5400000)' --runtime=1h

Exit codes: 0 the limits are known (or none was met), 3 undecided: I/O failed or the space was not enough.",
);

/// The shortest time in which each measurement means something.
const SHORTEST: Duration = Duration::from_secs(20);

/// Arguments of `fathom limits`.
#[derive(Args, Clone, Debug)]
pub struct LimitsArgs {
    /// Directory (a file is created in it and removed at the end), file or block device
    pub path: PathBuf,
    /// Time to measure
    ///
    /// Time of all measurements together, without the preparation; at least 20s. Half of it drains the bucket.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = runtime)]
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
    /// Show what would be done, and exit
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
}

impl CommandArgs for LimitsArgs {
    const NAME: &'static str = "limits";

    fn machine(&self) -> MachineOptions {
        self.machine.clone()
    }
}

fn runtime(text: &str) -> Result<Duration, String> {
    match values::time(text)? {
        time if time >= SHORTEST => Ok(time),
        _ => Err("too short for meaningful figures: at least 20s".to_owned()),
    }
}
