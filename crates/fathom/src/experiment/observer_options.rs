//! To whom an experiment is told while it lasts: lines, the whole screen, programs.

use super::events::Events;
use super::lines::Lines;
use super::observer::{Observer, Observers};
use super::watch::Watching;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct ObserverOptions {
    /// `--watch`: the full-screen view.
    pub watch: bool,
    /// `--events`: where events go.
    pub events: Option<String>,
}

impl ObserverOptions {
    /// Whether events take the place of the answer on the standard output.
    pub fn is_answer(&self) -> bool {
        self.events.as_deref() == Some("-")
    }

    /// Whether it can be, before anything is begun.
    ///
    /// # Errors
    /// When there is no terminal to watch on.
    pub fn check(&self) -> Result<(), String> {
        if self.watch { Watching::can() } else { Ok(()) }
    }

    /// Everybody who is told.
    ///
    /// # Errors
    /// When the file for events cannot be made, or the terminal taken over.
    pub fn audience<'a>(&self, title: &str) -> Result<Observers<'a>, String> {
        // The terminal last: what goes wrong before can be read on it.
        let events = self.events.as_deref().map(Events::open).transpose()?;
        let first: Box<dyn Observer> = if self.watch {
            Box::new(Watching::open(title)?)
        } else {
            Box::new(Lines::new())
        };
        let mut everyone = Observers(vec![first]);
        everyone
            .0
            .extend(events.map(|events| Box::new(events) as Box<dyn Observer>));
        Ok(everyone)
    }
}
