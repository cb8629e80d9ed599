//! Files of a database in memory and on the device, and the memory-limit experiment with its steps.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use fathom_model::format::{bytes, percent, rate};
use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

use crate::{AppError, AppReport, CrashSafety};

/// Calls `each` with every file below a folder.
fn files(folder: &Path, each: &mut dyn FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), each),
            Ok(kind) if kind.is_file() => each(&entry.path()),
            _ => {}
        }
    }
}

/// Writes everything below a folder to the device.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), AppError> {
    let mut result = Ok(());
    files(folder, &mut |file| {
        if let Ok(open) = File::open(file)
            && let Err(error) = open.sync_all()
            && result.is_ok()
        {
            result = Err(AppError::file(file, "cannot be synced", error));
        }
    });
    result
}

/// Drops everything below a folder from the page cache, as far as it is on the device.
pub fn drop_from_cache(folder: &Path) {
    files(folder, &mut |file| {
        if let Ok(open) = File::open(file) {
            let _ = rustix::fs::fadvise(&open, 0, None, Advice::DontNeed);
        }
    });
}

/// Reads everything below a folder once.
pub(crate) fn read_folder(folder: &Path) {
    let mut buffer = vec![0; 1 << 18];
    files(folder, &mut |file| {
        if let Ok(mut open) = File::open(file) {
            while open.read(&mut buffer).is_ok_and(|read| read > 0) {}
        }
    });
}

/// Bytes of all files below a folder.
#[must_use]
pub fn size_of_folder(folder: &Path) -> u64 {
    let mut sum = 0;
    files(folder, &mut |file| {
        sum += fs::metadata(file).map_or(0, |facts| facts.len());
    });
    sum
}

/// One step of an experiment: of the memory-limit experiment, or of one that varies clients or settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// Name and value of each axis but the memory.
    #[serde(default)]
    pub axes: Vec<(String, String)>,
    /// What a crash can cost with these values. Only rows of one class are ranked.
    pub crash_safety: CrashSafety,
    /// Memory in percent of the data; 0 without a limit.
    pub percent: f64,
    /// Memory that the engine with its page cache may use, bytes; 0 without a limit.
    pub limit_bytes: u64,
    /// Transactions per second.
    pub tps: f64,
    /// 99th percentile of the latency, nanoseconds.
    pub p99_ns: f64,
    /// Reads of the device per second.
    pub reads_per_second: f64,
    /// Reads of the device for each transaction.
    pub reads_per_transaction: f64,
    /// Mean size of a read of the device, bytes.
    pub mean_read_bytes: Option<f64>,
    /// Share of the reads of the device that start where the one before ended, 0 to 1.
    #[serde(default)]
    pub sequential_share: Option<f64>,
    /// Transactions for each flush of the device of the log.
    #[serde(default)]
    pub commits_per_flush: Option<f64>,
    /// Share of what the engine read that memory served, 0 to 1.
    pub hit_share: Option<f64>,
    /// What limits it.
    pub limit: String,
}

impl MemoryRow {
    /// The row of a result.
    #[must_use]
    pub fn of(
        axes: Vec<(String, String)>,
        (share, limit_bytes): (f64, u64),
        report: &AppReport,
    ) -> MemoryRow {
        let measured = &report.measured;
        let seconds = (measured.elapsed_ns as f64 / 1e9).max(1e-9);
        let reads = measured.disk().map_or(0, |disk| disk.reads) as f64;
        MemoryRow {
            axes,
            crash_safety: report.spec.crash_safety(),
            percent: share,
            limit_bytes,
            tps: measured.tps(),
            p99_ns: measured.latency().percentile(99.0).unwrap_or(0.0),
            reads_per_second: reads / seconds,
            reads_per_transaction: reads / measured.transactions.max(1) as f64,
            mean_read_bytes: measured.disk().and_then(crate::DiskUse::mean_read),
            sequential_share: measured.sequential_reads(),
            commits_per_flush: report.commits_per_flush(),
            hit_share: measured.hit_share(),
            limit: report.limit.sentence.clone(),
        }
    }
}

/// The result of an experiment with a database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The engine, for sentences.
    pub engine: String,
    /// Size of the data, bytes.
    pub data_bytes: u64,
    /// The steps, in their order; those of the memory from much to little.
    pub rows: Vec<MemoryRow>,
}

impl MemoryReport {
    /// What the rows say.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let (Some(most), Some(least)) = (self.rows.first(), self.rows.last()) else {
            return Vec::new();
        };
        if self.rows.len() < 2 {
            return Vec::new();
        }
        if self.rows.iter().any(|row| !row.axes.is_empty()) {
            return crate::settings::sentences(self);
        }
        let mut sentences = Vec::new();
        let reads = if most.reads_per_transaction > 0.005 {
            format!(
                "{:.1} times as many",
                least.reads_per_transaction / most.reads_per_transaction
            )
        } else {
            "which needed nearly none before".to_owned()
        };
        sentences.push(format!(
            "With memory for {} of the data in place of {}, {} runs {} transactions per second in place of {}, and a transaction \
             reads {:.2} times from the device, {reads}.",
            percent(least.percent),
            percent(most.percent),
            self.engine,
            rate(least.tps),
            rate(most.tps),
            least.reads_per_transaction,
        ));
        if let (Some(small), Some(large)) = (least.mean_read_bytes, most.mean_read_bytes) {
            sentences.push(format!(
                "The mean read is {} with the least memory and {} with the most.",
                bytes(small as u64),
                bytes(large as u64)
            ));
        }
        if let (Some(small), Some(large)) = (least.sequential_share, most.sequential_share) {
            sentences.push(format!(
                "{} of the reads follow the one before with the least memory, and {} with the most.",
                percent(100.0 * small),
                percent(100.0 * large)
            ));
        }
        if let Some(enough) = self.rows.iter().rev().find(|row| row.tps >= 0.9 * most.tps) {
            sentences.push(format!(
                "{} of memory ({} of the data) keep 90 % of the throughput.",
                bytes(enough.limit_bytes),
                percent(enough.percent)
            ));
        }
        sentences
    }
}
