//! `fathom report`: one document about results.

use std::io::IsTerminal;

use fathom_analyse::report;
use fathom_chart::{report_markdown, report_page};
use fathom_cli::{ReportArgs, ReportFormat};
use fathom_linux::{OutputName, Outputs};
use fathom_model::Report;

use crate::cli;
use crate::outcome::Outcome;
use crate::pdf::pdf;
use crate::print::print_bytes;
use crate::results::{note_mixture, read_results};

/// Writes the report that the arguments describe.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ReportArgs| write_report(&args))
}

fn write_report(args: &ReportArgs) -> Result<Outcome, String> {
    let results = read_results(&args.results, &args.store)?;
    note_mixture("fathom report", &results);
    let report = report(&results, args.title.as_deref());
    for file in &args.output {
        let bytes = document(&report, args.format_of(file)?)?;
        Outputs::default()
            .write(file, OutputName::Explicit, &bytes)
            .map_err(|error| error.to_string())?;
    }
    if !args.output.is_empty() {
        return Ok(Outcome::Good);
    }
    let format = args.format.unwrap_or_default();
    if format == ReportFormat::Pdf && std::io::stdout().is_terminal() {
        return Err("refusing to write PDF to a terminal: name a file with -o FILE".to_owned());
    }
    Ok(print_bytes(&document(&report, format)?))
}

fn document(report: &Report, format: ReportFormat) -> Result<Vec<u8>, String> {
    let page = || report_page(report).map_err(|error| error.to_string());
    Ok(match format {
        ReportFormat::Html => page()?.into_bytes(),
        ReportFormat::Md => report_markdown(report).into_bytes(),
        ReportFormat::Pdf => pdf(&page()?)?,
    })
}
