//! `fathom version`.

use clap::Args;

use super::Text;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Print the version",
    "Prints the version of fathom, as `fathom --version` does. With --verbose also the commit, the cargo features, the target, the profile and the compiler of this build.",
    "",
);

/// Arguments of `fathom version`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VersionArgs {
    /// Print the commit, the features and the build as well
    #[arg(long)]
    pub verbose: bool,
}

impl CommandArgs for VersionArgs {
    const NAME: &'static str = "version";
}
