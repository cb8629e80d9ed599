//! `fathom help`.

use clap::Args;

use super::Text;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Print the help of the program or of a command",
    "Without a topic it prints the list of commands. The topic `compatibility` describes how each option of fio is supported.",
    "Examples:
  fathom help sweep
  fathom help compatibility",
);

/// Arguments of `fathom help`.
#[derive(Args, Clone, Debug, Default)]
pub struct HelpArgs {
    /// Name of a command, or `compatibility`
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,
}

impl CommandArgs for HelpArgs {
    const NAME: &'static str = "help";
}
