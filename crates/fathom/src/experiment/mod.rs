//! The driver of experiments: cell after cell, each saved the moment it exists, told as it goes, and stopped in time.
//!
//! A sweep, a search or a suite is a [`CellSource`]: it hands out cells and learns their figures. Everything else (plans, the
//! guard, measuring, saving, resuming, progress, interrupts, budgets) is here and the same for all of them.

mod cell;
mod cell_store;
mod events;
mod job_file;
mod lines;
mod observer;
mod observer_options;
mod runner;
mod saved;
mod watch;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fathom_linux::{LinuxClock, interrupts};
use fathom_model::{CellFigures, RunEnd};
use fathom_plan::PlannedCell;

use self::cell::{CellError, ENOSPC, Runner, room};
pub use self::cell::{MeasuredCell, layout_cell, plan_of};
pub use self::cell_store::{CellStore, StoreWriter};
pub use self::job_file::read_job_file;
pub use self::observer::{Observer, Position};
pub use self::observer_options::{check_observers, observers};
pub use self::runner::ExperimentRunner;
pub use self::saved::Saved;

/// Which cell comes next. A course must hand out the same cells again when it learns the same figures: that is how a run is
/// resumed.
pub trait CellSource {
    /// The next cell; nothing when all is known.
    fn next(&mut self) -> Option<PlannedCell>;
    /// Takes what came of a cell: its figures, or why it could not be measured.
    fn learn(&mut self, cell: &PlannedCell, came: Result<&CellFigures, &str>);
    /// How many cells are to come, as far as is known now.
    fn left(&self) -> usize;
}

/// How an experiment ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its course came to its end.
    Done,
    /// The user had enough.
    Interrupted,
    /// The time was up.
    OutOfTime,
    /// The target has no room: what was made there goes, so that there is some.
    Full(String),
    /// Nothing more can be measured, for this reason; mended, it can be resumed.
    Stopped(String),
}

impl Ended {
    /// Nothing is left to go on with.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Ended::Done)
    }

    /// The word for programs.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Ended::Done => "done",
            Ended::Interrupted => "interrupted",
            Ended::OutOfTime => "out of time",
            Ended::Full(_) | Ended::Stopped(_) => "stopped",
        }
    }
}

/// What bounds an experiment.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// All cells together, those measured earlier included.
    pub budget: Option<Duration>,
    /// In its place, from now on: it was resumed with more time.
    pub more: Option<Duration>,
    /// How long a cell is expected to take, before the first is known.
    pub expected: Option<Duration>,
    /// Codes that allow writing.
    pub destroy: Vec<String>,
}

/// Measures what `course` hands out until it ends. What `keep` knows already is not measured again. A result that cannot be
/// saved stops it: going on would lose it.
pub fn drive(
    course: &mut dyn CellSource,
    bounds: &Bounds,
    keep: &mut dyn CellStore,
    audience: &mut dyn Observer,
) -> Ended {
    through(course, bounds, keep, audience).unwrap_or_else(Ended::Stopped)
}

fn through(
    course: &mut dyn CellSource,
    bounds: &Bounds,
    keep: &mut dyn CellStore,
    audience: &mut dyn Observer,
) -> Result<Ended, String> {
    interrupts();
    let mut runner = Runner::new(LinuxClock::start(), bounds.destroy.clone());
    let mut pace = Pace::new(bounds);
    while let Some(cell) = course.next() {
        if let Some(figures) = keep.known(&cell)? {
            pace.took_before(&cell, Duration::from_nanos(figures.elapsed.get()));
            course.learn(&cell, Ok(&figures));
            continue;
        }
        if interrupts().load(Relaxed) > 0 {
            return Ok(Ended::Interrupted);
        }
        if !pace.has_room() {
            return Ok(Ended::OutOfTime);
        }
        let standing = pace.standing(course.left().saturating_sub(usize::from(cell.prepares)));
        audience.begins(&standing, &cell);
        let begun = Instant::now();
        let came = runner.measure(&cell, &standing, audience, keep);
        let took = begun.elapsed();
        match came {
            Ok(measured) if measured.findings.end != RunEnd::Completed => {
                keep.save(&cell, &measured)?;
                audience.ends(&standing, &cell, Ok(&measured));
                return Ok(Ended::Interrupted);
            }
            Ok(measured) if measured.figures.error == ENOSPC => {
                let why = format!(
                    "there is no room left for '{}': {}",
                    cell.id(),
                    room(&measured.recording.plan)
                );
                keep.failed(&cell, &why)?;
                audience.ends(&standing, &cell, Err(&why));
                return Ok(Ended::Full(why));
            }
            Ok(measured) => {
                // What only lays files out is looked at again when it is resumed.
                if measured.recording.jobs.iter().any(|job| !job.skipped) {
                    keep.save(&cell, &measured)?;
                }
                audience.ends(&standing, &cell, Ok(&measured));
                course.learn(&cell, Ok(&measured.figures));
            }
            Err(_) if interrupts().load(Relaxed) > 0 => return Ok(Ended::Interrupted),
            Err(CellError::Full(why)) => return Ok(Ended::Full(why)),
            Err(CellError::Refused(why)) => return Ok(Ended::Stopped(why)),
            Err(CellError::Plain(why)) => {
                keep.failed(&cell, &why)?;
                audience.ends(&standing, &cell, Err(&why));
                course.learn(&cell, Err(&why));
            }
        }
        pace.took(&cell, took);
    }
    Ok(Ended::Done)
}

/// How long cells take.
struct Pace<'a> {
    bounds: &'a Bounds,
    begun: Instant,
    /// Time of cells of an earlier session.
    before: Duration,
    known: u32,
    taken: Duration,
    number: usize,
}

impl<'a> Pace<'a> {
    fn new(bounds: &'a Bounds) -> Pace<'a> {
        Pace {
            bounds,
            begun: Instant::now(),
            before: Duration::ZERO,
            known: 0,
            taken: Duration::ZERO,
            number: 0,
        }
    }

    fn took_before(&mut self, cell: &PlannedCell, time: Duration) {
        self.before += time;
        self.number += usize::from(!cell.prepares);
    }

    /// What only prepares says nothing of how long the others take.
    fn took(&mut self, cell: &PlannedCell, time: Duration) {
        if !cell.prepares {
            self.taken += time;
            self.known += 1;
            self.number += 1;
        }
    }

    /// The time of one cell: the mean of what was seen, else what was planned.
    fn each(&self) -> Option<Duration> {
        if self.known > 0 {
            Some(self.taken / self.known)
        } else {
            self.bounds.expected
        }
    }

    /// The budget, and what is used of it.
    fn spent(&self) -> Option<(Duration, Duration)> {
        let now = self.begun.elapsed();
        let whole = || self.bounds.budget.map(|budget| (budget, self.before + now));
        self.bounds.more.map(|more| (more, now)).or_else(whole)
    }

    /// Whether another cell fits into the budget. The first one always does.
    fn has_room(&self) -> bool {
        let Some((budget, spent)) = self.spent() else {
            return true;
        };
        let first = if self.bounds.more.is_some() {
            self.known == 0
        } else {
            self.number == 0
        };
        // A cell that ends a little late is better than a last tenth of the budget unused.
        first || spent + self.each().unwrap_or_default() <= budget + budget / 20
    }

    fn standing(&self, left: usize) -> Position {
        let each = self.each();
        let rest = each.map(|each| each * (left as u32 + 1));
        let within = self
            .spent()
            .map(|(budget, spent)| budget.saturating_sub(spent));
        Position {
            number: self.number + 1,
            all: self.number + 1 + left,
            begun: Instant::now(),
            rest: match (rest, within) {
                (Some(rest), Some(within)) => Some(rest.min(within)),
                (rest, _) => rest,
            },
        }
    }
}
