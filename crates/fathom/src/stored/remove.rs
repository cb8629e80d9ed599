//! `fathom rm`: removes runs from the store, after asking.

use std::io::{BufRead, IsTerminal, Write};

use fathom_cli::RmArgs;
use fathom_model::{Run, RunState};

use super::RunOrCell;
use crate::cli;
use crate::outcome::Outcome;
use crate::print::print;
use crate::result_store::{is_dead, open_store, other_host};

/// Removes runs.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: RmArgs| remove(&args))
}

fn remove(args: &RmArgs) -> Result<Outcome, String> {
    let mut store = open_store(&args.store)?;
    let mut runs: Vec<Run> = Vec::new();
    for name in &args.runs {
        let found = RunOrCell::find(&mut store, name)?;
        if found.cell.is_some() {
            return Err(format!(
                "'{name}' is a cell; only whole runs can be removed"
            ));
        }
        let id = found.run.id;
        match other_host(&found.run) {
            Some(_) if args.yes => {}
            Some(host) => {
                let host = host.escape_debug();
                return Err(format!(
                    "{id} was started on {host} and may still be running there; if it is not, remove it with --yes"
                ));
            }
            None if found.run.state == RunState::Running && !is_dead(&found.run) => {
                return Err(format!("{id} is being measured now; stop it first"));
            }
            None => {}
        }
        if !runs.contains(&found.run) {
            runs.push(found.run);
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
