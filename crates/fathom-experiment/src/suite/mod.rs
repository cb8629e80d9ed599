//! A suite: the steps of a recipe.

mod cells;
mod details;
mod results;

pub use self::cells::{StepProgress, SuiteCell, SuiteCells};
pub use self::details::{CellDetails, DetailObserver};
pub use self::results::suite_steps;
