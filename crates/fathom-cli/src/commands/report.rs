//! `fathom report`.

use std::path::PathBuf;

use clap::Args;

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Write a report as one offline page: verdict, figures, charts and plan",
    "Writes one file about results of fathom or fio: verdict and findings first, the figures of every job, charts with their \
     tables, device, host and conditions, and the plan to repeat the run. The page needs no network and no server. A directory \
     is searched for results; a stored run is a name that `fathom runs` lists, such as r12, r12.3 or latest.",
    "Examples:
  fathom report latest -o report.html
  fathom report result.json -o report.html -o report.md --title='Drive A'",
);

/// Arguments of `fathom report`.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportArgs {
    /// Result files, directories, or stored runs
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,
    /// Write results to FILE
    ///
    /// The extension is the format: .html or .md. Can be repeated.
    #[arg(
        short,
        long,
        value_name = "FILE",
        required = true,
        help_heading = "Output"
    )]
    pub output: Vec<PathBuf>,
    /// Use this title instead of the default one
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for ReportArgs {
    const NAME: &'static str = "report";
}
