//! `fathom explain`.

use clap::Args;

use super::Text;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Explain a finding: its meaning and what to do about it",
    "Explains findings by number (F012) or name (TOOL_BOUND). Without CODE it lists all findings.",
    "Examples:
  fathom explain
  fathom explain F012 HOST_BUSY",
);

/// Arguments of `fathom explain`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExplainArgs {
    /// Number or name of a finding
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,
}

impl CommandArgs for ExplainArgs {
    const NAME: &'static str = "explain";
}
