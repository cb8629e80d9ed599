//! `fathom runs`.

use clap::Args;

use super::Text;
use crate::common::{ResultOptions, StoreSource};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "List stored runs",
    "Lists the stored runs, the newest last. With TEXT only those whose name, kind, state, host, target or device contains it.\n\n\
     The default store is $XDG_DATA_HOME/fathom/store.db, usually ~/.local/share/fathom/store.db. FATHOM_STORE=FILE selects \
     another one for every command, FATHOM_STORE=none no store.\n\n\
     A table shows the newest 1,000 runs at most, unless --newest asks for more.",
    "Examples:
  fathom runs
  fathom runs sweep nvme0n1 --newest=5
  fathom runs --label project=apollo --label firmware=3B4QGXA7",
);

/// Arguments of `fathom runs`.
#[derive(Args, Clone, Debug, Default)]
pub struct RunsArgs {
    /// Only runs that contain all of these texts
    #[arg(value_name = "TEXT")]
    pub texts: Vec<String>,
    /// Only the newest N runs
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, { u32::MAX }>)]
    pub newest: Option<u32>,
    /// Label, such as project=apollo or rack=3; can be repeated
    ///
    /// Only runs that have all of these labels with these values.
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::label, help_heading = "Store")]
    pub label: Vec<(String, String)>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for RunsArgs {
    const NAME: &'static str = "runs";
}
