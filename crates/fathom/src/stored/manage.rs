//! `fathom store`: copies stores, and labels runs.

use std::path::Path;

use fathom_cli::{StoreAction, StoreArgs};
use fathom_model::parse_label;
use fathom_store::Store;

use super::RunOrCell;
use crate::cli;
use crate::outcome::Outcome;
use crate::print::print;
use crate::result_store::open_store;

/// Carries out one action.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: StoreArgs| match args.action {
        StoreAction::Copy => copy(&args),
        StoreAction::Label if args.append => Err("--append belongs to `store copy`".to_owned()),
        StoreAction::Label => label(&args),
    })
}

fn copy(args: &StoreArgs) -> Result<Outcome, String> {
    let [from, to] = &args.words[..] else {
        return Err("`store copy` needs two stores: FROM and TO".to_owned());
    };
    if from == to {
        return Err("FROM and TO are the same store".to_owned());
    }
    let mut source = Store::open_existing(Path::new(from)).map_err(|error| error.to_string())?;
    let mut target = Store::open(Path::new(to)).map_err(|error| error.to_string())?;
    let copied = source
        .copy_to(&mut target, args.append)
        .map_err(|error| error.to_string())?;
    let names = match copied.renumbered_by {
        0 => "Their names are unchanged".to_owned(),
        by => format!("r1 of {} is r{} there, and so on", source.path(), by + 1),
    };
    Ok(print(&format!(
        "Copied {} ({} rows) from {} to {}. {names}.\n",
        match copied.runs {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        },
        copied.rows,
        source.path(),
        target.path()
    )))
}

fn label(args: &StoreArgs) -> Result<Outcome, String> {
    let (name, labels) = args
        .words
        .split_first()
        .ok_or("`store label` needs a run")?;
    let changes = labels
        .iter()
        .map(|text| {
            let (name, value) = parse_label(text)
                .map_err(|why| format!("invalid label '{}': {why}", text.escape_debug()))?;
            Ok((name, Some(value).filter(|value| !value.is_empty())))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let mut store = open_store(&args.store)?;
    let found = RunOrCell::find(&mut store, name)?;
    if found.cell.is_some() {
        return Err(format!("'{name}' is a cell; labels belong to whole runs"));
    }
    let mut run = found.run;
    if !changes.is_empty() {
        store
            .set_labels(run.id, &changes)
            .map_err(|error| error.to_string())?;
        run = store
            .run(&run.id.to_string())
            .map_err(|error| error.to_string())?;
    }
    let labels = run.experiment.labels.iter();
    let mut text: String = labels
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    if text.is_empty() {
        text = format!("{} has no labels.\n", run.id);
    }
    Ok(print(&text))
}
