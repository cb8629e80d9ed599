//! `fathom show`: a result that is kept, as it was told when it was measured.

use fathom_model::{CellState, Content, Recording, Run, RunState, StoredCell};
use fathom_report::Format;
use fathom_store::Store;

use super::{named, told};
use crate::args::{Arg, ArgSpec};
use crate::outcome::Outcome;
use crate::output;
use crate::print::print;
use crate::result_store::{StoreChoice, is_dead};
use crate::spec_compare::{sentences, spec_compare};
use crate::specs::library;

const HELP: &str = "\
usage: fathom show [RUN] [OPTIONS]

Shows a result that is kept, as it was told when it was measured. RUN is a name that
`fathom runs` lists, such as r12; r12.3 is its third cell; without one it is the latest.

  --json         the JSON document; --json+ with bins and the series over time
  --plan         what was run: the jobs
  --store=FILE   another store than your own
";

#[derive(Default)]
struct ShowArgs {
    name: Option<String>,
    json: bool,
    /// With bins and series.
    plus: bool,
    plan: bool,
    store: StoreChoice,
}

/// Shows a run or one of its cells.
pub fn command(arguments: &[String]) -> Outcome {
    told("show", HELP, arguments, |arguments| {
        show(&asked(arguments)?)
    })
}

const WORDS: ArgSpec = ArgSpec {
    word: "show",
    flags: &["--json", "--json+", "--plan"],
    values: &["--output-format"],
};

fn asked(arguments: &[String]) -> Result<ShowArgs, String> {
    let mut asked = ShowArgs::default();
    let store = WORDS.read(arguments, &mut |given| {
        match given {
            Arg::Flag("--json") | Arg::Value(_, "json") => asked.json = true,
            Arg::Flag("--json+") | Arg::Value(_, "json+") => {
                (asked.json, asked.plus) = (true, true)
            }
            Arg::Flag(_) => asked.plan = true,
            Arg::Value(name, other) => {
                return Err(format!(
                    "{name}: '{}' is neither json nor json+",
                    other.escape_debug()
                ));
            }
            Arg::Operand(name) if asked.name.is_none() => asked.name = Some(name.to_owned()),
            Arg::Operand(_) => {
                return Err("one run at a time; `fathom export` takes several".to_owned());
            }
        }
        Ok(())
    })?;
    asked.store = store;
    Ok(asked)
}

fn show(asked: &ShowArgs) -> Result<Outcome, String> {
    let mut store = asked.store.open()?;
    let named = named(&mut store, asked.name.as_deref().unwrap_or("latest"))?;
    let run = &named.run;
    let cells = store.cells(run.id).map_err(|error| error.to_string())?;
    if asked.plan {
        let cell = named
            .cell
            .and_then(|position| cells.iter().find(|cell| cell.position == position));
        let plan = cell
            .map(|cell| &cell.plan)
            .filter(|plan| !plan.is_empty())
            .unwrap_or(&run.experiment.plan);
        return Ok(print(&format!("{}\n", plan.trim_end())));
    }
    match (named.cell, &cells[..]) {
        (Some(position), cells) => match cells.iter().find(|cell| cell.position == position) {
            Some(cell) => one(asked, &mut store, run, cell),
            None => Err(format!(
                "{} has no cell {position}; `fathom show {}` lists them",
                run.id, run.id
            )),
        },
        (None, [cell]) if run.experiment.planned <= 1 => one(asked, &mut store, run, cell),
        (None, _) if asked.json => Ok(print(&fathom_report::cells_document(
            &[(run.clone(), cells)],
            &is_dead,
        ))),
        (None, _) => Ok(print(&fathom_report::cells_text(
            run,
            is_dead(run),
            &cells,
            &output::answer_style(),
        ))),
    }
}

fn one(
    asked: &ShowArgs,
    store: &mut Store,
    run: &Run,
    cell: &StoredCell,
) -> Result<Outcome, String> {
    let position = cell.position;
    if cell.state == CellState::Running && run.state == RunState::Running && !is_dead(run) {
        return Err(format!("{}.{position} is being measured now", run.id));
    }
    match store
        .content(run.id, position)
        .map_err(|error| error.to_string())?
    {
        Content::Recording(recording) if cell.state == CellState::Running => {
            let parts = store
                .journal(run.id, position)
                .map_err(|error| error.to_string())?;
            tell(
                asked,
                run,
                &fathom_load::salvage(recording.plan, recording.started_unix_ns, parts),
            )
        }
        Content::Recording(recording) => tell(asked, run, &recording),
        Content::Imported { bytes, .. } if asked.json => {
            Ok(print(&String::from_utf8_lossy(&bytes)))
        }
        Content::Imported { bytes, .. } => imported(&format!("{}.{position}", run.id), &bytes),
        Content::Nothing if !cell.notes.is_empty() => Err(format!(
            "{}.{position} could not be measured: {}",
            run.id,
            cell.notes.join("; ")
        )),
        Content::Nothing => Err(format!("{}.{position} holds no result", run.id)),
    }
}

/// Another program's result: its figures, where they come from and what is not known of them.
fn imported(name: &str, bytes: &[u8]) -> Result<Outcome, String> {
    let results =
        fathom_import::read_text(name, bytes).map_err(|error| format!("{name}: {error}"))?;
    let findings: Vec<_> = results.into_iter().map(fathom_analyse::imported).collect();
    Ok(print(&fathom_report::imported(
        &findings,
        0,
        0,
        &output::answer_style(),
    )))
}

fn tell(asked: &ShowArgs, run: &Run, recording: &Recording) -> Result<Outcome, String> {
    let mut findings = fathom_analyse::findings(recording);
    let style = output::answer_style();
    let facts = |wanted: &'static str| {
        run.experiment
            .facts
            .iter()
            .filter(move |(name, _)| name == wanted)
            .map(|(_, words)| words.as_str())
    };
    let intro = facts("intro").next();
    // A quick look was held against a data sheet: the same again, as far as it is still known.
    if intro.is_some() {
        let sheets = library(&facts("specs").collect::<Vec<_>>());
        findings.spec = spec_compare(&findings, facts("sheet").next(), &sheets).unwrap_or_default();
    }
    let text = match (asked.json, intro) {
        (false, Some(intro)) => {
            fathom_report::quick(&findings, &sentences(&findings), intro, &style)
        }
        (json, _) => {
            let format = match (json, asked.plus) {
                (true, true) => Format::JsonPlus,
                (true, false) => Format::Json,
                (false, _) => Format::Normal,
            };
            let mut bytes = Vec::new();
            fathom_report::write(&findings, &[format], &style, &mut bytes)
                .map_err(|error| error.to_string())?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    Ok(print(&text))
}
