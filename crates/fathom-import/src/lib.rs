//! Imports results of fio: JSON of any version, json+, terse lines, normal output and log files, and
//! chart requests of fio-plot.
//!
//! [`import`] converts files to [`ImportedResult`](fathom_model::ImportedResult)s, which are
//! analysed, shown and compared like measurements. [`read_result`] and [`read_cells`] read one
//! document. The caller opens the files. Missing data stays unknown. A malformed file is refused
//! with the line of the error and does not affect the others. Memory is bounded: by [`MOST_VALUES`]
//! for documents, and by longer time steps for logs.
//!
//! ```
//! let text = r#"{"fio version": "fio-3.33", "jobs": [{
//!     "jobname": "randread",
//!     "job options": {"rw": "randread", "bs": "4k", "iodepth": "32", "ioengine": "libaio"},
//!     "read": {"iops": 1000.0, "total_ios": 60000, "runtime": 60000, "lat_ns": {"mean": 32000000.0}}
//! }]}"#;
//!
//! let runs = fathom_import::read_result(text)?;
//! assert_eq!(runs[0].figures.depth, Some(32));
//! assert_eq!(runs[0].figures.ios, Some(60_000));
//! # Ok::<(), fathom_import::ImportError>(())
//! ```

mod cells;
mod document;
mod documents;
mod entry;
mod error;
mod fio_plot;
mod importer;
mod normal_output;
mod number;
mod options;
mod report_source;
mod result;
mod scan;
mod steady;
mod terse;
mod traced;

pub use self::cells::read_cells;
pub use self::document::{
    ImportedRun, Omissions, read_hosts, read_models, read_omissions, read_result, read_settings,
};
pub use self::error::ImportError;
pub use self::fio_plot::{FioPlotError, FioPlotRequest, fio_plot_flags, fio_plot_ini, is_fio_plot};
pub use self::importer::{
    Conversion, FileTrouble, Files, Import, LARGEST, MOST_VALUES, import, import_chosen,
    import_converted, import_totals, is_log_of, read_text,
};
pub use self::report_source::read_report_source;
pub use self::scan::{Cause, HistLine, HistLog, HistLogError, HistLogProblem, read_iops_log};
