//! `fathom completions`.

use clap::Args;
use clap_complete::Shell;

use super::Text;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Print a completion script for a shell",
    "The script completes commands, options and their values, including the job options of `run` and `fio`.",
    "Examples:
  fathom completions bash > ~/.local/share/bash-completion/completions/fathom
  fathom completions zsh > ~/.zfunc/_fathom
  fathom completions fish > ~/.config/fish/completions/fathom.fish",
);

/// Arguments of `fathom completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

impl CommandArgs for CompletionsArgs {
    const NAME: &'static str = "completions";
}
