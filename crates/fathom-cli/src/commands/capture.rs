//! `fathom capture`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::DisplayOptions;
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Record the block I/O of any program in a compact trace",
    "Records each request of a device, process or control group from the kernel's block tracepoints: time, latency, time in the block \
     layer, offset, size, direction, flags and process. The trace has about 10 bytes for each I/O. fathom profile makes a job file of \
     it, fathom replay repeats it, fathom fidelity compares it with another one. Needs root.\n\n\
     Without --runtime it records until Ctrl-C. The file is valid at any time: after kill -9 or on a full disk, all I/O up to the last \
     second before is in it. Processes are numbered, not named, unless --names is given; data is never recorded. Events that are lost \
     under very high load are counted in the file, and lower its fidelity.",
    "Examples:
  fathom capture /dev/nvme0n1 -o load.trace --runtime=10m
  fathom capture /var/lib/postgresql -o load.trace --names   the device of this directory, with names of processes
  fathom capture --cgroup /system.slice/mysql.service -o load.trace
  fathom capture /dev/sda -o incident.trace --last=10m --stop-above=50ms
                      keep the last 10 minutes; write them when the 99th percentile of a second is above 50 ms
  fathom capture /dev/sda -o day.trace --max-size=1g --rotate=24
                      files of 1 GiB: day.trace, day.trace.2 and so on; the last 24 are kept
  fathom capture /dev/sda -o - --runtime=1m   to standard output, for a pipe",
);

/// Arguments of `fathom capture`.
#[derive(Args, Clone, Debug, Default)]
pub struct CaptureArgs {
    /// Device, or a file or directory on it; without one: all devices
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Write results to FILE
    ///
    /// The trace; - is standard output, for a pipe to a program that compresses it.
    #[arg(
        short,
        long = "output",
        value_name = "FILE",
        required = true,
        help_heading = "Output"
    )]
    pub output: PathBuf,
    /// Watch this process; can be repeated
    ///
    /// The I/O of other processes does not count. Writes through the page cache are submitted later by threads of the kernel and do not count.
    #[arg(long, value_name = "PID", help_heading = "Processes")]
    pub pid: Vec<u32>,
    /// Only the I/O of processes in this control group and those below it
    ///
    /// A directory below /sys/fs/cgroup, or the name of the group as in /proc/PID/cgroup.
    #[arg(long, value_name = "PATH", conflicts_with = "pid", value_parser = values::not_empty, help_heading = "Processes")]
    pub cgroup: Option<String>,
    /// Keep the names and numbers of processes
    ///
    /// Without it processes are numbered from 1 in the order of their first I/O.
    #[arg(long, help_heading = "Processes")]
    pub names: bool,
    /// Time to measure
    ///
    /// Without it until Ctrl-C.
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub runtime: Option<Duration>,
    /// Keep only the I/O of this time before the end
    ///
    /// The trace is in memory and is written at the end: nothing is left after kill -9.
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub last: Option<Duration>,
    /// Largest trace; the capture ends there
    ///
    /// With --last the memory for the trace, 256m without this option; the oldest I/O makes room.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub max_size: Option<fathom_model::Bytes>,
    /// Go on in another file when one has --max-size, and keep the last COUNT of them
    ///
    /// The files are FILE, FILE.2, FILE.3 and so on; each is a whole trace. Files of an earlier capture stay: the numbers go on
    /// after the last of them.
    #[arg(long, value_name = "COUNT", requires = "max_size", conflicts_with = "last", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rotate: Option<u64>,
    /// Begin when the 99th percentile of the latency of a second is above this
    #[arg(long, value_name = "TIME", value_parser = values::latency, help_heading = "Triggers")]
    pub start_above: Option<f64>,
    /// End when the 99th percentile of the latency of a second is above this
    #[arg(long, value_name = "TIME", value_parser = values::latency, help_heading = "Triggers")]
    pub stop_above: Option<f64>,
    /// Memory of the kernel for events that are not read yet
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = values::size, help_heading = "Trace")]
    pub buffer: Option<fathom_model::Bytes>,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl CommandArgs for CaptureArgs {
    const NAME: &'static str = "capture";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.rotate.is_some() && self.output == std::path::Path::new("-") {
            return Err("--rotate: standard output is one file; name a file with -o".to_owned());
        }
        Ok(())
    }
}
