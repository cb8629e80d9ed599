//! `fathom replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::Text;
use super::profile::TraceOptions;
use crate::common::{DisplayOptions, MeasurementFormat, MeasurementOptions, StoreOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Repeat the I/O of a trace on another target, at its own times",
    "Sends each I/O of a trace to a file or a device when the trace says so, whatever the latency of the target is, and reports latency, \
     lag, what was not sent, and how true the replay was (its fidelity score). The trace can have any format that fathom profile reads.\n\n\
     A file that does not exist is created and filled first, so that reads find data. As with fathom run, a device or a file with data \
     is written only with --destroy=CODE; a trace that only reads needs no permission.",
    "Examples:
  fathom replay load.trace --on /mnt/new/replay.data
  fathom replay load.trace --on /dev/nvme1n1 --speed=2
  fathom replay volume.csv.gz --on ./replay.data --size=10g --map=scale
  fathom replay load.trace --on ./replay.data --closed       as fast as the target allows, at the depth of the trace
  fathom replay load.trace --on ./replay.data --dependencies   as fast as the order of the trace allows
  fathom replay two-disks.trace --on ./a.data --on ./b.data  the devices of the trace in turn",
);

/// How offsets of a trace are mapped to a target of another size.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMapping {
    /// Offset modulo the size
    Wrap,
    /// In proportion, in regions of 1 MiB
    Scale,
    /// Regions of 1 MiB at pseudo-random places
    Hash,
}

/// Arguments of `fathom replay`.
#[derive(Args, Clone, Debug, Default)]
pub struct ReplayArgs {
    /// Trace to replay
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// File or device to replay on; repeat it for several devices of the trace
    ///
    /// The devices of the trace go to the targets in the order of their first I/O, again from the first when there are more devices.
    #[arg(long, value_name = "TARGET", required = true)]
    pub on: Vec<PathBuf>,
    /// Speed, as a factor on that of the trace
    #[arg(long, value_name = "FACTOR", value_parser = values::parsed::<f64>, default_value = "1", help_heading = "Time")]
    pub speed: f64,
    /// As fast as the target allows, with as many I/Os in flight as in the trace on average
    #[arg(long, conflicts_with = "speed", help_heading = "Time")]
    pub closed: bool,
    /// As fast as the target allows, each I/O after those that had completed before it in the trace
    ///
    /// An I/O starts as soon as all I/Os have completed that had completed in the trace before it was issued there. Pauses of the
    /// application are left out. The trace must have latencies.
    #[arg(long, conflicts_with_all = ["speed", "closed"], help_heading = "Time")]
    pub dependencies: bool,
    /// Time to measure
    ///
    /// Without it the whole trace.
    #[arg(long, value_name = "TIME", value_parser = values::runtime, help_heading = "Time")]
    pub runtime: Option<Duration>,
    /// How offsets are mapped to a target that is smaller than the trace
    ///
    /// Sequential I/O within 1 MiB stays sequential.
    #[arg(long, value_name = "RULE", help_heading = "Place")]
    pub map: Option<ReplayMapping>,
    /// Use this much of the target
    ///
    /// Without it those of the device or the file, and for a new file up to the last I/O of the trace.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Place")]
    pub size: Option<fathom_model::Bytes>,
    /// Use the page cache
    #[arg(long, help_heading = "Place")]
    pub buffered: bool,
    /// Confirm that the data on this target may be destroyed
    #[arg(long, value_name = "CODE")]
    pub destroy: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: TraceOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: MeasurementOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl ReplayArgs {
    /// The format of the result.
    #[must_use]
    pub fn format(&self) -> MeasurementFormat {
        self.result.format()
    }
}

impl CommandArgs for ReplayArgs {
    const NAME: &'static str = "replay";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        if !self.speed.is_finite() || self.speed <= 0.0 || self.speed > 1e6 {
            return Err("--speed: the factor must be greater than 0".to_owned());
        }
        Ok(())
    }
}
