//! `fathom resume`: goes on with an experiment that was interrupted, killed or stopped.

use std::time::Duration;

use fathom_model::{Run, RunState};
use fathom_store::Store;

use crate::args::{Arg, ArgSpec};
use crate::experiment::{ObserverOptions, StoreWriter, time};
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::result_store::is_dead;
use crate::sweep;

const HELP: &str = "\
usage: fathom resume [RUN] [OPTIONS]

Goes on with an experiment where it was interrupted, killed or stopped. What is finished is
not measured again. Without RUN it is the latest that is not finished.

  --store=FILE   the store to look into
  --budget=TIME  how long it may take from now on; a run whose budget is used up needs it
  --destroy=CODE allow writing to a device that this run has written already: what it
                 holds, and so its code, is not what it was when the run began
  --watch        the full-screen view
  --events=FILE  what happens as lines of JSON; - is the standard output
";

/// Kinds that can be taken up again.
const KINDS: [&str; 3] = ["sweep", "search", "suite"];

const WORDS: ArgSpec = ArgSpec {
    word: "resume",
    flags: &["--watch"],
    values: &["--events", "--budget", "--destroy"],
};

/// How an experiment goes on.
#[derive(Clone, Debug, Default)]
pub struct ResumeArgs {
    /// To whom it is told.
    pub telling: ObserverOptions,
    /// How long it may take from now on, in place of its own budget.
    pub more: Option<Duration>,
    /// Codes of devices that were written before, which hold something else now.
    pub destroy: Vec<String>,
}

/// Goes on with what the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    if arguments
        .iter()
        .any(|argument| argument == "--help" || argument == "-h")
    {
        return print(HELP);
    }
    go_on(arguments).unwrap_or_else(|message| {
        eprint_line!("fathom resume: {message}");
        Outcome::Refused
    })
}

fn go_on(arguments: &[String]) -> Result<Outcome, String> {
    let (mut again, mut name) = (ResumeArgs::default(), None);
    let wish = WORDS.read(arguments, &mut |given| {
        match given {
            Arg::Flag(_) => again.telling.watch = true,
            Arg::Value(option @ "--budget", value) => again.more = Some(time(option, value)?),
            Arg::Value("--destroy", code) => again.destroy.push(code.to_owned()),
            Arg::Value(_, file) => again.telling.events = Some(file.to_owned()),
            Arg::Operand(word) => match name.replace(word.to_owned()) {
                None => {}
                Some(_) => return Err("one run at a time".to_owned()),
            },
        }
        Ok(())
    })?;
    again.telling.check()?;
    let mut store = wish.open()?;
    let run = match name {
        Some(name) => store.run(&name).map_err(|error| error.to_string())?,
        None => latest(&mut store)?,
    };
    if let Some(why_not) = refusal(&run) {
        return Err(why_not);
    }
    let stored = StoreWriter::again(store, &run)?;
    match run.experiment.kind.as_str() {
        "sweep" => sweep::resume(&run, stored, again),
        "search" => crate::search::resume(&run, stored, again),
        "suite" => crate::suite::resume(&run, stored, again),
        kind => Err(format!(
            "{} is a {kind}, which cannot be taken up again",
            run.id
        )),
    }
}

/// The latest that can be taken up.
fn latest(store: &mut Store) -> Result<Run, String> {
    let runs = store.unfinished().map_err(|error| error.to_string())?;
    let found = runs.into_iter().rev().find(|run| refusal(run).is_none());
    found.ok_or_else(|| {
        "nothing is left to go on with; `fathom runs` lists what there is".to_owned()
    })
}

/// Why a run is not taken up.
fn refusal(run: &Run) -> Option<String> {
    let (id, kind) = (run.id, run.experiment.kind.as_str());
    if run.state == RunState::Finished {
        return Some(format!(
            "{id} is finished; `fathom show {id}` tells what came of it"
        ));
    }
    if !KINDS.contains(&kind) {
        return Some(format!(
            "{id} is a single {kind}, of which nothing is left to go on with: start it again"
        ));
    }
    let works = run.state == RunState::Running && !is_dead(run);
    works.then(|| format!("another process works on {id} ({})", run.experiment.owner))
}
