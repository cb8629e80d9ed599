//! `fathom why`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::{DisplayOptions, ResultOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Say in ten seconds whether storage is the reason, who uses it, who waits, and what to do",
    "Reads the kernel's counters twice, looks at waiting threads in between, traces block I/O where that is allowed, and answers with \
     one conclusion: a limit of a control group, a neighbour, flushes, swap, a full page cache, one I/O at a time, a slow device or \
     member of an array, a file system that does not answer, too little memory, used-up burst credits, or that storage is not the \
     reason. It says how sure that is, what speaks for and against it, what can be done now, and what it did not look at.\n\n\
     It writes nothing, makes no I/O of its own on the devices and changes no setting. Without root it works with the counters that \
     the user may read. At most 2,000 processes, 4,000 threads a look and a million events are read, and its CPU time is stated.",
    "Examples:
  fathom why                        the whole machine
  fathom why /var/lib/postgresql    the device of this directory
  fathom why --pid 4711             what this process waits for
  fathom why --unit mysql.service   what this unit waits for
  fathom why -- make install        run a command, and say what it waited for

Exit codes: 0: answered; 3: it is not known why; 130: interrupted, with the answer so far. With COMMAND, those of the command, and the \
answer goes to standard error.",
);

/// Arguments of `fathom why`.
#[derive(Args, Clone, Debug, Default)]
pub struct WhyArgs {
    /// Device, or a file or directory on it; without one: all devices
    #[arg(value_name = "PATH", conflicts_with = "command")]
    pub path: Option<PathBuf>,
    /// Run this command, and say what it waited for
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<String>,
    /// Watch this process; can be repeated
    ///
    /// The answer is about what it waits for.
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Processes")]
    pub pid: Vec<u32>,
    /// Only what the processes of this unit or control group wait for
    ///
    /// The name of a unit of systemd, with or without `.service`, or of a control group as in /proc/PID/cgroup.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "command"], value_parser = values::not_empty, help_heading = "Processes")]
    pub unit: Option<String>,
    /// Time to measure
    ///
    /// A command is watched to its end.
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with = "command", value_parser = values::runtime)]
    pub runtime: Option<Duration>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    /// Messages are left out.
    #[arg(skip)]
    pub quiet: bool,
}

impl CommandArgs for WhyArgs {
    const NAME: &'static str = "why";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }
}
