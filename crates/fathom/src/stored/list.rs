//! `fathom runs`: lists stored runs.

use fathom_cli::RunsArgs;
use fathom_model::Run;

use crate::cli;
use crate::outcome::Outcome;
use crate::output;
use crate::print::print_to;
use crate::result_store::{is_dead, open_store};

/// Lists runs.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: RunsArgs| list(&args))
}

fn list(args: &RunsArgs) -> Result<Outcome, String> {
    let mut runs = open_store(&args.store)?
        .runs()
        .map_err(|error| error.to_string())?;
    let texts: Vec<String> = args.texts.iter().map(|text| text.to_lowercase()).collect();
    runs.retain(|run| texts.iter().all(|text| contains(run, text)));
    let from = runs.len()
        - args
            .newest
            .map_or(runs.len(), |newest| runs.len().min(newest as usize));
    let text = match (args.result.is_json(), runs.is_empty()) {
        (true, _) => fathom_report::runs_document(&runs[from..], &is_dead),
        (false, true) => "No stored run matches.\n".to_owned(),
        (false, false) => {
            fathom_report::runs_text(&runs[from..], &is_dead, &output::answer_style())
        }
    };
    Ok(print_to(args.result.output.as_deref(), &text))
}

fn contains(run: &Run, text: &str) -> bool {
    let experiment = &run.experiment;
    let state = if is_dead(run) {
        "killed"
    } else {
        run.state.name()
    };
    let facts = experiment.facts.iter().map(|(_, value)| value.as_str());
    [experiment.name.as_str(), &experiment.kind, state]
        .into_iter()
        .chain(facts)
        .any(|value| value.to_lowercase().contains(text))
}
