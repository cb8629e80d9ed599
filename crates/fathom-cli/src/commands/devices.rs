//! `fathom devices`.

use clap::Args;

use super::Text;
use crate::common::ResultOptions;
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "List devices: connection, limits, health, content, and the code that confirms destruction",
    "Describes the block devices of this machine, or those below each PATH: how each is connected, its limits, cache and health, its \
     content, and the code that confirms its destruction. Nothing is written.",
    "Examples:
  fathom devices
  fathom devices /dev/nvme0n1 --json
  fathom devices .                     the devices of this directory",
);

/// Arguments of `fathom devices`.
#[derive(Args, Clone, Debug, Default)]
pub struct DevicesArgs {
    /// Devices, files or directories
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Read data sheets from this directory too, besides ~/.config/fathom/specs; can be repeated
    #[arg(long, value_name = "DIR", value_parser = values::not_empty)]
    pub specs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
}

impl CommandArgs for DevicesArgs {
    const NAME: &'static str = "devices";
}
