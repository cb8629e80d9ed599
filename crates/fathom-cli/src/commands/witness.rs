//! `fathom witness`.

use clap::Args;

use super::Text;
use crate::common::{DisplayOptions, ResultOptions, StoreOptions};
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Run any command and watch its I/O and the conditions",
    "Runs a command in a control group of its own, and reports what it and its processes read and wrote: with system calls, on \
     devices, and from which files; and the conditions meanwhile: other I/O on the same devices, rate limits, CPU quotas, stolen \
     CPU time, memory pressure, heat. The findings have the codes of fathom's own measurements: `fathom explain PAGE_CACHE`.\n\n\
     The command has the terminal, and its output and exit code stay as they are; a command that is killed by signal N gives exit \
     code 128+N. Signals to fathom are passed on to it. The report goes to standard error, or to the file that --output names.\n\n\
     The result is stored: show, report and compare read it. Without root, the counters of the command's processes are known, \
     but not those of its control group by device.",
    "Examples:
  fathom witness -- dd if=/data/big of=/dev/null bs=1M
  fathom witness --json -o result.json -- fio job.fio
  fathom witness --pid 812 -- pgbench -T 60 bench

Exit codes are those of the command. 127: it was not found; 126: it cannot be executed; 2: fathom refused its own options.",
);

/// Arguments of `fathom witness`.
#[derive(Args, Clone, Debug, Default)]
pub struct WitnessArgs {
    /// The command and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<String>,
    /// Watch this process; can be repeated
    ///
    /// The I/O of this process and of those that it starts, such as the server of a benchmark, counts beside that of the command.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Vec<u32>,
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

impl CommandArgs for WitnessArgs {
    const NAME: &'static str = "witness";

    fn display(&mut self, display: DisplayOptions) {
        self.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.command.is_empty() {
            return Err(
                "no command: give one, such as `fathom witness -- dd if=/data/big of=/dev/null`"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
