//! Experiments: the quick benchmark, sweeps and recipes as job files and cells.

mod axis;
mod cell;
mod merge_plans;
mod order;
mod quick;
mod recipe;
mod sweep;

pub use self::axis::{Axis, AxisError};
pub use self::cell::{PlannedCell, file_value};
pub use self::merge_plans::merge_plans;
pub use self::order::coarse_first;
pub use self::quick::{Quick, QuickError};
pub use self::recipe::{
    Level, Recipe, RecipeError, Rounds, RunTarget, Setting, Step, Tracked, read_recipe,
};
pub use self::sweep::Sweep;
