//! A sweep: a grid of cells.

mod cells;
mod plan;
mod result;

pub use self::cells::{AxisError, LEAST_FOR_PRECISION, RepeatedCell, SweepCells, SweepGoal};
pub use self::plan::{SweepPlan, cell_time, sweep_settings};
pub use self::result::sweep_grid;
