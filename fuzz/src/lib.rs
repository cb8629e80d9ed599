//! Fuzz targets of fathom's readers. See README.md.

mod targets;

pub use self::targets::{
    TARGETS, Target, command_line, hist_log, in_time, io_log, job_file, option_value, result, result_log,
};

/// Runs a target and panics when it took a second.
pub fn within_a_second(target: fn(&[u8]), bytes: &[u8]) {
    in_time(|| target(bytes));
}
