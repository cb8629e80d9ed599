//! Observers of an experiment.

use std::time::{Duration, Instant};

use fathom_model::{Nanos, Progress, Recording};
use fathom_plan::PlannedCell;

use crate::cell::MeasuredCell;

/// The position of a cell in its experiment.
#[derive(Clone, Debug)]
pub struct Position {
    /// Number of the cell, from 1, those of earlier sessions included.
    pub number: usize,
    /// How many cells there will be, as far as known.
    pub all: usize,
    /// When the cell started.
    pub started: Instant,
    /// How long this cell and all later ones take.
    pub remaining: Option<Duration>,
}

impl Position {
    /// The remaining time of the experiment at `now`.
    #[must_use]
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        self.remaining
            .map(|remaining| remaining.saturating_sub(now.saturating_duration_since(self.started)))
    }
}

/// Receives the events of an experiment. It must not delay the load.
pub trait Observer {
    /// The experiment starts or is resumed. `run` is its name in the store.
    fn experiment_started(&mut self, _kind: &str, _cells: usize, _run: Option<&str>) {}
    /// A cell starts.
    fn cell_started(&mut self, position: &Position, cell: &PlannedCell);
    /// The progress of the cell, many times a second.
    fn progress(&mut self, position: &Position, progress: &Progress);
    /// Whether the observer wants the state of the cell now, with its latencies so far.
    fn wants_state(&mut self, _elapsed: Nanos) -> bool {
        false
    }
    /// The state that [`Observer::wants_state`] requested.
    fn state(&mut self, _state: &Recording) {}
    /// A cell ended, or could not be measured.
    fn cell_finished(
        &mut self,
        position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    );
    /// The experiment ended, with the name of [`crate::Ended`]; `resume` is the command that resumes it.
    fn experiment_finished(&mut self, _how: &str, _resume: Option<&str>) {}
}

/// Several observers.
#[derive(Default)]
pub struct Observers<'a>(pub Vec<Box<dyn Observer + 'a>>);

/// A borrowed observer, read after the experiment.
impl<T: Observer + ?Sized> Observer for &mut T {
    fn experiment_started(&mut self, kind: &str, cells: usize, run: Option<&str>) {
        (**self).experiment_started(kind, cells, run);
    }

    fn cell_started(&mut self, position: &Position, cell: &PlannedCell) {
        (**self).cell_started(position, cell);
    }

    fn progress(&mut self, position: &Position, progress: &Progress) {
        (**self).progress(position, progress);
    }

    fn wants_state(&mut self, elapsed: Nanos) -> bool {
        (**self).wants_state(elapsed)
    }

    fn state(&mut self, state: &Recording) {
        (**self).state(state);
    }

    fn cell_finished(
        &mut self,
        position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    ) {
        (**self).cell_finished(position, cell, result);
    }

    fn experiment_finished(&mut self, how: &str, resume: Option<&str>) {
        (**self).experiment_finished(how, resume);
    }
}

impl Observer for Observers<'_> {
    fn experiment_started(&mut self, kind: &str, cells: usize, run: Option<&str>) {
        self.0
            .iter_mut()
            .for_each(|one| one.experiment_started(kind, cells, run));
    }

    fn cell_started(&mut self, position: &Position, cell: &PlannedCell) {
        self.0
            .iter_mut()
            .for_each(|one| one.cell_started(position, cell));
    }

    fn progress(&mut self, position: &Position, progress: &Progress) {
        self.0
            .iter_mut()
            .for_each(|one| one.progress(position, progress));
    }

    fn wants_state(&mut self, elapsed: Nanos) -> bool {
        // Call every observer, also after one that wants it.
        let mut wanted = false;
        for one in &mut self.0 {
            wanted |= one.wants_state(elapsed);
        }
        wanted
    }

    fn state(&mut self, state: &Recording) {
        self.0.iter_mut().for_each(|one| one.state(state));
    }

    fn cell_finished(
        &mut self,
        position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    ) {
        self.0
            .iter_mut()
            .for_each(|one| one.cell_finished(position, cell, result));
    }

    fn experiment_finished(&mut self, how: &str, resume: Option<&str>) {
        self.0
            .iter_mut()
            .for_each(|one| one.experiment_finished(how, resume));
    }
}
