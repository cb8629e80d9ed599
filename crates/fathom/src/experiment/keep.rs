//! Where the cells of an experiment are kept.

use fathom_model::CellFigures;
use fathom_plan::Cell;

use super::cell::Measured;

/// Keeps cells and knows those of earlier sessions.
pub trait Keep {
    /// The figures of a cell that was finished before.
    fn known(&self, id: &str) -> Option<CellFigures>;
    /// Takes a finished cell; when this returns it is safe.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn save(&mut self, cell: &Cell, measured: &Measured) -> Result<(), String>;
}

/// Keeps nothing.
pub struct Nowhere;

impl Keep for Nowhere {
    fn known(&self, _id: &str) -> Option<CellFigures> {
        None
    }

    fn save(&mut self, _cell: &Cell, _measured: &Measured) -> Result<(), String> {
        Ok(())
    }
}
