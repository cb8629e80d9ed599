//! `fathom rm`: takes runs out of the store, after asking.

use std::io::{BufRead, IsTerminal, Write};

use fathom_model::{Run, RunState};

use super::{named, told};
use crate::args::{Arg, ArgSpec};
use crate::outcome::Outcome;
use crate::print::print;
use crate::result_store::{StoreChoice, elsewhere, is_dead};

const HELP: &str = "\
usage: fathom rm RUN... [OPTIONS]

Removes runs with all that was measured in them, after asking. There is no way back.

  --yes          do not ask
  --store=FILE   another store than your own
";

#[derive(Default)]
struct RemoveArgs {
    names: Vec<String>,
    yes: bool,
    store: StoreChoice,
}

/// Removes runs.
pub fn command(arguments: &[String]) -> Outcome {
    told("rm", HELP, arguments, |arguments| {
        remove(&asked(arguments)?)
    })
}

const WORDS: ArgSpec = ArgSpec {
    word: "rm",
    flags: &["--yes", "-y"],
    values: &[],
};

fn asked(arguments: &[String]) -> Result<RemoveArgs, String> {
    let mut asked = RemoveArgs::default();
    let store = WORDS.read(arguments, &mut |given| {
        match given {
            Arg::Operand(name) => asked.names.push(name.to_owned()),
            _ => asked.yes = true,
        }
        Ok(())
    })?;
    asked.store = store;
    if asked.names.is_empty() {
        Err("name the runs to remove; `fathom runs` lists them".to_owned())
    } else {
        Ok(asked)
    }
}

fn remove(asked: &RemoveArgs) -> Result<Outcome, String> {
    let mut store = asked.store.open()?;
    let mut runs: Vec<Run> = Vec::new();
    for name in &asked.names {
        let named = named(&mut store, name)?;
        if named.cell.is_some() {
            return Err(format!("'{name}' is a cell; whole runs are removed"));
        }
        let id = named.run.id;
        match elsewhere(&named.run) {
            Some(_) if asked.yes => {}
            Some(on) => {
                let on = on.escape_debug();
                return Err(format!(
                    "{id} was begun on {on}, where it may be going on: look there, and remove it with --yes when it is not"
                ));
            }
            None if named.run.state == RunState::Running && !is_dead(&named.run) => {
                return Err(format!("{id} is being measured now; stop it first"));
            }
            None => {}
        }
        if !runs.contains(&named.run) {
            runs.push(named.run);
        }
    }
    if !asked.yes && !agreed(&runs)? {
        return Ok(print("Nothing was removed.\n"));
    }
    for run in &runs {
        store.remove(run.id).map_err(|error| error.to_string())?;
    }
    let names: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    Ok(print(&format!("Removed {}.\n", names.join(", "))))
}

fn agreed(runs: &[Run]) -> Result<bool, String> {
    if !std::io::stdin().is_terminal() {
        return Err("nobody is there to be asked whether they may go; --yes says so".to_owned());
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
