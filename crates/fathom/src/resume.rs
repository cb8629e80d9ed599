//! `fathom resume`: goes on with an experiment that was interrupted, killed or stopped.

use fathom_model::{Run, RunState};
use fathom_store::Store;

use crate::experiment::{Stored, Watching};
use crate::keep::{StoreWish, is_dead};
use crate::outcome::Outcome;
use crate::say::{complain, say};
use crate::sweep;

const HELP: &str = "\
usage: fathom resume [RUN] [OPTIONS]

Goes on with an experiment where it was interrupted, killed or stopped. What is finished is
not measured again. Without RUN it is the latest that is not finished.

  --store=FILE   the store to look into
  --watch        the full-screen view
  --events=FILE  what happens as lines of JSON; - is the standard output
";

/// Kinds that can be taken up again.
const KINDS: [&str; 3] = ["sweep", "search", "suite"];

/// How a resumed experiment is told.
#[derive(Clone, Debug, Default)]
pub struct Telling {
    /// `--watch`.
    pub watch: bool,
    /// `--events`.
    pub events: Option<String>,
}

/// Goes on with what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return say(HELP);
    }
    go_on(arguments).unwrap_or_else(|message| {
        complain!("fathom resume: {message}");
        Outcome::Refused
    })
}

fn go_on(arguments: &[String]) -> Result<Outcome, String> {
    let (mut wish, mut telling, mut name) = (StoreWish::default(), Telling::default(), None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if wish.take(argument, &mut rest)? {
            continue;
        }
        match (argument.as_str(), argument.strip_prefix("--events=")) {
            ("--watch", _) => telling.watch = true,
            (_, Some(file)) => telling.events = Some(file.to_owned()),
            ("--events", _) => telling.events = Some(rest.next().ok_or("--events needs the name of a file, or -")?.clone()),
            (option, _) if option.starts_with('-') => {
                return Err(format!("there is no option '{}'; `fathom resume --help` lists them", option.escape_debug()));
            }
            _ if name.is_some() => return Err("one run at a time".to_owned()),
            _ => name = Some(argument),
        }
    }
    if telling.watch {
        Watching::can()?;
    }
    let mut store = wish.open()?;
    let run = match name {
        Some(name) => store.run(name).map_err(|error| error.to_string())?,
        None => latest(&mut store)?,
    };
    if let Some(why_not) = refusal(&run) {
        return Err(why_not);
    }
    let stored = Stored::again(store, &run)?;
    match run.experiment.kind.as_str() {
        "sweep" => sweep::resume(&run, stored, &telling),
        "search" => crate::search::resume(&run, stored),
        "suite" => crate::suite::resume(&run, stored),
        kind => Err(format!("{} is a {kind}, which cannot be taken up again", run.id)),
    }
}

/// The latest that can be taken up.
fn latest(store: &mut Store) -> Result<Run, String> {
    let runs = store.unfinished().map_err(|error| error.to_string())?;
    let found = runs.into_iter().rev().find(|run| refusal(run).is_none());
    found.ok_or_else(|| "nothing is left to go on with; `fathom runs` lists what there is".to_owned())
}

/// Why a run is not taken up.
fn refusal(run: &Run) -> Option<String> {
    let (id, kind) = (run.id, run.experiment.kind.as_str());
    if run.state == RunState::Finished {
        return Some(format!("{id} is finished; `fathom show {id}` tells what came of it"));
    }
    if !KINDS.contains(&kind) {
        return Some(format!("{id} is a single {kind}, of which nothing is left to go on with: start it again"));
    }
    let works = run.state == RunState::Running && !is_dead(run);
    works.then(|| format!("another process works on {id} ({})", run.experiment.owner))
}
