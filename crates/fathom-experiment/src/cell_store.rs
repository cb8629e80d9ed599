//! Where the cells of an experiment are stored.

use fathom_load::IntervalSink;
use fathom_model::{CellFigures, Plan, Recording};
use fathom_plan::PlannedCell;
use thiserror::Error;

use crate::cell::MeasuredCell;

/// Why a cell cannot be stored or read.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct CellStoreError(#[from] Box<dyn std::error::Error + Send + Sync>);

impl CellStoreError {
    /// An error of the store.
    #[must_use]
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> CellStoreError {
        CellStoreError(Box::new(error))
    }
}

/// Stores cells, and returns those of earlier sessions.
pub trait CellStore {
    /// The figures of a cell that an earlier session finished.
    ///
    /// # Errors
    /// When the stored cell cannot be read.
    fn finished(&mut self, cell: &PlannedCell) -> Result<Option<CellFigures>, CellStoreError>;

    /// The recording of a finished cell; `None` if it is not stored.
    ///
    /// # Errors
    /// When the stored cell cannot be read.
    fn recording(&mut self, cell: &PlannedCell) -> Result<Option<Recording>, CellStoreError>;

    /// Stores that a cell is about to be measured as `plan`. Its intervals go to the returned sink.
    ///
    /// # Errors
    /// When nothing can be stored: the measurement would be lost.
    fn start(
        &mut self,
        cell: &PlannedCell,
        plan: &Plan,
    ) -> Result<Option<IntervalSink>, CellStoreError>;

    /// Stores why a cell could not be measured.
    ///
    /// # Errors
    /// When that cannot be stored.
    fn fail(&mut self, cell: &PlannedCell, reason: &str) -> Result<(), CellStoreError>;

    /// Stores a cell, complete or interrupted. It is durable when this returns.
    ///
    /// # Errors
    /// When it cannot be stored.
    fn save(&mut self, cell: &PlannedCell, measured: &MeasuredCell) -> Result<(), CellStoreError>;
}
