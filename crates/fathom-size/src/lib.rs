//! Sizing: which drives a load needs, and how many; reference tables; what a change would bring.
//!
//! Every number is calculated from the text of its formula and from named inputs with their sources
//! ([`fathom_model::Derivation`]), so that what is shown as its derivation is what was calculated.
//!
//! ```
//! let rpm = fathom_size::reference_table("rpm").expect("a table").make();
//! let half_turn = rpm.tables[0].rows[1][2].value().expect("a number");
//! assert!((half_turn - 4.17).abs() < 0.01);
//! ```

mod closed_loop;
mod curve;
mod derive;
mod drive;
mod expression;
mod load;
mod measured;
mod place;
mod price;
mod quantity;
mod queue;
mod raid;
mod sizing;
mod tables;
mod what_if;

pub use self::drive::{Drive, DriveError, Medium, built_in_drive, built_in_drives, read_drives};
pub use self::expression::evaluate;
pub use self::load::{Load, LoadError};
pub use self::measured::{CurveError, MeasuredCurve, MeasuredPoint};
pub use self::price::{PriceError, Prices};
pub use self::quantity::{capacity, percentage};
pub use self::queue::LatencyFigure;
pub use self::raid::{RaidError, RaidLevel};
pub use self::sizing::{Choice, Limit, Request, SizeError, choices, size};
pub use self::tables::{ReferenceTable, TABLES, reference_table};
pub use self::what_if::{Change, ChangeError, Measured, Present, PresentLink, what_if};
