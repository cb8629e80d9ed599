//! `fathom export`: stored runs as CSV, JSON, Parquet or OpenMetrics.

use std::io::IsTerminal;

use fathom_cli::{ExportArgs, ExportFormat};
use fathom_linux::{OutputName, Outputs};
use fathom_model::{Run, StoredCell};
use fathom_report::Exposition;

use super::{RunOrCell, stored_exposition};
use crate::cli;
use crate::outcome::Outcome;
use crate::print::{print_bytes, print_to};
use crate::result_store::{is_dead, open_store};

/// Exports runs.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ExportArgs| export(&args))
}

fn export(args: &ExportArgs) -> Result<Outcome, String> {
    let exposition = match args.format() {
        ExportFormat::OpenMetrics => Some(Exposition::OpenMetrics),
        ExportFormat::Prometheus => Some(Exposition::Prometheus),
        _ => None,
    };
    if let Some(format) = exposition {
        let text = stored_exposition(&args.runs, &args.store, format)?;
        return Ok(print_to(args.output.as_deref(), &text));
    }
    let mut store = open_store(&args.store)?;
    let mut all: Vec<(Run, Vec<StoredCell>)> = Vec::new();
    for name in &args.runs {
        let found = RunOrCell::find(&mut store, name)?;
        let cells = found.cells(&mut store)?;
        all.push((found.run, cells));
    }
    let bytes = match args.format() {
        ExportFormat::Csv | ExportFormat::OpenMetrics | ExportFormat::Prometheus => {
            fathom_report::cells_csv(&all).into_bytes()
        }
        ExportFormat::Json => fathom_report::cells_document(&all, &is_dead).into_bytes(),
        ExportFormat::Parquet => {
            fathom_report::cells_parquet(&all).map_err(|error| error.to_string())?
        }
    };
    match &args.output {
        Some(file) => {
            let written = Outputs::default().write(file, OutputName::Explicit, &bytes);
            written
                .map(|()| Outcome::Good)
                .map_err(|error| error.to_string())
        }
        None if args.format() == ExportFormat::Parquet && std::io::stdout().is_terminal() => {
            Err("refusing to write Parquet to a terminal: name a file with -o FILE".to_owned())
        }
        None => Ok(print_bytes(&bytes)),
    }
}
