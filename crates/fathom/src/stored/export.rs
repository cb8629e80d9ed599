//! `fathom export`: runs with their cells, for other programs.

use std::io::Write;

use fathom_model::{Cell, Run};

use super::{named, told, unknown};
use crate::keep::{StoreWish, is_dead};
use crate::outcome::Outcome;
use crate::say::say;

const HELP: &str = "\
usage: fathom export RUN... [OPTIONS]

Writes runs with a line for each of their cells: its axes, figures, verdict and findings.
Figures have no prefix: 1/s, B/s, s.

  --format=F     csv (the default) or json
  -o FILE        into FILE instead of the standard output
  --store=FILE   another store than your own
";

#[derive(Default)]
struct Asked {
    names: Vec<String>,
    json: bool,
    file: Option<String>,
    store: StoreWish,
}

/// Exports runs.
pub fn command(arguments: &[String]) -> Outcome {
    told("export", HELP, arguments, |arguments| export(&asked(arguments)?))
}

fn asked(arguments: &[String]) -> Result<Asked, String> {
    let (mut asked, mut rest) = (Asked::default(), arguments.iter());
    while let Some(argument) = rest.next() {
        if asked.store.take(argument, &mut rest)? {
            continue;
        }
        let (name, value) = argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        match name {
            "--format" | "-o" | "--output" => {
                let value = value.or_else(|| rest.next().cloned()).ok_or(format!("{name}: needs a value"))?;
                if name == "--format" { asked.json = is_json(&value)? } else { asked.file = Some(value) }
            }
            option if option.starts_with('-') => return Err(unknown("export", option)),
            _ => asked.names.push(argument.clone()),
        }
    }
    if asked.names.is_empty() { Err("name the runs to export; `fathom runs` lists them".to_owned()) } else { Ok(asked) }
}

fn is_json(format: &str) -> Result<bool, String> {
    match format {
        "csv" => Ok(false),
        "json" => Ok(true),
        "parquet" => Err("--format: this build of fathom writes no parquet; DuckDB and pandas read csv as well".to_owned()),
        other => Err(format!("--format: '{}' is none of csv and json", other.escape_debug())),
    }
}

fn export(asked: &Asked) -> Result<Outcome, String> {
    let mut store = asked.store.open()?;
    let mut all: Vec<(Run, Vec<Cell>)> = Vec::new();
    for name in &asked.names {
        let named = named(&mut store, name)?;
        let mut cells = store.cells(named.run.id).map_err(|error| error.to_string())?;
        cells.retain(|cell| named.cell.is_none_or(|position| position == cell.position));
        all.push((named.run, cells));
    }
    let text = if asked.json { fathom_report::cells_document(&all, &is_dead) } else { fathom_report::cells_csv(&all) };
    match &asked.file {
        None => Ok(say(&text)),
        Some(file) => {
            let written = std::fs::File::create(file).and_then(|mut out| out.write_all(text.as_bytes()));
            written.map(|()| Outcome::Good).map_err(|error| format!("{file} cannot be written: {error}"))
        }
    }
}
