//! Log files of fio: a row for each averaging window or for each I/O, and histograms.
//!
//! A [`Group`] has the logs of one prefix; [`Group::timelines`] adds them up by time, job by job. The caller opens the files.
//! Every row of every log passes through this crate, and it is compiled with optimisations for that reason; the rest of an import
//! is in `fathom-import`.
//!
//! ```
//! let rows = fathom_logs::read_iops_log("250, 48, 0, 0\n500, 136, 1, 4096, 0, 0x0004\n")?;
//! assert_eq!(rows, [(250, 48.0), (500, 136.0)]);
//! # Ok::<(), fathom_logs::LogError>(())
//! ```

mod error;
mod hist_log;
mod log;
mod logs;
mod name;
mod row;
mod timeline;

pub use self::error::{Cause, LogError};
pub use self::hist_log::{HistLine, HistLog, HistLogError, HistLogProblem, middle_of};
pub use self::log::read_iops_log;
pub use self::logs::{Group, LogFile, Open, Trouble, inspect_log_head};
pub use self::name::{LogName, split};
pub use self::row::{Row, rows};
pub use self::timeline::{LogStep, Mean, Timeline};
