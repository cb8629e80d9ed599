//! Sync policy, recording, logs and error handling.

use crate::{Nanos, PerDirection};

/// When data is made durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPolicy {
    /// fsync(2) every N writes; 0 is never.
    pub fsync_every: u32,
    /// fdatasync(2) every N writes; 0 is never.
    pub fdatasync_every: u32,
    /// fsync at the end of the job.
    pub fsync_at_end: bool,
    /// fsync when a file is closed.
    pub fsync_on_close: bool,
    /// `end_syncfs`: syncfs(2) at the end of the job.
    pub syncfs_at_end: bool,
}

/// What is recorded and logged.
#[derive(Clone, Debug, Default)]
pub struct Accounting {
    /// Latency kinds that are recorded.
    pub slat: bool,
    /// See `slat`.
    pub clat: bool,
    /// See `slat`.
    pub lat: bool,
    /// Single I/Os may be logged with their bandwidth (`disable_bw_measurement=0`); samples are kept either way.
    pub bandwidth: bool,
    /// Kinds with percentiles in the report.
    pub slat_percentiles: bool,
    /// See `slat_percentiles`.
    pub clat_percentiles: bool,
    /// See `slat_percentiles`.
    pub lat_percentiles: bool,
    /// `percentile_list`, 0 to 100, rising.
    pub percentiles: Vec<f64>,
    /// `bwavgtime`: length of a bandwidth sample.
    pub bandwidth_sample: Nanos,
    /// `iopsavgtime`.
    pub iops_sample: Nanos,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `disk_util`.
    pub disk_util: bool,
    /// `stats=0`: the job is in no report.
    pub hidden: bool,
    /// `gtod_reduce`: no latency at all.
    pub reduced: bool,
    /// Which logs are written.
    pub logs: Logs,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Read, write and trim separately.
    #[default]
    Separate,
    /// Only the sum, named mixed.
    Mixed,
    /// Both.
    Both,
}

/// Log files of a job, in fio's formats.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// `write_bw_log`: prefix.
    pub bw: Option<String>,
    /// `write_iops_log`: prefix.
    pub iops: Option<String>,
    /// `write_lat_log`: prefix of lat, slat and clat logs.
    pub lat: Option<String>,
    /// `write_hist_log`: prefix.
    pub hist: Option<String>,
    /// `write_iolog`: name of the trace.
    pub trace: Option<String>,
    /// `log_avg_msec`; zero logs every I/O.
    pub average: Nanos,
    /// `log_hist_msec`.
    pub hist_every: Nanos,
    /// `log_hist_coarseness`, 0 to 6.
    pub hist_coarseness: u8,
    /// `log_window_value`.
    pub window: LogWindow,
    /// One file for each job (`per_job_logs`).
    pub per_job: bool,
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`.
    pub prio: bool,
    /// `log_issue_time`.
    pub issue_time: bool,
    /// `log_unix_epoch` / `log_alternate_epoch`.
    pub unix_epoch: bool,
    /// `log_store_compressed`: the files hold compressed samples; histograms stay text.
    pub compressed: bool,
    /// `log_entries`.
    pub entries: u64,
}

/// `log_window_value`: what an averaged entry holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogWindow {
    /// The mean.
    #[default]
    Mean,
    /// The maximum.
    Max,
    /// Both.
    Both,
}

/// Error handling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorPolicy {
    /// `continue_on_error`: continue after failed reads.
    pub continue_read: bool,
    /// Continue after failed writes and trims.
    pub continue_write: bool,
    /// Continue after verify errors.
    pub continue_verify: bool,
    /// `ignore_error`: errno values that are not counted as failures: reads, writes, verify.
    pub ignore: [Vec<i32>; 3],
    /// `max_latency`: the job fails when an I/O takes longer.
    pub max_latency: PerDirection<Option<Nanos>>,
}
