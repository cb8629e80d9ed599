//! `fathom observe`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::{DisplayOptions, ResultOptions, StoreOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Watch the block I/O of any program: latency by phase, sizes, depth, splits and merges",
    "Reads the kernel's block tracepoints for a while and reports for each device and process: rates, sizes, the time from the \
     block layer to the scheduler, in the scheduler and in the device, depth, sequential I/O, splits and merges with the limit \
     that caused them, flushes, discards and read-ahead. It makes no I/O of its own and needs root; other users get the kernel's \
     counters.\n\n\
     The trace is recorded in an instance of its own, so that other tracers keep working, and is removed at the end. Its cost is \
     printed. Events that are lost under very high load are counted.",
    "Examples:
  fathom observe                          all devices, 10 s
  fathom observe /dev/nvme0n1 --runtime=1m
  fathom observe /var/lib/postgresql      the device of this directory
  fathom observe --pid 4711 --watch
  fathom observe /srv --files=/srv/db     which file has how much I/O
  fathom observe --cgroup /sys/fs/cgroup/system.slice/mysql.service --json
  fathom observe /dev/sda --audit=16k     what the device gets of reads of 16 KiB
  fathom observe /dev/sda --events=requests.jsonl   one line for each request",
);

/// Arguments of `fathom observe`.
#[derive(Args, Clone, Debug, Default)]
pub struct ObserveArgs {
    /// Device, or a file or directory on it; without one: all devices
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Watch this process; can be repeated
    ///
    /// Only the I/O of this process counts. Writes through the page cache are submitted later by threads of the kernel and do not count.
    #[arg(long, value_name = "PID", help_heading = "Processes")]
    pub pid: Vec<u32>,
    /// Only the I/O of processes in this control group and those below it
    ///
    /// A directory below /sys/fs/cgroup, or the name of the group as in /proc/PID/cgroup.
    #[arg(long, value_name = "PATH", conflicts_with = "pid", value_parser = values::not_empty, help_heading = "Processes")]
    pub cgroup: Option<String>,
    /// Time to measure
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::runtime)]
    pub runtime: Option<Duration>,
    /// Read PATH with direct I/O of this size meanwhile, and explain what the device gets
    ///
    /// Reads 1,000 times and counts only this I/O. Nothing is written.
    #[arg(long, value_name = "SIZE", requires = "path", conflicts_with_all = ["pid", "cgroup"], value_parser = values::size)]
    pub audit: Option<fathom_model::Bytes>,
    /// Name this file, or the files below this directory, in the result; can be repeated
    ///
    /// On ext4 and XFS the file system's tracepoints say which file an I/O is for; elsewhere a request belongs to the file whose
    /// data is at its place on the device (FIEMAP). Files that processes of --pid have open are named, too.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub files: Vec<PathBuf>,
    /// Show the figures while they are measured
    ///
    /// Devices and processes, every second.
    #[arg(long, help_heading = "Output")]
    pub watch: bool,
    /// Write events as lines of JSON to this file; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub events: Option<String>,
    /// Memory of the kernel for events that are not read yet
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = values::size, help_heading = "Trace")]
    pub buffer: Option<fathom_model::Bytes>,
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

impl ObserveArgs {
    /// Whether events take the place of the result on standard output.
    #[must_use]
    pub fn events_on_stdout(&self) -> bool {
        self.events.as_deref() == Some("-")
    }
}

impl CommandArgs for ObserveArgs {
    const NAME: &'static str = "observe";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.events_on_stdout() && self.result.is_json() && self.result.output.is_none() {
            return Err(
                "--json and --events=- cannot both go to standard output; write one of them to a file"
                    .to_owned(),
            );
        }
        if self.watch
            && (self.events_on_stdout() || self.result.is_json())
            && self.result.output.is_none()
        {
            return Err(
                "--watch shows text on standard output; write the result to a file with --output"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
