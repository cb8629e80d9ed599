//! Fuzz targets of fathom's readers. See README.md.

mod targets;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub use self::targets::{TARGETS, Target, command_line, hist_log, io_log, job_file, option_value, result, result_log};

/// Runs a target and panics when it took a second. Processor time is counted: on a busy machine, libFuzzer's own limit
/// strikes at inputs that only waited.
pub fn within_a_second(target: fn(&[u8]), bytes: &[u8]) {
    let before = busy();
    target(bytes);
    let took = busy() - before;
    assert!(took < Duration::from_secs(1), "it took {took:?}");
}

fn busy() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}
