//! `fathom export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Export stored runs as CSV, JSON, Parquet or OpenMetrics",
    "Writes one row for each cell of the runs: its axes, figures, verdict and findings. Figures have no unit prefix: 1/s, B/s, s.",
    "Examples:
  fathom export r12 r13 -o results.parquet
  fathom export latest --format=json",
);

/// Format of exported runs.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma-separated values
    #[default]
    Csv,
    /// JSON for programs
    Json,
    /// Apache Parquet
    Parquet,
    /// OpenMetrics text, for Prometheus
    #[value(name = "openmetrics", alias = "prom")]
    OpenMetrics,
    /// The text format of Prometheus, with typed counters
    Prometheus,
}

/// Arguments of `fathom export`.
#[derive(Args, Clone, Debug, Default)]
pub struct ExportArgs {
    /// Names of runs or cells, as `fathom runs` lists them
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Write results to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Format of the result
    ///
    /// Default: the extension of --output, else csv.
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub format: Option<ExportFormat>,
    /// Short for --format=json
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for ExportArgs {
    const NAME: &'static str = "export";

    fn finish(&mut self) -> Result<(), String> {
        let Some(extension) = self.extension() else {
            return Ok(());
        };
        let is_known = ExportFormat::from_str(extension, true).is_ok();
        if self.json || self.format.is_some() || is_known {
            return Ok(());
        }
        Err(format!(
            "--output: unknown extension '{}'; use .csv, .json, .parquet or .prom, or name the format with --format",
            extension.escape_debug()
        ))
    }
}

impl ExportArgs {
    /// The requested format, else that of the file's extension, else CSV.
    #[must_use]
    pub fn format(&self) -> ExportFormat {
        if self.json {
            return ExportFormat::Json;
        }
        let by_extension = || ExportFormat::from_str(self.extension()?, true).ok();
        self.format.or_else(by_extension).unwrap_or_default()
    }

    fn extension(&self) -> Option<&str> {
        self.output.as_ref()?.extension()?.to_str()
    }
}
