//! `fathom export`: runs with their cells, for other programs.

use std::io::{IsTerminal, Write};
use std::path::Path;

use fathom_model::{Run, StoredCell};

use super::{named, told};
use crate::args::{Arg, ArgSpec};
use crate::outcome::Outcome;
use crate::print::print_bytes;
use crate::result_store::{StoreChoice, is_dead};

const HELP: &str = "\
usage: fathom export RUN... [OPTIONS]

Writes runs with a line for each of their cells: its axes, figures, verdict and findings.
Figures have no prefix: 1/s, B/s, s.

  --format=F     csv, json or parquet; without it as FILE ends, else csv
  -o FILE        into FILE instead of the standard output
  --store=FILE   another store than your own
";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Json,
    Parquet,
}

impl Format {
    fn named(word: &str) -> Option<Format> {
        match word {
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

#[derive(Default)]
struct ExportArgs {
    names: Vec<String>,
    format: Option<Format>,
    file: Option<String>,
    store: StoreChoice,
}

/// Exports runs.
pub fn command(arguments: &[String]) -> Outcome {
    told("export", HELP, arguments, |arguments| {
        export(&asked(arguments)?)
    })
}

const WORDS: ArgSpec = ArgSpec {
    word: "export",
    flags: &[],
    values: &["--format", "-o", "--output"],
};

fn asked(arguments: &[String]) -> Result<ExportArgs, String> {
    let mut asked = ExportArgs::default();
    let store = WORDS.read(arguments, &mut |given| {
        match given {
            Arg::Value("--format", value) => asked.format = Some(format(value)?),
            Arg::Value(_, file) => asked.file = Some(file.to_owned()),
            Arg::Operand(name) | Arg::Flag(name) => asked.names.push(name.to_owned()),
        }
        Ok(())
    })?;
    asked.store = store;
    if asked.names.is_empty() {
        Err("name the runs to export; `fathom runs` lists them".to_owned())
    } else {
        Ok(asked)
    }
}

fn format(word: &str) -> Result<Format, String> {
    Format::named(word).ok_or_else(|| {
        format!(
            "--format: '{}' is none of csv, json and parquet",
            word.escape_debug()
        )
    })
}

impl ExportArgs {
    /// As asked, else as the file's name ends.
    fn format(&self) -> Format {
        let ending = || {
            Path::new(self.file.as_ref()?)
                .extension()?
                .to_str()
                .and_then(Format::named)
        };
        self.format.or_else(ending).unwrap_or(Format::Csv)
    }
}

fn export(asked: &ExportArgs) -> Result<Outcome, String> {
    let mut store = asked.store.open()?;
    let mut all: Vec<(Run, Vec<StoredCell>)> = Vec::new();
    for name in &asked.names {
        let named = named(&mut store, name)?;
        let mut cells = store
            .cells(named.run.id)
            .map_err(|error| error.to_string())?;
        cells.retain(|cell| named.cell.is_none_or(|position| position == cell.position));
        if let Some(position) = named.cell.filter(|_| cells.is_empty()) {
            return Err(format!(
                "{0} has no cell {position}; `fathom show {0}` lists them",
                named.run.id
            ));
        }
        all.push((named.run, cells));
    }
    let bytes = match asked.format() {
        Format::Csv => fathom_report::cells_csv(&all).into_bytes(),
        Format::Json => fathom_report::cells_document(&all, &is_dead).into_bytes(),
        Format::Parquet => fathom_report::cells_parquet(&all).map_err(|error| error.to_string())?,
    };
    match &asked.file {
        Some(file) => {
            let written = std::fs::File::create(file).and_then(|mut out| out.write_all(&bytes));
            written
                .map(|()| Outcome::Good)
                .map_err(|error| format!("{file} cannot be written: {error}"))
        }
        None if asked.format() == Format::Parquet && std::io::stdout().is_terminal() => {
            Err("parquet is nothing for a terminal: name a file with -o FILE".to_owned())
        }
        None => Ok(print_bytes(&bytes)),
    }
}
