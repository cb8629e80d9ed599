//! `fathom runs`: lists stored runs.

use fathom_cli::RunsArgs;
use fathom_model::Run;
use fathom_store::RunFilter;

use crate::cli;
use crate::outcome::Outcome;
use crate::output;
use crate::print::{note_line, print_to};
use crate::result_store::{is_dead, open_store};

/// Rows of a table without `--newest`.
const MOST_ROWS: u64 = 1000;
/// The state of a run whose process was killed.
const KILLED: &str = "killed";

/// Lists runs.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: RunsArgs| list(&args))
}

fn list(args: &RunsArgs) -> Result<Outcome, String> {
    let texts = args.texts.iter().map(|text| text.to_lowercase());
    // Only this host knows which of its processes were killed.
    let (states, texts): (Vec<String>, Vec<String>) =
        texts.partition(|text| KILLED.contains(text.as_str()));
    // A table of more runs than that is read by nobody; a program gets all of them.
    let shown = (!args.result.is_json()).then_some(MOST_ROWS);
    let filter = RunFilter {
        texts,
        labels: args.label.clone(),
        newest: args.newest.map(u64::from).or(shown.map(|most| most + 1)),
        before: None,
    };
    let mut runs = open_store(&args.store)?
        .find_runs(&filter, |run| states.iter().all(|text| contains(run, text)))
        .map_err(|error| error.to_string())?;
    let all = runs.len();
    if let (None, Some(most)) = (args.newest, shown)
        && all as u64 > most
    {
        runs.drain(..all - most as usize);
        note_line!(
            "fathom runs: only the newest {most} runs are shown; --newest=N shows more, --json all"
        );
    }
    let text = match (args.result.is_json(), runs.is_empty()) {
        (true, _) => fathom_report::runs_document(&runs, &is_dead),
        (false, true) => "No stored run matches.\n".to_owned(),
        (false, false) => fathom_report::runs_text(&runs, &is_dead, &output::answer_style()),
    };
    Ok(print_to(args.result.output.as_deref(), &text))
}

fn contains(run: &Run, text: &str) -> bool {
    let experiment = &run.experiment;
    let state = if is_dead(run) {
        KILLED
    } else {
        run.state.name()
    };
    let facts = experiment.facts.iter().map(|(_, value)| value.as_str());
    [experiment.name.as_str(), &experiment.shown_kind(), state]
        .into_iter()
        .chain(facts)
        .any(|value| value.to_lowercase().contains(text))
}
