//! `fathom show`.

use clap::{Args, ValueEnum};

use super::Text;
use crate::common::{OutputFormat, OutputOptions, StoreSource};
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Show a stored result",
    "Shows a stored result as it was reported when it was measured. RUN is a name that `fathom runs` lists, such as r12; r12.3 \
     is its third cell. Without RUN it shows the latest.",
    "Examples:
  fathom show
  fathom show r12.3 --format=json+
  fathom show r12 --plan                the jobs that were run
  fathom show r12 --explain             what limits it, and the evidence
  fathom show --format=prometheus -o /var/lib/prometheus/node-exporter/fathom.prom",
);

/// Format of a stored result.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShowFormat {
    /// Text for people
    #[default]
    Text,
    /// fio's JSON with the additions of fathom
    Json,
    /// JSON with histogram bins and the series over time
    #[value(name = "json+")]
    JsonPlus,
    /// OpenMetrics text, for Prometheus
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// The text format of Prometheus, with typed counters
    Prometheus,
}

impl OutputFormat for ShowFormat {
    const JSON: Self = ShowFormat::Json;
}

/// Arguments of `fathom show`.
#[derive(Args, Clone, Debug, Default)]
pub struct ShowArgs {
    /// Name of the run or cell
    pub run: Option<String>,
    /// Show the jobs that were run instead of the result
    #[arg(long)]
    pub plan: bool,
    /// Explain what would run, where and for how long, and exit; in `size`, how each number is calculated; in `show`, what limits the result
    #[arg(long, conflicts_with_all = ["plan", "format", "json"])]
    pub explain: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: OutputOptions<ShowFormat>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for ShowArgs {
    const NAME: &'static str = "show";
}
