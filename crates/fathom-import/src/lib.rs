//! Results of other programs become figures that can be checked, shown and compared: fio's JSON of any version, json+, terse lines,
//! and its log files.
//!
//! Pure: text in, figures out; files are opened by whoever calls. What is missing stays unknown; what is malformed is refused with its
//! place, and takes no other file along. Memory is bounded: by [`MOST_VALUES`] for a document, by steps that grow longer for logs.

mod cells;
mod document;
mod documents;
mod entry;
mod error;
mod fio_plot;
mod hist_log;
mod importer;
mod log;
mod logs;
mod name;
mod number;
mod options;
mod report_source;
mod result;
mod row;
mod steady;
mod terse;
mod timeline;

pub use self::cells::read_cells;
pub use self::document::{ImportedRun, read_hosts, read_models, read_result, read_settings};
pub use self::error::ImportError;
pub use self::fio_plot::{FioPlotError, FioPlotRequest, fio_plot_flags, fio_plot_ini, is_fio_plot};
pub use self::hist_log::{HistLine, HistLog, HistLogError, HistLogProblem};
pub use self::importer::{
    FileTrouble, Files, Import, LARGEST, MOST_VALUES, import, import_chosen, import_totals,
    read_text,
};
pub use self::log::read_iops_log;
pub use self::report_source::read_report_source;
