//! `fathom resume`.

use std::time::Duration;

use clap::Args;

use super::Text;
use crate::common::{DisplayOptions, ExperimentOptions, ObserverOptions, StoreSource};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Continue an experiment that was interrupted or killed",
    "Continues a sweep, a search or a suite where it was interrupted, killed or stopped. Cells that are finished are not \
     measured again. Of a run on several hosts whose controller was killed it fetches what the agents recorded; a load \
     that still runs goes on. Without RUN it continues the latest experiment that is not finished.",
    "Examples:
  fathom resume
  fathom resume r12 --budget=30m",
);

/// Arguments of `fathom resume`.
#[derive(Args, Clone, Debug, Default)]
pub struct ResumeArgs {
    /// Name of the run, as `fathom runs` lists it
    pub run: Option<String>,
    /// Stop after this time in total
    ///
    /// Counted from now. Required for a run whose budget is used up.
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub budget: Option<Duration>,
    /// Confirm that the data on this target may be destroyed
    ///
    /// Required for a device that this run has written: its content, and so its code, changed since the run started.
    #[arg(long, value_name = "CODE", help_heading = "Target")]
    pub destroy: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub observers: ObserverOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for ResumeArgs {
    const NAME: &'static str = "resume";

    fn display(&mut self, display: DisplayOptions) {
        self.observers.quiet = display.quiet;
    }
}

impl ExperimentOptions {
    /// Replaces what is given anew when an experiment continues.
    pub fn continue_with(&mut self, resume: &ResumeArgs) {
        self.observers = resume.observers.clone();
        self.destroy.extend(resume.destroy.iter().cloned());
    }
}
