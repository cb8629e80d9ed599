//! Data sheets: the figures a maker promises, their conditions, and the comparison with a
//! measurement. Pure functions.

mod compare;
mod conditions;
mod library;
mod matching;
mod read;
mod reason;
mod report;
mod sheet;

pub use self::compare::{Comparison, Judgement, SheetMeasurement, compare};
pub use self::conditions::{Conditions, conditions, job};
pub use self::library::Library;
pub use self::matching::MeasuredLoad;
pub use self::read::{SheetError, SheetProblem, read_sheets};
pub use self::report::{measured_line, report};
pub use self::sheet::{Access, Confidence, Figure, FigureDirection, Metric, Sheet, Zone};
