//! A suite: the steps of a recipe.

mod cells;
mod details;
mod library;
mod plan;
mod results;
mod training;

pub use self::cells::{StepProgress, SuiteCell, SuiteCells};
pub use self::details::{CellDetails, DetailObserver};
pub use self::library::{RecipeLibrary, UnknownSuite};
pub use self::plan::SuitePlan;
pub use self::results::suite_steps;
