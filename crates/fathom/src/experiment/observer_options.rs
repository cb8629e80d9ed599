//! The observers of an experiment: lines on standard error, the full-screen view, events for programs.

use std::path::Path;

use fathom_cli::ObserverOptions;
use fathom_experiment::{Observer, Observers};
use fathom_linux::{OutputName, Outputs};

use super::events::Events;
use super::lines::Lines;
use super::watch::Watching;
use crate::session::Session;

/// Checks that the observers can work, before anything is measured.
///
/// # Errors
/// When `--watch` has no terminal.
pub fn check_observers(options: &ObserverOptions) -> Result<(), String> {
    if options.watch {
        Watching::check()
    } else {
        Ok(())
    }
}

/// Checks that the file for events can be written, before the run is stored. It does not change a file that exists.
///
/// # Errors
/// When the file cannot be created, or is not a place for outputs.
pub fn check_events<'a>(
    options: &ObserverOptions,
    targets: impl IntoIterator<Item = &'a Path>,
) -> Result<(), String> {
    let Some(name) = options.events.as_deref().filter(|name| *name != "-") else {
        return Ok(());
    };
    let path = Path::new(name);
    let found = std::fs::metadata(path);
    // The reader of a pipe would see its end when this check closes it.
    if found
        .as_ref()
        .is_ok_and(|found| !found.is_file() && !found.is_dir())
    {
        return Ok(());
    }
    Outputs::excluding(targets)
        .append(path, OutputName::Explicit)
        .map_err(|error| format!("--events: {error}"))?;
    if found.is_err() {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Opens the observers.
///
/// # Errors
/// When the file for events cannot be created, or the terminal cannot be used.
pub fn observers<'a>(
    session: &Session,
    options: &ObserverOptions,
    title: &str,
    outputs: &Outputs,
) -> Result<Observers<'a>, String> {
    // The terminal last: errors before can be read on it.
    let events = options
        .events
        .as_deref()
        .map(|name| Events::open(session, name, outputs))
        .transpose()?;
    let display: Option<Box<dyn Observer>> = match (options.watch, options.quiet) {
        (true, _) => Some(Box::new(Watching::open(session, title)?)),
        (false, true) => None,
        (false, false) => Some(Box::new(Lines::new(session))),
    };
    let events = events.map(|events| Box::new(events) as Box<dyn Observer>);
    Ok(Observers(display.into_iter().chain(events).collect()))
}
