//! Data sheets: what a maker promises, under which conditions, and how a measurement compares with it. Pure.

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
pub use self::matching::Load;
pub use self::read::{SheetTrouble, read_sheets};
pub use self::report::{measured_line, report};
pub use self::sheet::{Access, Confidence, Figure, Sheet, Side, What, Zone};
