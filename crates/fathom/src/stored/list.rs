//! `fathom runs`: what is kept.

use fathom_model::Run;

use super::told;
use crate::args::{Arg, ArgSpec};
use crate::outcome::Outcome;
use crate::output;
use crate::print::print;
use crate::result_store::{StoreChoice, is_dead};

const HELP: &str = "\
usage: fathom runs [TEXT...] [OPTIONS]

Lists the runs that are kept, the newest last. With TEXT only those whose name, kind,
state, host, target or device has it in it.

  --last=N       only the newest N
  --json         for programs
  --store=FILE   another store than your own

Your store is $XDG_DATA_HOME/fathom/store.db, usually ~/.local/share/fathom/store.db;
FATHOM_STORE=FILE names another one for every command, FATHOM_STORE=none none.
";

#[derive(Default)]
struct ListArgs {
    texts: Vec<String>,
    last: Option<usize>,
    json: bool,
    store: StoreChoice,
}

/// Lists runs.
pub fn command(arguments: &[String]) -> Outcome {
    told("runs", HELP, arguments, |arguments| {
        list(&asked(arguments)?)
    })
}

const WORDS: ArgSpec = ArgSpec {
    word: "runs",
    flags: &["--json"],
    values: &["--last"],
};

fn asked(arguments: &[String]) -> Result<ListArgs, String> {
    let mut asked = ListArgs::default();
    let store = WORDS.read(arguments, &mut |given| {
        match given {
            Arg::Flag(_) => asked.json = true,
            Arg::Value(_, number) => {
                asked.last =
                    Some(number.parse().map_err(|_| {
                        format!("--last: '{}' is no number", number.escape_debug())
                    })?);
            }
            Arg::Operand(text) => asked.texts.push(text.to_lowercase()),
        }
        Ok(())
    })?;
    asked.store = store;
    Ok(asked)
}

fn list(asked: &ListArgs) -> Result<Outcome, String> {
    let mut runs = asked
        .store
        .open()?
        .runs()
        .map_err(|error| error.to_string())?;
    runs.retain(|run| asked.texts.iter().all(|text| speaks_of(run, text)));
    let from = runs.len() - asked.last.unwrap_or(runs.len()).min(runs.len());
    let text = match (asked.json, runs.is_empty()) {
        (true, _) => fathom_report::runs_document(&runs[from..], &is_dead),
        (false, true) => "No run is kept there that this fits.\n".to_owned(),
        (false, false) => {
            fathom_report::runs_text(&runs[from..], &is_dead, &output::answer_style())
        }
    };
    Ok(print(&text))
}

fn speaks_of(run: &Run, text: &str) -> bool {
    let experiment = &run.experiment;
    let state = if is_dead(run) {
        "killed"
    } else {
        run.state.word()
    };
    let facts = experiment.facts.iter().map(|(_, value)| value.as_str());
    [experiment.name.as_str(), &experiment.kind, state]
        .into_iter()
        .chain(facts)
        .any(|words| words.to_lowercase().contains(text))
}
