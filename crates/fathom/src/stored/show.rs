//! `fathom show`: a result that is kept, as it was told when it was measured.

use fathom_model::{Cell, CellState, Content, Recording, Run, RunState};
use fathom_report::Format;
use fathom_store::Store;

use super::{named, told, unknown};
use crate::keep::{StoreWish, is_dead};
use crate::outcome::Outcome;
use crate::output;
use crate::say::say;

const HELP: &str = "\
usage: fathom show [RUN] [OPTIONS]

Shows a result that is kept, as it was told when it was measured. RUN is a name that
`fathom runs` lists, such as r12; r12.3 is its third cell; without one it is the latest.

  --json         the JSON document
  --plan         what was run: the jobs
  --store=FILE   another store than your own
";

#[derive(Default)]
struct Asked {
    name: Option<String>,
    json: bool,
    plan: bool,
    store: StoreWish,
}

/// Shows a run or one of its cells.
pub fn command(arguments: &[String]) -> Outcome {
    told("show", HELP, arguments, |arguments| show(&asked(arguments)?))
}

fn asked(arguments: &[String]) -> Result<Asked, String> {
    let (mut asked, mut rest) = (Asked::default(), arguments.iter());
    while let Some(argument) = rest.next() {
        if asked.store.take(argument, &mut rest)? {
            continue;
        }
        match argument.as_str() {
            "--json" | "--output-format=json" => asked.json = true,
            "--plan" => asked.plan = true,
            option if option.starts_with('-') => return Err(unknown("show", option)),
            name if asked.name.is_none() => asked.name = Some(name.to_owned()),
            _ => return Err("one run at a time; `fathom export` takes several".to_owned()),
        }
    }
    Ok(asked)
}

fn show(asked: &Asked) -> Result<Outcome, String> {
    let mut store = asked.store.open()?;
    let named = named(&mut store, asked.name.as_deref().unwrap_or("latest"))?;
    let run = &named.run;
    let cells = store.cells(run.id).map_err(|error| error.to_string())?;
    if asked.plan {
        let cell = named.cell.and_then(|position| cells.iter().find(|cell| cell.position == position));
        let plan = cell.map(|cell| &cell.plan).filter(|plan| !plan.is_empty()).unwrap_or(&run.experiment.plan);
        return Ok(say(&format!("{}\n", plan.trim_end())));
    }
    match (named.cell, &cells[..]) {
        (Some(position), cells) => match cells.iter().find(|cell| cell.position == position) {
            Some(cell) => one(asked, &mut store, run, cell),
            None => Err(format!("{} has no cell {position}; `fathom show {}` lists them", run.id, run.id)),
        },
        (None, [cell]) if run.experiment.planned <= 1 => one(asked, &mut store, run, cell),
        (None, _) if asked.json => Ok(say(&fathom_report::cells_document(&[(run.clone(), cells)], &is_dead))),
        (None, _) => Ok(say(&fathom_report::cells_text(run, is_dead(run), &cells, &output::answer_style()))),
    }
}

fn one(asked: &Asked, store: &mut Store, run: &Run, cell: &Cell) -> Result<Outcome, String> {
    let position = cell.position;
    if cell.state == CellState::Running && run.state == RunState::Running && !is_dead(run) {
        return Err(format!("{}.{position} is being measured now", run.id));
    }
    match store.content(run.id, position).map_err(|error| error.to_string())? {
        Content::Recording(recording) if cell.state == CellState::Running => {
            let parts = store.journal(run.id, position).map_err(|error| error.to_string())?;
            tell(asked, run, &fathom_load::salvage(recording.plan, recording.started_unix_ns, parts))
        }
        Content::Recording(recording) => tell(asked, run, &recording),
        Content::Imported { bytes, .. } => Ok(say(&String::from_utf8_lossy(&bytes))),
        Content::Nothing => Err(format!("{}.{position} holds no result", run.id)),
    }
}

fn tell(asked: &Asked, run: &Run, recording: &Recording) -> Result<Outcome, String> {
    let findings = fathom_analyse::findings(recording);
    let style = output::answer_style();
    let intro = run.experiment.facts.iter().find(|(name, _)| name == "intro").map(|(_, words)| words);
    let text = match (asked.json, intro) {
        (false, Some(intro)) => fathom_report::quick(&findings, &fathom_analyse::ladders(&findings), intro, &style),
        (json, _) => {
            let format = if json { Format::Json } else { Format::Normal };
            let mut bytes = Vec::new();
            fathom_report::write(&findings, &[format], &style, &mut bytes).map_err(|error| error.to_string())?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    Ok(say(&text))
}
