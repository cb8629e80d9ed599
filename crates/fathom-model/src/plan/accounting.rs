//! Sync policy, recording, logs and error handling.

use crate::{Nanos, PerDirection};

/// When data is made durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPolicy {
    /// fsync(2) every N writes; 0 is never.
    pub fsync_every: u32,
    /// fdatasync(2) every N writes; 0 is never.
    pub fdatasync_every: u32,
    /// sync_file_range(2) every N writes; 0 is never.
    pub range_every: u32,
    /// Flags of sync_file_range(2).
    pub range_flags: u8,
    /// fsync at the end of the job.
    pub fsync_at_end: bool,
    /// fsync when a file is closed.
    pub fsync_on_close: bool,
    /// `end_syncfs`: syncfs(2) at the end of the job.
    pub syncfs_at_end: bool,
}

impl SyncPolicy {
    /// Whether writes are followed by syncs.
    #[must_use]
    pub const fn syncs_between_writes(&self) -> bool {
        self.fsync_every > 0 || self.fdatasync_every > 0 || self.range_every > 0
    }

    /// How many of the first `syncs` syncs between writes are fsyncs. After one write there is only one sync: fsync before
    /// fdatasync before sync_file_range.
    #[must_use]
    pub fn fsyncs_of(&self, syncs: u64) -> u64 {
        let every = [self.fsync_every, self.fdatasync_every, self.range_every].map(u128::from);
        if every[0] == 0 {
            return 0;
        }
        if every[1] == 0 && every[2] == 0 {
            return syncs;
        }
        // The number of writes after which that many syncs were done, by bisection.
        let done = |writes: u128| {
            (1..8)
                .map(|set| multiples(every, set, writes))
                .sum::<i128>()
        };
        let (mut low, mut high) = (0, u128::from(syncs) * every[0]);
        while low < high {
            let middle = u128::midpoint(low, high);
            if done(middle) >= i128::from(syncs) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (low / every[0]) as u64
    }
}

/// One term of inclusion and exclusion: how many numbers up to `limit` are multiples of all members of a set, with its sign.
fn multiples(every: [u128; 3], set: usize, limit: u128) -> i128 {
    let members = || (0..3).filter(|member| set & (1 << member) != 0);
    if members().any(|member| every[member] == 0) {
        return 0;
    }
    let common = members().fold(1, |common, member| {
        let (mut a, mut b) = (common, every[member]);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        common / a * every[member]
    });
    let sign = if members().count() == 2 { -1 } else { 1 };
    sign * (limit / common) as i128
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
    /// `blame`: each direct I/O is joined with its requests in the block layer.
    pub blame: bool,
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
