//! Sweeps, searches and suites: which cells an experiment measures, in which order, and when it stops.
//!
//! A [`CellSource`] returns cells and learns their figures. [`drive`] measures the cells of any source with a
//! [`CellRunner`], stores each one in a [`CellStore`] as soon as it is measured, reports to an [`Observer`], and stops at the
//! end of the budget or on an interrupt. The sources are [`SweepCells`], [`SearchCells`] and [`SuiteCells`].
//!
//! This crate opens no file, prints nothing and reads no environment variable: the binary implements the traits.
//!
//! ```
//! use fathom_experiment::{CellSource, SweepCells, SweepGoal};
//! use fathom_plan::{Axis, Sweep};
//!
//! let sweep = Sweep {
//!     axes: vec![Axis::parse("iodepth=1..8*2").unwrap()],
//!     job_file: None,
//!     settings: Vec::new(),
//!     targets: Vec::new(),
//!     display_names: Vec::new(),
//!     together: true,
//! };
//! let goal = SweepGoal { repeats: 2, precision: None, agreement: None, again: false };
//! let mut cells = SweepCells::new(&sweep, goal, None).unwrap();
//! assert_eq!(cells.remaining(), 8);
//! assert_eq!(cells.next().unwrap().key, "iodepth=1");
//! ```
#![forbid(unsafe_code)]

mod cell;
mod cell_store;
mod driver;
mod observer;
mod pace;
mod saved;
mod search;
mod suite;
mod sweep;
mod target;

pub use self::cell::{CellError, MeasuredCell, PlanError, layout_cell, plan_cell};
pub use self::cell_store::{CellStore, CellStoreError};
pub use self::driver::{Bounds, CellRunner, CellSource, Ended, drive};
pub use self::observer::{Observer, Observers, Position};
pub use self::saved::Saved;
pub use self::search::{
    SearchCells, SearchError, SearchGoal, TrialLoad, search_description, search_mix,
};
pub use self::suite::{
    CellDetails, DetailObserver, RecipeLibrary, StepProgress, SuiteCell, SuiteCells, SuitePlan,
    UnknownSuite, suite_steps,
};
pub use self::sweep::{
    AxisError, LEAST_FOR_PRECISION, RepeatedCell, SweepCells, SweepGoal, SweepPlan, cell_time,
    sweep_grid, sweep_settings,
};
pub use self::target::ExperimentTarget;
