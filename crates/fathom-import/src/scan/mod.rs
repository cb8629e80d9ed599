//! Reads what imported files consist of, byte by byte: rows of the log files of fio, which are added up by time, and JSON values.
//!
//! A [`Group`] has the logs of one prefix; [`Group::timelines`] adds them up by time, job by job. The caller opens the files.

mod error;
mod hist_log;
mod json;
mod log;
mod logs;
mod name;
mod row;
mod timeline;

pub use self::error::{Cause, LogError};
pub use self::hist_log::{HistLine, HistLog, HistLogError, HistLogProblem, middle_of};
pub use self::json::first_value;
pub use self::log::read_iops_log;
pub use self::logs::{Group, LogFile, Open, Trouble, inspect_log_head};
pub use self::name::{LogName, split};
pub use self::row::{Row, rows};
pub use self::timeline::{LogStep, Timeline};
