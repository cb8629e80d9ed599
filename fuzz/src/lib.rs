//! Fuzz targets for fathom's parsers. See README.md.
//!
//! ```
//! // A job file with an unknown option is refused without a panic.
//! fathom_fuzz::job_file(b"[job]\nno_such_option=1\n");
//! ```

mod targets;

pub use self::targets::{
    TARGETS, Target, command_line, device_pages, device_tree, hist_log, in_time, io_log, job_file, model, option_value, plot_ini, recipe, recording, result, result_log,
    sizing, spec_sheet, trace,
};

/// Runs a target and panics if it takes a second or more.
pub fn within_a_second(target: fn(&[u8]), bytes: &[u8]) {
    in_time(|| target(bytes));
}
