//! `fathom devices`.

use clap::{Args, ValueEnum};

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
  fathom devices .                     the devices of this directory
  fathom devices --scratch add /dev/sdX --destroy=CODE   write it without a code from now on
  fathom devices --scratch list",
);

/// What to do with the list of scratch devices.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScratchAction {
    /// Add each PATH; --destroy confirms that its data may be destroyed, now and by all later runs
    Add,
    /// Show the lists of the user and of the system
    List,
    /// Remove each PATH
    Remove,
}

/// Arguments of `fathom devices`.
#[derive(Args, Clone, Debug, Default)]
pub struct DevicesArgs {
    /// Devices, files or directories
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Read data sheets from this directory too, besides ~/.config/fathom/specs; can be repeated
    #[arg(long, value_name = "DIR", value_parser = values::not_empty)]
    pub specs: Vec<String>,
    /// Keep a list of devices that need no --destroy code any more
    ///
    /// The list holds identities: WWN or serial number, model and size, or the backing file of a loop device. A device on it may
    /// be written while it is unused and holds no file system and no partition table that fathom did not leave there.
    #[arg(
        long,
        value_name = "ACTION",
        value_enum,
        help_heading = "Scratch devices"
    )]
    pub scratch: Option<ScratchAction>,
    /// Confirm that the data on this target may be destroyed
    #[arg(
        long,
        value_name = "CODE",
        requires = "scratch",
        value_parser = values::not_empty,
        help_heading = "Scratch devices"
    )]
    pub destroy: Option<String>,
    /// Use the list of the system, /etc/fathom/scratch.toml, instead of the user's; root only
    #[arg(long, requires = "scratch", help_heading = "Scratch devices")]
    pub system: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
}

impl CommandArgs for DevicesArgs {
    const NAME: &'static str = "devices";
}
