//! The driver of experiments: cell after cell, each stored as soon as it is measured.

use std::time::{Duration, Instant};

use fathom_model::{CellFigures, Plan, RunEnd};
use fathom_plan::PlannedCell;

use crate::cell::{CellError, MeasuredCell};
use crate::cell_store::{CellStore, CellStoreError};
use crate::observer::{Observer, Position};
use crate::pace::Pace;

/// errno of a full file system.
const ENOSPC: i32 = 28;
/// Why a cell has no figures whose load ended early and which nobody interrupted.
const ENDED_ALONE: &str = "hosts did not hear their controller and ended the load";

/// Decides which cell comes next. A source must return the same cells again when it learns the same figures: that is how a
/// run is resumed.
pub trait CellSource {
    /// The next cell; `None` when the experiment is complete.
    fn next(&mut self) -> Option<PlannedCell>;
    /// Takes the figures of a cell, or why it could not be measured.
    fn learn(&mut self, cell: &PlannedCell, result: Result<&CellFigures, &str>);
    /// Why the result of the last cell contradicts others of the experiment.
    fn contradiction(&self) -> Option<String> {
        None
    }
    /// How many cells remain, as far as known now.
    fn remaining(&self) -> usize;
    /// How long this cell will take, where that differs between the cells.
    fn expected(&self, _cell: &PlannedCell) -> Option<Duration> {
        None
    }
}

/// Measures cells on a machine, and gives its time and its interrupts.
pub trait CellRunner {
    /// Measures one cell. Calls [`CellStore::start`] before the load starts.
    ///
    /// # Errors
    /// When the cell cannot be planned, is not permitted, or its files cannot be laid out.
    fn run(
        &mut self,
        cell: &PlannedCell,
        position: &Position,
        observer: &mut dyn Observer,
        store: &mut dyn CellStore,
    ) -> Result<MeasuredCell, CellError>;

    /// The time now.
    fn now(&self) -> Instant;

    /// Whether the user has interrupted the program.
    fn is_interrupted(&self) -> bool;

    /// Describes which file systems of `plan` are full, and what to do.
    fn no_space(&self, plan: &Plan) -> String;
}

/// How an experiment ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every cell was measured.
    Done,
    /// The user interrupted it.
    Interrupted,
    /// The budget is used up.
    OutOfTime,
    /// The target's file system is full. Files that the experiment created are removed, which frees space.
    NoSpace(String),
    /// Nothing more can be measured, for this reason. Once that is fixed, the run can be resumed.
    Stopped(String),
}

impl Ended {
    /// Whether the experiment is complete, so that there is nothing to resume.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self, Ended::Done)
    }

    /// The name in events.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Ended::Done => "done",
            Ended::Interrupted => "interrupted",
            Ended::OutOfTime => "out of time",
            Ended::NoSpace(_) | Ended::Stopped(_) => "stopped",
        }
    }
}

/// The limits of an experiment's time.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Time of all cells, those of earlier sessions included.
    pub budget: Option<Duration>,
    /// Time of this session, in place of `budget`: the run was resumed with more time.
    pub session_budget: Option<Duration>,
    /// Expected time of a cell, before the first is measured.
    pub expected: Option<Duration>,
}

/// Measures the cells of `source` until it ends. Cells that `store` has finished are not measured again. A cell that cannot
/// be stored ends the experiment: its result would be lost.
pub fn drive(
    source: &mut dyn CellSource,
    bounds: &Bounds,
    runner: &mut dyn CellRunner,
    store: &mut dyn CellStore,
    observer: &mut dyn Observer,
) -> Ended {
    run_cells(source, bounds, runner, store, observer)
        .unwrap_or_else(|error| Ended::Stopped(error.to_string()))
}

fn run_cells(
    source: &mut dyn CellSource,
    bounds: &Bounds,
    runner: &mut dyn CellRunner,
    store: &mut dyn CellStore,
    observer: &mut dyn Observer,
) -> Result<Ended, CellStoreError> {
    let mut pace = Pace::new(bounds, runner.now());
    while let Some(cell) = source.next() {
        if let Some(figures) = store.finished(&cell)? {
            pace.add_earlier(&cell, Duration::from_nanos(figures.elapsed.get()));
            source.learn(&cell, Ok(&figures));
            continue;
        }
        if runner.is_interrupted() {
            return Ok(Ended::Interrupted);
        }
        let started = runner.now();
        if !pace.has_time(started, source.expected(&cell)) {
            return Ok(Ended::OutOfTime);
        }
        let remaining = source
            .remaining()
            .saturating_sub(usize::from(cell.prepares));
        let position = pace.position(remaining, started);
        observer.cell_started(&position, &cell);
        let result = runner.run(&cell, &position, observer, store);
        let taken = runner.now().saturating_duration_since(started);
        match result {
            Ok(measured) if measured.findings.end != RunEnd::Completed => {
                store.save(&cell, &measured)?;
                observer.cell_finished(&position, &cell, Ok(&measured));
                if runner.is_interrupted() {
                    return Ok(Ended::Interrupted);
                }
                source.learn(&cell, Err(ENDED_ALONE));
            }
            Ok(measured) if measured.figures.error == ENOSPC => {
                let reason = format!(
                    "no space left for '{}': {}",
                    cell.id(),
                    runner.no_space(&measured.recording.plan)
                );
                store.fail(&cell, &reason)?;
                observer.cell_finished(&position, &cell, Err(&reason));
                return Ok(Ended::NoSpace(reason));
            }
            Ok(mut measured) => {
                // A cell that only lays files out is not stored: a resumed run checks the files again.
                if measured.recording.jobs.iter().any(|job| !job.skipped) {
                    store.save(&cell, &measured)?;
                }
                source.learn(&cell, Ok(&measured.figures));
                if let Some(evidence) = source.contradiction() {
                    fathom_analyse::mark_contradiction(&mut measured.figures);
                    measured
                        .findings
                        .findings
                        .push(fathom_analyse::contradiction_finding(&evidence));
                }
                observer.cell_finished(&position, &cell, Ok(&measured));
            }
            Err(_) if runner.is_interrupted() => return Ok(Ended::Interrupted),
            Err(error @ CellError::NoSpace { .. }) => {
                return Ok(Ended::NoSpace(error.to_string()));
            }
            Err(error @ CellError::Refused(_)) => return Ok(Ended::Stopped(error.to_string())),
            Err(CellError::Store(error)) => return Err(error),
            Err(error @ (CellError::Plan(_) | CellError::Load(_))) => {
                let reason = error.to_string();
                store.fail(&cell, &reason)?;
                observer.cell_finished(&position, &cell, Err(&reason));
                source.learn(&cell, Err(&reason));
            }
        }
        pace.add(&cell, taken);
    }
    Ok(Ended::Done)
}

#[cfg(test)]
mod tests {
    use fathom_load::IntervalSink;
    use fathom_model::{Nanos, Progress, Recording};

    use super::*;
    use crate::cell::PlanError;

    /// Cells in the order given, with how many of them it has learnt.
    struct Cells(std::vec::IntoIter<PlannedCell>, Vec<f64>);

    impl CellSource for Cells {
        fn next(&mut self) -> Option<PlannedCell> {
            self.0.next()
        }
        fn learn(&mut self, _cell: &PlannedCell, result: Result<&CellFigures, &str>) {
            self.1.push(result.map_or(f64::NAN, |figures| figures.iops));
        }
        fn remaining(&self) -> usize {
            self.0.len()
        }
    }

    /// The store of a run with finished cells, by key and repeat; nothing more is measured.
    struct Finished(Vec<(String, u32)>);

    impl CellStore for Finished {
        fn finished(&mut self, cell: &PlannedCell) -> Result<Option<CellFigures>, CellStoreError> {
            let place = self
                .0
                .iter()
                .position(|(key, repeat)| (key, *repeat) == (&cell.key, cell.repeat));
            Ok(place.map(|place| CellFigures {
                iops: place as f64,
                elapsed: Nanos::from_secs(2),
                ..CellFigures::default()
            }))
        }
        fn recording(&mut self, _: &PlannedCell) -> Result<Option<Recording>, CellStoreError> {
            Ok(None)
        }
        fn start(
            &mut self,
            _: &PlannedCell,
            _: &Plan,
        ) -> Result<Option<IntervalSink>, CellStoreError> {
            Ok(None)
        }
        fn fail(&mut self, _: &PlannedCell, _: &str) -> Result<(), CellStoreError> {
            Ok(())
        }
        fn save(&mut self, _: &PlannedCell, _: &MeasuredCell) -> Result<(), CellStoreError> {
            Ok(())
        }
    }

    /// Notes what it is asked to measure, and refuses it.
    struct Refuses(Vec<String>);

    impl CellRunner for Refuses {
        fn run(
            &mut self,
            cell: &PlannedCell,
            _: &Position,
            _: &mut dyn Observer,
            _: &mut dyn CellStore,
        ) -> Result<MeasuredCell, CellError> {
            self.0.push(format!("{} {}", cell.key, cell.repeat));
            Err(PlanError::NoJob(cell.key.clone()).into())
        }
        fn now(&self) -> Instant {
            Instant::now()
        }
        fn is_interrupted(&self) -> bool {
            false
        }
        fn no_space(&self, _: &Plan) -> String {
            String::new()
        }
    }

    struct Unwatched;

    impl Observer for Unwatched {
        fn cell_started(&mut self, _: &Position, _: &PlannedCell) {}
        fn progress(&mut self, _: &Position, _: &Progress) {}
        fn cell_finished(&mut self, _: &Position, _: &PlannedCell, _: Result<&MeasuredCell, &str>) {
        }
    }

    /// Two cells have two repeats each, and three of the four were finished by an earlier run: only the fourth is measured.
    #[test]
    fn finished_cells_and_repeats_are_not_measured_again() {
        let cell = |key: &str, repeat| PlannedCell {
            key: key.to_owned(),
            repeat,
            ..PlannedCell::default()
        };
        let cells = vec![cell("a", 0), cell("a", 1), cell("b", 0), cell("b", 1)];
        let mut store = Finished(
            cells[..3]
                .iter()
                .map(|one| (one.key.clone(), one.repeat))
                .collect(),
        );
        let mut source = Cells(cells.into_iter(), Vec::new());
        let mut runner = Refuses(Vec::new());
        let bounds = Bounds::default();
        let ended = drive(
            &mut source,
            &bounds,
            &mut runner,
            &mut store,
            &mut Unwatched,
        );
        assert_eq!((ended, runner.0), (Ended::Done, vec!["b 1".to_owned()]));
        assert_eq!(source.1[..3], [0.0, 1.0, 2.0]);
        assert!(source.1.len() == 4 && source.1[3].is_nan());
    }
}
