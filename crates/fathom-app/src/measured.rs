//! What was measured, without judgement.

use std::collections::BTreeMap;

use fathom_model::{DiskCounters, Histogram, ProcessIo, SparseHistogram, TransactionCosts};
use serde::{Deserialize, Serialize};

use crate::{Activity, Probe, StreamUse, Usage};

/// Bytes of a sector of the kernel's counters.
const SECTOR: u64 = 512;
/// Length of an interval, nanoseconds, in runs of up to ten minutes.
const INTERVAL_NS: u64 = 1_000_000_000;
/// At most about this many intervals are kept.
const MAX_INTERVALS: u64 = 600;

/// A run of transactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Wall clock at the start of the measured time, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The measured time, nanoseconds.
    pub elapsed_ns: u64,
    /// Transactions that were committed.
    pub transactions: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// With a rate and a latency limit: not started, because they were too late.
    pub skipped: u64,
    /// With a latency limit: slower than it.
    pub late: u64,
    /// Latency; with a rate from the time at which the transaction was due. Packed.
    pub latency: Vec<u8>,
    /// With a rate: how late transactions started. Packed.
    pub lag: Vec<u8>,
    /// The same by interval.
    pub intervals: Vec<MeasuredInterval>,
    /// Devices below the database, upper before lower.
    pub disks: Vec<DiskUse>,
    /// Devices below the log, upper before lower, where it is on a device of its own.
    #[serde(default)]
    pub log_disks: Vec<DiskUse>,
    /// What the devices of the file systems did, by stream; empty where it was not traced.
    #[serde(default)]
    pub streams: Vec<StreamUse>,
    /// Read by the engine with system calls, bytes.
    pub read_bytes: u64,
    /// Of these, from devices, bytes.
    pub device_read_bytes: u64,
    /// Written by the engine with system calls, bytes.
    pub written_bytes: u64,
    /// Written by the engine to files on devices, at once or later, bytes.
    #[serde(default)]
    pub device_written_bytes: u64,
    /// CPU time of the engine in user space, nanoseconds.
    pub user_ns: u64,
    /// CPU time of the engine in the kernel, nanoseconds.
    pub system_ns: u64,
    /// What the clients did.
    pub activity: Activity,
    /// Size of the database after the run, bytes.
    pub data_bytes: u64,
    /// The engine's own counters of the measured time, by their names.
    pub counters: BTreeMap<String, f64>,
    /// Counters of the engine that this version lacks, and why, in sentences.
    pub unknown: Vec<String>,
    /// Version of the engine.
    pub version: String,
    /// What the load generator of the engine printed about the same transactions.
    pub summary: Option<OwnSummary>,
    /// The user interrupted.
    pub interrupted: bool,
    /// Why it ended early.
    pub error: Option<String>,
}

/// A part of the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredInterval {
    /// Start, counted from the start of the measured time, nanoseconds.
    pub start_ns: u64,
    /// Length, nanoseconds.
    pub length_ns: u64,
    /// Transactions that completed in it.
    pub transactions: u64,
    /// Their latency. Packed.
    pub latency: Vec<u8>,
}

/// The summary of pgbench or sysbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnSummary {
    /// Transactions.
    pub transactions: u64,
    /// Transactions per second.
    pub tps: f64,
    /// Mean latency, milliseconds.
    pub latency_ms: f64,
}

/// What a device did in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time of all reads, nanoseconds.
    pub read_ns: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time of all writes, nanoseconds.
    pub write_ns: u64,
    /// Flushes.
    pub flushes: u64,
    /// Time of all flushes, nanoseconds.
    #[serde(default)]
    pub flush_ns: u64,
    /// Time with a request in progress, nanoseconds.
    pub busy_ns: u64,
}

impl DiskUse {
    fn of(name: &str, before: &DiskCounters, after: &DiskCounters) -> DiskUse {
        let since = |of: fn(&DiskCounters) -> u64| of(after).saturating_sub(of(before));
        DiskUse {
            name: name.to_owned(),
            reads: since(|one| one.read_ios),
            read_bytes: since(|one| one.read_sectors) * SECTOR,
            read_ns: since(|one| one.read_ticks) * 1_000_000,
            writes: since(|one| one.write_ios),
            written_bytes: since(|one| one.write_sectors) * SECTOR,
            write_ns: since(|one| one.write_ticks) * 1_000_000,
            flushes: since(|one| one.flush_ios),
            flush_ns: since(|one| one.flush_ticks) * 1_000_000,
            busy_ns: since(|one| one.io_ticks) * 1_000_000,
        }
    }

    /// Mean size of a read, bytes; `None` without reads.
    #[must_use]
    pub fn mean_read(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.read_bytes as f64 / self.reads as f64)
    }
}

/// Counters before and after the measured time.
pub(crate) struct Window {
    disks: Vec<(String, DiskCounters)>,
    log_disks: Vec<(String, DiskCounters)>,
    usage: Usage,
}

impl Window {
    fn now(probe: &dyn Probe, process: u32) -> Window {
        Window {
            disks: probe.disks(),
            log_disks: probe.log_disks(),
            usage: probe.usage(process),
        }
    }

    /// The measured time begins. `process` is that of the engine.
    pub(crate) fn begin(probe: &dyn Probe, process: u32) -> Window {
        probe.measured_time(true);
        Window::now(probe, process)
    }

    /// The measured time is over.
    pub(crate) fn end(probe: &dyn Probe, process: u32) -> Window {
        let window = Window::now(probe, process);
        probe.measured_time(false);
        window
    }

    /// Adds what happened from `self` to `after`.
    pub(crate) fn add_to(self, after: &Window, measured: &mut Measured) {
        let used = |before: &[(String, DiskCounters)], after: &[(String, DiskCounters)]| {
            let both = before.iter().filter_map(|(name, before)| {
                let (_, after) = after.iter().find(|(other, _)| other == name)?;
                Some(DiskUse::of(name, before, after))
            });
            both.collect::<Vec<DiskUse>>()
        };
        measured.disks = used(&self.disks, &after.disks);
        let mut log = used(&self.log_disks, &after.log_disks);
        // Both may be on one disk.
        log.retain(|one| measured.disks.iter().all(|other| other.name != one.name));
        measured.log_disks = log;
        let io: ProcessIo = after.usage.io.since(&self.usage.io);
        measured.read_bytes = io.read_bytes;
        measured.device_read_bytes = io.device_read_bytes;
        measured.written_bytes = io.written_bytes;
        measured.device_written_bytes = io.device_written_bytes;
        measured.user_ns = after.usage.user.saturating_sub(self.usage.user).get();
        measured.system_ns = after.usage.system.saturating_sub(self.usage.system).get();
    }
}

impl Measured {
    /// The latencies.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        unpack(&self.latency).unpack()
    }

    /// How late transactions started.
    #[must_use]
    pub fn lag(&self) -> Histogram {
        unpack(&self.lag).unpack()
    }

    /// Committed transactions per second.
    #[must_use]
    pub fn tps(&self) -> f64 {
        self.transactions as f64 / (self.elapsed_ns as f64 / 1e9).max(1e-9)
    }

    /// The device that does the work: those above it pass the requests on.
    #[must_use]
    pub fn disk(&self) -> Option<&DiskUse> {
        self.disks.last()
    }

    /// The device that the log is on.
    #[must_use]
    pub fn log_disk(&self) -> Option<&DiskUse> {
        self.log_disks.last().or_else(|| self.disk())
    }

    /// Bytes written to the devices of data and log.
    #[must_use]
    pub fn device_written_bytes(&self) -> Option<u64> {
        let log = self.log_disks.last().map_or(0, |disk| disk.written_bytes);
        Some(self.disk()?.written_bytes + log)
    }

    /// What the transactions cost.
    #[must_use]
    pub fn costs(&self) -> TransactionCosts {
        let disks = self.disk().into_iter().chain(self.log_disks.last());
        let sum = |of: fn(&DiskUse) -> u64| disks.clone().map(of).sum();
        TransactionCosts {
            transactions: self.transactions,
            cpu_ns: self.user_ns + self.system_ns,
            reads: sum(|disk| disk.reads),
            read_ns: sum(|disk| disk.read_ns),
            writes: sum(|disk| disk.writes),
            write_ns: sum(|disk| disk.write_ns),
            flushes: sum(|disk| disk.flushes),
            flush_ns: sum(|disk| disk.flush_ns),
        }
    }

    /// The share of the reads of the devices that start where the one before ended, 0 to 1; of the device of the data.
    #[must_use]
    pub fn sequential_reads(&self) -> Option<f64> {
        self.streams.first()?.sequential_reads
    }

    /// The share of the bytes read by the engine that did not come from a device; `None` if it read nothing.
    #[must_use]
    pub fn page_cache_hits(&self) -> Option<f64> {
        (self.read_bytes > 0)
            .then(|| 1.0 - (self.device_read_bytes as f64 / self.read_bytes as f64).min(1.0))
    }

    /// The share of what the engine read that memory served: of the requests to the buffer pool of MariaDB, which does not use the
    /// page cache, or of the bytes read from files.
    #[must_use]
    pub fn hit_share(&self) -> Option<f64> {
        let Some(requests) = self.counters.get("Innodb_buffer_pool_read_requests") else {
            return self.page_cache_hits();
        };
        let reads = self.counters.get("Innodb_buffer_pool_reads");
        Some(1.0 - reads.unwrap_or(&0.0) / requests.max(1.0))
    }

    /// Adds what the clients recorded.
    pub(crate) fn add_records(&mut self, records: Vec<Recorder>) {
        let mut all = Histogram::new();
        let mut lag = Histogram::new();
        let mut intervals: BTreeMap<u64, Histogram> = BTreeMap::new();
        let mut length = INTERVAL_NS;
        for record in records {
            length = record.interval_ns;
            self.transactions += record.all.count();
            self.failed += record.failed;
            self.skipped += record.skipped;
            self.late += record.late;
            all.merge(&record.all);
            lag.merge(&record.lag);
            for (place, part) in record.finish() {
                part.add_to(intervals.entry(place).or_default());
            }
        }
        (self.latency, self.lag) = (pack(&all), pack(&lag));
        let last = self.elapsed_ns.div_ceil(length).max(1);
        self.intervals = (0..last)
            .map(|place| {
                let start_ns = place * length;
                let part = intervals.get(&place);
                MeasuredInterval {
                    start_ns,
                    length_ns: length.min(self.elapsed_ns.saturating_sub(start_ns)).max(1),
                    transactions: part.map_or(0, Histogram::count),
                    latency: pack(part.unwrap_or(&Histogram::new())),
                }
            })
            .collect();
    }
}

impl Measured {
    /// Sets how many transactions the first intervals have, where only that is known of them; all others share the rest by their
    /// lengths.
    pub(crate) fn spread(&mut self, counts: &[u64]) {
        let mut left = self.transactions;
        let last = self.intervals.len().saturating_sub(1);
        for (place, interval) in self.intervals.iter_mut().enumerate() {
            let time = self.elapsed_ns.saturating_sub(interval.start_ns).max(1);
            let share = u128::from(left) * u128::from(interval.length_ns) / u128::from(time);
            let count = match counts.get(place) {
                _ if place == last => left,
                Some(count) => *count,
                None => share as u64,
            };
            interval.transactions = count.min(left);
            left -= interval.transactions;
        }
    }
}

fn pack(histogram: &Histogram) -> Vec<u8> {
    let mut packed = Vec::new();
    SparseHistogram::pack(histogram).encode(&mut packed);
    packed
}

/// An empty histogram in place of a damaged one.
fn unpack(packed: &[u8]) -> SparseHistogram {
    SparseHistogram::decode(&mut &packed[..]).unwrap_or_default()
}

impl MeasuredInterval {
    /// Its latencies.
    #[must_use]
    pub fn packed(&self) -> SparseHistogram {
        unpack(&self.latency)
    }
}

/// The transactions of one client or of one thread of a load generator.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    interval_ns: u64,
    limit_ns: Option<u64>,
    all: Histogram,
    lag: Histogram,
    current: (u64, Histogram),
    done: Vec<(u64, SparseHistogram)>,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    late: u64,
}

impl Recorder {
    pub(crate) fn new(runtime_ns: u64, limit_ns: Option<u64>) -> Recorder {
        Recorder {
            limit_ns,
            ..Recorder::with_interval(INTERVAL_NS.max(runtime_ns / MAX_INTERVALS))
        }
    }

    /// With intervals of this length, nanoseconds.
    pub(crate) fn with_interval(interval_ns: u64) -> Recorder {
        Recorder {
            interval_ns,
            limit_ns: None,
            all: Histogram::new(),
            lag: Histogram::new(),
            current: (0, Histogram::new()),
            done: Vec::new(),
            failed: 0,
            skipped: 0,
            late: 0,
        }
    }

    /// A transaction that was committed at `at_ns` after the start. `lag_ns` is known with a rate.
    pub(crate) fn record(&mut self, at_ns: u64, latency_ns: u64, lag_ns: Option<u64>) {
        let place = at_ns / self.interval_ns;
        if place != self.current.0 {
            self.close();
            self.current.0 = place;
        }
        self.current.1.record(latency_ns);
        self.all.record(latency_ns);
        if let Some(lag) = lag_ns {
            self.lag.record(lag);
        }
        self.late += u64::from(self.limit_ns.is_some_and(|limit| latency_ns > limit));
    }

    /// So many transactions of this latency, whose time is not known.
    pub(crate) fn record_total(&mut self, latency_ns: u64, count: u64) {
        self.all.record_n(latency_ns, count);
    }

    fn close(&mut self) {
        if self.current.1.count() > 0 {
            let packed = SparseHistogram::pack(&self.current.1);
            self.done.push((self.current.0, packed));
            self.current.1.clear();
        }
    }

    fn finish(mut self) -> Vec<(u64, SparseHistogram)> {
        self.close();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transaction_is_in_one_interval_and_in_the_total() {
        let mut one = Recorder::new(3_000_000_000, Some(1_500_000));
        one.record(10, 1_000_000, None);
        one.record(1_500_000_000, 2_000_000, Some(7));
        one.record(999_999_999, 1_000_000, None);
        let mut two = Recorder::new(3_000_000_000, None);
        two.record(2_000_000_000, 3_000_000, None);
        two.failed = 4;
        let mut measured = Measured {
            elapsed_ns: 2_500_000_000,
            ..Measured::default()
        };
        measured.add_records(vec![one, two]);
        assert_eq!(
            (measured.transactions, measured.failed, measured.late),
            (4, 4, 1)
        );
        assert!((measured.tps() - 1.6).abs() < 1e-9);
        let counts: Vec<u64> = measured
            .intervals
            .iter()
            .map(|one| one.transactions)
            .collect();
        assert_eq!(counts, [2, 1, 1]);
        assert_eq!(measured.intervals[2].length_ns, 500_000_000);
        assert_eq!(measured.latency().sum(), 7_000_000);
        assert_eq!(measured.lag().count(), 1);
        let text = serde_json::to_string(&measured).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Measured>(&text).expect("JSON"),
            measured
        );
    }

    #[test]
    fn counters_of_devices_are_those_of_the_window() {
        let before = DiskCounters {
            read_ios: 10,
            read_sectors: 100,
            flush_ios: 5,
            io_ticks: 7,
            ..DiskCounters::default()
        };
        let after = DiskCounters {
            read_ios: 12,
            read_sectors: 116,
            flush_ios: 8,
            io_ticks: 9,
            ..before
        };
        let used = DiskUse::of("sda", &before, &after);
        assert_eq!((used.reads, used.read_bytes, used.flushes), (2, 8192, 3));
        assert_eq!(used.mean_read(), Some(4096.0));
        assert_eq!(used.busy_ns, 2_000_000);
        // The kernel counts times in milliseconds (Documentation/admin-guide/iostats.rst), sizes in sectors of 512 bytes.
        let after = DiskCounters {
            read_ticks: 3,
            write_ios: 4,
            write_sectors: 32,
            write_ticks: 5,
            flush_ticks: 6,
            ..before
        };
        let used = DiskUse::of("sda", &before, &after);
        assert_eq!((used.writes, used.written_bytes), (4, 16_384));
        assert_eq!(
            (used.read_ns, used.write_ns, used.flush_ns),
            (3_000_000, 5_000_000, 6_000_000)
        );
    }
}
