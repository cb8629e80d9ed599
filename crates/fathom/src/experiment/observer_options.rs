//! The observers of an experiment: lines on standard error, the full-screen view, events for programs.

use fathom_cli::ObserverOptions;
use fathom_experiment::{Observer, Observers};

use fathom_linux::Outputs;

use super::events::Events;
use super::lines::Lines;
use super::watch::Watching;

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

/// Opens the observers.
///
/// # Errors
/// When the file for events cannot be created, or the terminal cannot be used.
pub fn observers<'a>(
    options: &ObserverOptions,
    title: &str,
    outputs: &Outputs,
) -> Result<Observers<'a>, String> {
    // The terminal last: errors before can be read on it.
    let events = options
        .events
        .as_deref()
        .map(|name| Events::open(name, outputs))
        .transpose()?;
    let display: Option<Box<dyn Observer>> = match (options.watch, options.quiet) {
        (true, _) => Some(Box::new(Watching::open(title)?)),
        (false, true) => None,
        (false, false) => Some(Box::new(Lines::new())),
    };
    let events = events.map(|events| Box::new(events) as Box<dyn Observer>);
    Ok(Observers(display.into_iter().chain(events).collect()))
}
