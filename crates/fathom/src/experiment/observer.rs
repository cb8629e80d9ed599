//! Who watches an experiment.

use std::time::{Duration, Instant};

use fathom_model::{Nanos, Progress, Recording};
use fathom_plan::PlannedCell;

use super::cell::MeasuredCell;

/// Where an experiment stands as a cell begins.
#[derive(Clone, Debug)]
pub struct Position {
    /// Of this cell, counted from 1, those of earlier sessions included.
    pub number: usize,
    /// How many there will be, as far as is known.
    pub all: usize,
    /// When the cell began.
    pub begun: Instant,
    /// How long this cell and all after it take.
    pub rest: Option<Duration>,
}

impl Position {
    /// What is left of the whole experiment now.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.rest
            .map(|rest| rest.saturating_sub(self.begun.elapsed()))
    }
}

/// Is told what happens. Nothing that it does may hold the load up.
pub trait Observer {
    /// The experiment begins, or goes on. `run` is its name in the store.
    fn opens(&mut self, _kind: &str, _cells: usize, _run: Option<&str>) {}
    /// A cell begins.
    fn begins(&mut self, standing: &Position, cell: &PlannedCell);
    /// How the cell stands; many times a second.
    fn progress(&mut self, standing: &Position, progress: &Progress);
    /// Whether the state of the cell, with its latencies so far, is wanted now.
    fn wants_state(&mut self, _elapsed: Nanos) -> bool {
        false
    }
    /// The state that was wanted.
    fn state(&mut self, _state: &Recording) {}
    /// A cell has ended, or could not be measured.
    fn ends(&mut self, standing: &Position, cell: &PlannedCell, came: Result<&MeasuredCell, &str>);
    /// The experiment has ended, `how`; `resume` is the command that goes on with it.
    fn closes(&mut self, _how: &str, _resume: Option<&str>) {}
}

/// Several at once.
#[derive(Default)]
pub struct Observers<'a>(pub Vec<Box<dyn Observer + 'a>>);

/// Somebody who is lent to the experiment and asked afterwards.
impl<T: Observer + ?Sized> Observer for &mut T {
    fn opens(&mut self, kind: &str, cells: usize, run: Option<&str>) {
        (**self).opens(kind, cells, run);
    }

    fn begins(&mut self, standing: &Position, cell: &PlannedCell) {
        (**self).begins(standing, cell);
    }

    fn progress(&mut self, standing: &Position, progress: &Progress) {
        (**self).progress(standing, progress);
    }

    fn wants_state(&mut self, elapsed: Nanos) -> bool {
        (**self).wants_state(elapsed)
    }

    fn state(&mut self, state: &Recording) {
        (**self).state(state);
    }

    fn ends(&mut self, standing: &Position, cell: &PlannedCell, came: Result<&MeasuredCell, &str>) {
        (**self).ends(standing, cell, came);
    }

    fn closes(&mut self, how: &str, resume: Option<&str>) {
        (**self).closes(how, resume);
    }
}

impl Observer for Observers<'_> {
    fn opens(&mut self, kind: &str, cells: usize, run: Option<&str>) {
        self.0
            .iter_mut()
            .for_each(|one| one.opens(kind, cells, run));
    }

    fn begins(&mut self, standing: &Position, cell: &PlannedCell) {
        self.0.iter_mut().for_each(|one| one.begins(standing, cell));
    }

    fn progress(&mut self, standing: &Position, progress: &Progress) {
        self.0
            .iter_mut()
            .for_each(|one| one.progress(standing, progress));
    }

    fn wants_state(&mut self, elapsed: Nanos) -> bool {
        // Every observer is asked, also after one that wants it.
        let mut wanted = false;
        for one in &mut self.0 {
            wanted |= one.wants_state(elapsed);
        }
        wanted
    }

    fn state(&mut self, state: &Recording) {
        self.0.iter_mut().for_each(|one| one.state(state));
    }

    fn ends(&mut self, standing: &Position, cell: &PlannedCell, came: Result<&MeasuredCell, &str>) {
        self.0
            .iter_mut()
            .for_each(|one| one.ends(standing, cell, came));
    }

    fn closes(&mut self, how: &str, resume: Option<&str>) {
        self.0.iter_mut().for_each(|one| one.closes(how, resume));
    }
}
