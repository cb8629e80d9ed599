//! Results of other programs become figures that can be checked: fio's JSON of any version, and its log files.
//!
//! Pure: text in, figures out. What is missing stays unknown; what is malformed is refused with its place.

mod document;
mod error;
mod log;
mod measured;
mod options;

pub use self::document::{ImportedRun, read_hosts, read_result};
pub use self::error::ImportError;
pub use self::log::read_iops_log;
pub use self::measured::read_measured;
