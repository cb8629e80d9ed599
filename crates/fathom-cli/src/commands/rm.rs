//! `fathom rm`.

use clap::Args;

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Remove stored runs",
    "Removes runs with everything that was measured in them, after asking. This cannot be undone.",
    "Examples:
  fathom rm r12
  fathom rm r12 r13 --yes",
);

/// Arguments of `fathom rm`.
#[derive(Args, Clone, Debug, Default)]
pub struct RmArgs {
    /// Names of runs, as `fathom runs` lists them
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for RmArgs {
    const NAME: &'static str = "rm";
}
