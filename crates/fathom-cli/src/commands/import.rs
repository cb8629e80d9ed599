//! `fathom import`.

use clap::Args;

use super::Text;
use crate::common::{MeasurementOptions, StoreOptions};
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Import results and logs of any fio version",
    "Reads results of fio: JSON, json+, terse lines and normal output (the text that fio prints) of any version, results of \
     several hosts, and log files of every kind. Normal output may be copied from a web page or a mail, with text around it; \
     what it does not contain is listed as unknown. \
     The kind of a file is detected from its content. The logs of a run are added up by time (where nothing completed, fio \
     writes no row: that counts as zero) and attached to the result whose I/O they contain, whatever their names. \
     Old units are converted to current ones.\n\n\
     Files that cannot be read are listed, each with its reason; the others are imported.",
    "Examples:
  fathom import results/
  fathom import result.json result_bw.1.log --title='before the upgrade'
  fathom import results/ --no-store --json

Exit codes: 0 all files were read; 1 some were not; 2 none was, or refused.",
);

/// Arguments of `fathom import`.
#[derive(Args, Clone, Debug, Default)]
pub struct ImportArgs {
    /// Files, or directories that are searched with all directories below
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// Use this title instead of the default one
    ///
    /// The name of the stored run; by default the first PATH.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: MeasurementOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
}

impl CommandArgs for ImportArgs {
    const NAME: &'static str = "import";
}
