//! Experiments: recipes that are job files, made for a target and a time, and the cells of a grid in a useful order.

mod axis;
mod beside;
mod cell;
mod order;
mod quick;
mod recipe;
mod sweep;

pub use self::axis::{Axis, AxisError};
pub use self::beside::beside;
pub use self::cell::{PlannedCell, file_value};
pub use self::order::coarse_first;
pub use self::quick::{Quick, QuickError};
pub use self::recipe::{
    Level, Recipe, RecipeTrouble, Rounds, RunTarget, Setting, Step, Tracked, read_recipe,
};
pub use self::sweep::Sweep;
