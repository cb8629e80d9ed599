//! `fathom sim`: the list of models, and job files on a simulated machine as `fathom run --machine` runs them.

use fathom_cli::SimArgs;
use fathom_model::Personality;
use fathom_sim::{KINDS, Library};

use crate::cli;
use crate::outcome::Outcome;
use crate::print::print;
use crate::session::user_models;

/// Lists the models, or runs the job files of the arguments.
pub fn command(arguments: &[String]) -> Outcome {
    cli::command(arguments, |args: SimArgs| {
        if args.models {
            return Ok(print(&models()));
        }
        let line = run_arguments(&args);
        Ok(crate::run::command(
            "fathom sim",
            Personality::Fathom,
            &line,
        ))
    })
}

/// The same as arguments of `fathom run`.
fn run_arguments(args: &SimArgs) -> Vec<String> {
    let machine = &args.machine;
    let mut line = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        line.extend(value.map(|value| format!("--{name}={value}")));
    };
    add("machine", machine.machine.clone());
    add("link", machine.link.map(|link| link.name()));
    add("seed", machine.seed.map(|seed| seed.to_string()));
    for (option, value) in &args.set {
        add("set", Some(format!("{option}={value}")));
    }
    let result = &args.result;
    add("output-format", result.is_json().then(|| "json".to_owned()));
    let output = result
        .output
        .as_ref()
        .map(|file| file.display().to_string());
    add("output", output);
    add("store", args.store.source.store.clone());
    for (name, value) in &args.store.label {
        add("label", Some(format!("{name}={value}")));
    }
    let flags = [("--no-store", args.store.no_store), ("--quiet", args.quiet)];
    let flags = flags.iter().filter(|(_, is_set)| *is_set);
    line.extend(flags.map(|(flag, _)| (*flag).to_owned()));
    line.extend(args.job_files.iter().cloned());
    line
}

/// The models and the kinds, one line each.
fn models() -> String {
    let mut library = Library::new();
    let mut problems = String::new();
    for (name, path, text) in user_models() {
        match text {
            Ok(text) => library.add(&name, &path, &text),
            Err(problem) => problems += &format!("  {problem}\n"),
        }
    }
    let mut text = String::from("Models:\n");
    for name in library.names() {
        let summary = match library.get(name) {
            Some(Ok(file)) => file.summary,
            Some(Err(error)) => error.to_string(),
            None => String::new(),
        };
        text += &format!("  {name:<16} {summary}\n");
    }
    text += "\nKinds, for models of your own and for compositions:\n";
    for kind in KINDS {
        text += &format!("  {:<16} {}\n", kind.name, kind.summary);
    }
    text + &problems
}
