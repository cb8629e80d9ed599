//! A sweep: a grid of cells.

mod cells;

pub use self::cells::{AxisError, LEAST_FOR_PRECISION, RepeatedCell, SweepCells, SweepGoal};
