//! Experiments: the quick benchmark, sweeps and recipes as job files and cells.

mod axis;
mod cell;
mod limits;
mod merge_plans;
mod order;
mod quick;
mod recipe;
mod sweep;

pub use self::axis::{Axis, AxisError};
pub use self::cell::{PlannedCell, file_value};
pub use self::limits::{
    LIMITS_DRAIN, LIMITS_IDLE, LIMITS_ONE, LIMITS_REFILL, LIMITS_SIZE, LimitsPlan,
};
pub use self::merge_plans::merge_plans;
pub use self::order::coarse_first;
pub use self::quick::{Quick, QuickError};
pub use self::recipe::{
    LIMITED_STEP, Level, Profile, ProfileJob, ProfilePlace, ProfileStep, Recipe, RecipeError,
    Rounds, RunTarget, Setting, Step, Tenant, Tracked, Training, profile_place, read_profile,
    read_recipe,
};
pub use self::sweep::Sweep;
