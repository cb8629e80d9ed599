//! `fathom rm`: removes runs from the store, after asking.

use std::io::{BufRead, IsTerminal, Write};

use fathom_cli::RmArgs;
use fathom_model::{Run, RunState};

use super::named;
use crate::cli;
use crate::outcome::Outcome;
use crate::print::print;
use crate::result_store::{open_store, other_host, was_killed};

/// Removes runs.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: RmArgs| remove(&args))
}

fn remove(args: &RmArgs) -> Result<Outcome, String> {
    let mut store = open_store(&args.store)?;
    let mut runs: Vec<Run> = Vec::new();
    for name in &args.runs {
        let named = named(&mut store, name)?;
        if named.cell.is_some() {
            return Err(format!(
                "'{name}' is a cell; only whole runs can be removed"
            ));
        }
        let id = named.run.id;
        match other_host(&named.run) {
            Some(_) if args.yes => {}
            Some(on) => {
                let on = on.escape_debug();
                return Err(format!(
                    "{id} was started on {on} and may still be running there: check, and remove it with --yes if it is not"
                ));
            }
            None if named.run.state == RunState::Running && !was_killed(&named.run) => {
                return Err(format!("{id} is being measured now; stop it first"));
            }
            None => {}
        }
        if !runs.contains(&named.run) {
            runs.push(named.run);
        }
    }
    if !args.yes && !confirmed(&runs)? {
        return Ok(print("Nothing was removed.\n"));
    }
    for run in &runs {
        store.remove(run.id).map_err(|error| error.to_string())?;
    }
    let names: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    Ok(print(&format!("Removed {}.\n", names.join(", "))))
}

fn confirmed(runs: &[Run]) -> Result<bool, String> {
    if !std::io::stdin().is_terminal() {
        return Err(
            "standard input is not a terminal, so removal cannot be confirmed; use --yes"
                .to_owned(),
        );
    }
    let list: Vec<String> = runs
        .iter()
        .map(|run| {
            format!(
                "{} ({} {}, cells: {})",
                run.id,
                run.experiment.kind,
                run.experiment.name.escape_debug(),
                run.cells
            )
        })
        .collect();
    let mut err = std::io::stderr();
    let _ = write!(err, "Remove {}? [y/N] ", list.join(", ")).and_then(|()| err.flush());
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
