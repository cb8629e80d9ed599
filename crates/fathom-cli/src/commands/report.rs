//! `fathom report`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Write a report: the answer on the first page, then findings, charts and plan",
    "Writes one document about results of fathom or fio. The first page has the device, the main statement, the verdict, the key \
     figures and one chart; then follow what to do next, the findings, more charts, and folded at the end all figures, method, \
     conditions, host and the plan to repeat the run. With results of several devices it ranks and compares them. The HTML page \
     needs no network and no server; Markdown and PDF have the same content in the same order. A directory is searched for \
     results; a stored run is a name that `fathom runs` lists, such as r12, r12.3 or latest. PDF needs Chromium.",
    "Examples:
  fathom report latest -o report.html
  fathom report latest --format=md
  fathom report results/ -o drives.html -o drives.pdf
  fathom report result.json -o report.html -o report.md --title='Drive A'",
);

/// Format of a report.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFormat {
    /// One offline page
    #[default]
    Html,
    /// Markdown, with a table instead of each chart
    #[value(alias = "markdown")]
    Md,
    /// The page as printed by Chromium
    Pdf,
}

/// Arguments of `fathom report`.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportArgs {
    /// Result files, directories, or stored runs
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,
    /// Write results to FILE
    ///
    /// The extension is the format, unless --format names it. Can be repeated. Without it the report goes to standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// Format of the result
    ///
    /// Default: the extension of --output, else html.
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub format: Option<ReportFormat>,
    /// Use this title instead of the default one
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for ReportArgs {
    const NAME: &'static str = "report";

    fn finish(&mut self) -> Result<(), String> {
        self.output
            .iter()
            .try_for_each(|file| self.format_of(file).map(|_| ()))
    }
}

impl ReportArgs {
    /// The format of an output.
    ///
    /// # Errors
    /// When neither an option nor the extension names it.
    pub fn format_of(&self, file: &Path) -> Result<ReportFormat, String> {
        let extension = file.extension().and_then(|extension| extension.to_str());
        let by_extension = match extension {
            Some("html" | "htm") => Some(ReportFormat::Html),
            Some("md") => Some(ReportFormat::Md),
            Some("pdf") => Some(ReportFormat::Pdf),
            _ => None,
        };
        self.format.or(by_extension).ok_or_else(|| {
            format!(
                "{}: unknown format: use the extension .html, .md or .pdf, or name the format with --format",
                file.display().to_string().escape_debug()
            )
        })
    }
}
