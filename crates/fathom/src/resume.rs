//! `fathom resume`: continues an experiment that was interrupted, killed or stopped, or takes over a run on several hosts.

use fathom_cli::ResumeArgs;
use fathom_model::{Run, RunState};
use fathom_store::Store;

use crate::cli;
use crate::experiment::check_events;
use crate::outcome::Outcome;
use crate::result_store::{is_dead, open_store};
use crate::sweep;

/// Kinds that can be continued.
const KINDS: [&str; 3] = ["sweep", "search", "suite"];

/// Continues the run that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: ResumeArgs| resume(&args))
}

fn resume(args: &ResumeArgs) -> Result<Outcome, String> {
    let mut store = open_store(&args.store)?;
    let run = match &args.run {
        Some(name) => store.run(name).map_err(|error| error.to_string())?,
        None => latest(&mut store)?,
    };
    if let Some(why_not) = refusal(&run) {
        return Err(why_not);
    }
    check_events(&args.observers, [])?;
    if crate::hosts::is_of_hosts(&run) {
        let ran = crate::hosts::resume(&run, store, args.observers.quiet)?;
        return Ok(crate::run::ran_outcome("fathom resume", ran));
    }
    match run.experiment.kind.as_str() {
        "sweep" => sweep::resume(&run, store, args),
        "search" => crate::search::resume(&run, store, args),
        "suite" => crate::suite::resume(&run, store, args),
        kind => Err(format!("{} is a {kind}, which cannot be continued", run.id)),
    }
}

/// The latest run that can be continued.
fn latest(store: &mut Store) -> Result<Run, String> {
    let runs = store.unfinished().map_err(|error| error.to_string())?;
    let found = runs.into_iter().rev().find(|run| refusal(run).is_none());
    found.ok_or_else(|| "no run can be continued; `fathom runs` lists the runs".to_owned())
}

/// Why a run cannot be continued.
fn refusal(run: &Run) -> Option<String> {
    let (id, kind) = (run.id, run.experiment.kind.as_str());
    if run.state == RunState::Finished {
        return Some(format!(
            "{id} is finished; `fathom show {id}` shows its result"
        ));
    }
    if !KINDS.contains(&kind) && !crate::hosts::is_of_hosts(run) {
        return Some(format!(
            "{id} is a single {kind} and cannot be continued: start it again"
        ));
    }
    let is_active = run.state == RunState::Running && !is_dead(run);
    is_active.then(|| {
        format!(
            "another process is measuring {id} ({})",
            run.experiment.owner
        )
    })
}
