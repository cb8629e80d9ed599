//! `fathom version`.

use clap::Args;

use super::Text;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Print the version",
    "Prints the version of fathom, as `fathom --version` does.",
    "",
);

/// Arguments of `fathom version`: none.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VersionArgs {}

impl CommandArgs for VersionArgs {
    const NAME: &'static str = "version";
}
