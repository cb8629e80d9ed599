//! RocksDB with its load generator `db_bench`, from the packages of the distribution.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::activity::{sample, threads};
use crate::measured::{Recorder, Window};
use crate::memory::{size_of_folder, sync_folder};
use crate::server::{Place, answer, unix_now_ns};
use crate::{AppError, AppSpec, Measured, OwnSummary, Probe, Transaction};

/// Folder below the private folder.
const FOLDER: &str = "rocks";
const PROGRAM: &str = "db_bench";
/// Where the packages of distributions put it.
const PLACES: [&str; 3] = ["/usr/bin", "/usr/libexec/rocksdb", "/usr/local/bin"];
/// Keys for each unit of the scale.
const KEYS: u64 = 100_000;
/// Rates of operations for each second.
const RATES: &str = "rates.csv";
/// A bucket of the histogram of `db_bench` is up to half as wide as its values: its operations are recorded at so many places in it.
const PARTS: u64 = 16;
/// What the statistics report: these tickers.
const TICKERS: [&str; 12] = [
    "rocksdb.block.cache.hit",
    "rocksdb.block.cache.miss",
    "rocksdb.bloom.filter.useful",
    "rocksdb.bytes.read",
    "rocksdb.bytes.written",
    "rocksdb.compact.read.bytes",
    "rocksdb.compact.write.bytes",
    "rocksdb.flush.write.bytes",
    "rocksdb.memtable.hit",
    "rocksdb.stall.micros",
    "rocksdb.wal.bytes",
    "rocksdb.wal.synced",
];

/// Finds `db_bench`.
///
/// # Errors
/// [`AppError::Missing`] names the package.
pub fn find_rocksdb() -> Result<PathBuf, AppError> {
    find_in(&PLACES.map(PathBuf::from))
}

fn find_in(places: &[PathBuf]) -> Result<PathBuf, AppError> {
    let mut paths = places.iter().map(|place| place.join(PROGRAM));
    paths.find(|path| path.is_file()).ok_or_else(|| {
        AppError::Missing(format!(
            "RocksDB's load generator {PROGRAM} not found; install the package rocksdb-tools (Debian, Ubuntu)"
        ))
    })
}

/// The database of a private folder.
struct Bench<'a> {
    program: PathBuf,
    place: Place<'a>,
}

impl<'a> Bench<'a> {
    fn new(spec: &'a AppSpec, private: &Path, probe: &'a dyn Probe) -> Result<Bench<'a>, AppError> {
        let program = find_rocksdb()?;
        let place = Place::new(spec, private, FOLDER, "", probe)?;
        Ok(Bench { program, place })
    }

    fn keys(&self) -> u64 {
        u64::from(self.place.spec.scale) * KEYS
    }

    /// Values are not compressed, so that the size of the data is known.
    fn command(&self, benchmark: &str) -> Command {
        let mut command = self.place.command(&self.program);
        command.args([
            &format!("--benchmarks={benchmark}"),
            &format!("--db={}", data_of(&self.place.folder).display()),
            "--compression_type=none",
            "--seed=1",
            "--statistics=1",
            "--histogram=1",
        ]);
        if let Some(cache) = self.place.spec.cache {
            command.arg(format!("--cache_size={cache}"));
        }
        if let Some(log) = self.place.log_folder() {
            command.arg(format!("--wal_dir={}", log.display()));
        }
        for setting in &self.place.spec.settings {
            let (name, value) = (setting.name(), setting.value());
            command.arg(format!("--{name}={value}"));
        }
        command
    }

    /// The command of the load. `fillseq` fills a database of its own, all others use the one that was prepared.
    fn load(&self, seconds: u64) -> Command {
        let spec = self.place.spec;
        let fills = spec.transaction == Transaction::FillSeq;
        let clients = u64::from(spec.clients.max(1));
        let mut command = self.command(&spec.transaction.name());
        command.arg(format!("--threads={clients}"));
        if fills {
            command.arg(format!("--num={}", (self.keys() / clients).max(1)));
        } else {
            command.args([
                &format!("--num={}", self.keys()),
                &format!("--duration={seconds}"),
                "--use_existing_db=1",
                // Only those that write use it.
                "--sync=1",
            ]);
        }
        command.arg("--report_interval_seconds=1").arg(format!(
            "--report_file={}",
            self.place.folder.join(RATES).display()
        ));
        command
    }
}

fn data_of(folder: &Path) -> PathBuf {
    folder.join("db")
}

/// Tables and their logs.
pub(crate) fn data_folder(private: &Path) -> PathBuf {
    data_of(&private.join(FOLDER))
}

pub(crate) fn prepare(spec: &AppSpec, private: &Path, probe: &dyn Probe) -> Result<(), AppError> {
    let bench = Bench::new(spec, private, probe)?;
    bench.place.create()?;
    bench.place.create_log()?;
    if spec.transaction == Transaction::FillSeq {
        return Ok(());
    }
    let mut fill = bench.command("fillseq");
    fill.arg(format!("--num={}", bench.keys()));
    bench.place.complete(PROGRAM, fill)?;
    sync_folder(&bench.place.folder)
}

pub(crate) fn run(spec: &AppSpec, private: &Path, probe: &dyn Probe) -> Result<Measured, AppError> {
    let bench = Bench::new(spec, private, probe)?;
    let seconds = |ns: u64| ns.div_ceil(1_000_000_000);
    if spec.warmup_ns > 0 && spec.transaction != Transaction::FillSeq {
        bench
            .place
            .complete(PROGRAM, bench.load(seconds(spec.warmup_ns)))?;
    }
    // Before and after, `db_bench` does not run: what it used is in the counters of this process, which waits for it.
    let own = std::process::id();
    let before = Window::begin(probe, own);
    let started_unix_ns = unix_now_ns();
    let load = bench.load(seconds(spec.runtime_ns));
    let mut child = bench.place.spawn(PROGRAM, load, true)?;
    let pid = child.pid();
    let sampled = AtomicBool::new(false);
    let (ended, activity) = std::thread::scope(|scope| {
        let stop_sampling = &sampled;
        let sampler = scope.spawn(move || sample(&|| threads(pid, PROGRAM), stop_sampling));
        let ended = child.wait(probe);
        sampled.store(true, Ordering::Release);
        (ended, sampler.join().unwrap_or_default())
    });
    let output = child.output();
    let (status, interrupted) =
        ended.map_err(|error| AppError::file(Path::new(PROGRAM), "cannot be waited for", error))?;
    if interrupted {
        // It prints its result at the end only.
        return Err(AppError::Interrupted);
    }
    let after = Window::end(probe, own);
    let report = Report::parse(&output);
    let mut measured = Measured {
        started_unix_ns,
        elapsed_ns: report.elapsed_ns.max(1),
        version: version(&bench.program),
        unknown: report.warnings.clone(),
        activity,
        summary: report.summary(),
        error: (!status.success()).then(|| child.failed(status).to_string()),
        counters: report.counters.clone(),
        ..Measured::default()
    };
    before.add_to(&after, &mut measured);
    measured.add_records(vec![report.recorder()]);
    let rates = fs::read_to_string(bench.place.folder.join(RATES)).unwrap_or_default();
    measured.spread(&seconds_of(&rates));
    measured.data_bytes = size_of_folder(&data_folder(private));
    Ok(measured)
}

/// `db_bench` says `db_bench version 7.8.3`.
fn version(program: &Path) -> String {
    let mut command = Command::new(program);
    command.arg("--version");
    let text = answer("RocksDB", command).unwrap_or_default();
    let word = text.split_whitespace().next_back();
    word.unwrap_or_default().to_owned()
}

/// Operations of each second, of the lines `second,operations`.
fn seconds_of(rates: &str) -> Vec<u64> {
    rates
        .lines()
        .filter_map(|line| line.split_once(',')?.1.trim().parse().ok())
        .collect()
}

/// What `db_bench` printed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Report {
    /// For example that the package was built with assertions, which makes it slower.
    warnings: Vec<String>,
    elapsed_ns: u64,
    operations: u64,
    per_second: f64,
    mean_us: f64,
    max_us: f64,
    /// First and last microsecond of a bucket, and its operations.
    buckets: Vec<(f64, f64, u64)>,
    counters: BTreeMap<String, f64>,
}

impl Report {
    fn parse(output: &str) -> Report {
        let mut report = Report::default();
        let mut in_first = false;
        for line in output.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // The number before a word, such as `4.001 seconds`.
            let before = |wanted: &str| -> Option<f64> {
                let at = words.iter().position(|word| *word == wanted)?;
                words.get(at.checked_sub(1)?)?.parse().ok()
            };
            let after = |wanted: &str| -> Option<f64> {
                let at = words.iter().position(|word| *word == wanted)?;
                words.get(at + 1)?.parse().ok()
            };
            if let (Some(rate), Some(seconds)) = (before("ops/sec"), before("seconds")) {
                report.elapsed_ns = (seconds * 1e9) as u64;
                report.per_second = rate;
                report.operations = before("operations;").unwrap_or(0.0) as u64;
            } else if let ["WARNING:", ..] = words[..] {
                report.warnings.push(format!("{PROGRAM}: {line}"));
            } else if line.starts_with("Microseconds per ") {
                // With readwhilewriting those of the reads come first.
                in_first = report.buckets.is_empty();
            } else if let Some((name, count)) = ticker(&words) {
                in_first = false;
                report.counters.insert(name.to_owned(), count);
            } else if in_first {
                report.mean_us = after("Average:").unwrap_or(report.mean_us);
                report.max_us = after("Max:").unwrap_or(report.max_us);
                report.buckets.extend(bucket(line));
            }
        }
        report
    }

    fn summary(&self) -> Option<OwnSummary> {
        (self.operations > 0).then_some(OwnSummary {
            transactions: self.operations,
            tps: self.per_second,
            latency_ms: self.mean_us / 1e3,
        })
    }

    /// The operations of a bucket are spread over it.
    fn recorder(&self) -> Recorder {
        let mut record = Recorder::with_interval(1_000_000_000);
        for (first, last, count) in &self.buckets {
            let last = last.min(self.max_us).max(*first);
            for part in 0..PARTS {
                let here = count / PARTS + u64::from(part < count % PARTS);
                let place = (part as f64 + 0.5) / PARTS as f64;
                let us = first + (last - first) * place;
                record.record_total((us * 1e3) as u64, here);
            }
        }
        record
    }
}

/// `rocksdb.block.cache.hit COUNT : 7`.
fn ticker<'a>(words: &[&'a str]) -> Option<(&'a str, f64)> {
    let [name, "COUNT", ":", count] = words else {
        return None;
    };
    let wanted = TICKERS.contains(name);
    let count = count.parse().ok().filter(|count| *count > 0.0);
    wanted.then_some((*name, count?))
}

/// `(      10,      15 ]     1234  12.340%  99.000% ##`
fn bucket(line: &str) -> Option<(f64, f64, u64)> {
    let (range, rest) = line.strip_prefix(['(', '['])?.split_once(']')?;
    let (first, last) = range.split_once(',')?;
    let count = rest.split_whitespace().next()?;
    Some((
        first.trim().parse().ok()?,
        last.trim().parse().ok()?,
        count.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_testkit::Scratch;

    #[test]
    fn a_missing_engine_is_reported_with_its_package() {
        let empty = Scratch::new().expect("a directory");
        let error = find_in(&[empty.path().to_owned()]).expect_err("nothing is there");
        assert!(
            error.to_string().contains("package rocksdb-tools"),
            "{error}"
        );
    }

    /// 48 operations: 16 from 0 to 1 us, 32 from 2 us to the maximum of 3 us: a sum of 16 x 0.5 + 32 x 2.5 = 88 us.
    #[test]
    fn the_output_of_db_bench_is_parsed() {
        let output = "WARNING: Assertions are enabled; benchmarks unnecessarily slow\n\
            readrandom   :       4.123 micros/op 12 ops/sec 4.000 seconds 48 operations;   26.8 MB/s (48 of 48 found)\n\n\
            Microseconds per read:\nCount: 48 Average: 1.8333  StdDev: 3.73\nMin: 0  Median: 2.5000  Max: 3\n\
            Percentiles: P50: 2.50 P75: 2.75 P99: 2.99 P99.9: 3.00 P99.99: 3.00\n\
            ------------------------------------------------------\n\
            [       0,       1 ]       16  33.333%  33.333% #######\n\
            (       2,       4 ]       32  66.667% 100.000% #############\n\n\
            Microseconds per write:\nCount: 5 Average: 9 StdDev: 1\n(       6,      10 ]        5 100.000% 100.000% ####\n\
            STATISTICS:\nrocksdb.block.cache.miss COUNT : 7\nrocksdb.wal.synced COUNT : 0\n\
            rocksdb.db.get.micros P50 : 2.5 P95 : 3.0 P99 : 3.0 P100 : 3.0 COUNT : 48 SUM : 88\n";
        let report = Report::parse(output);
        assert_eq!(report.warnings.len(), 1);
        assert_eq!((report.elapsed_ns, report.operations), (4_000_000_000, 48));
        let mut measured = Measured {
            elapsed_ns: report.elapsed_ns,
            ..Measured::default()
        };
        measured.add_records(vec![report.recorder()]);
        assert_eq!(measured.transactions, 48);
        let sum = measured.latency().sum();
        assert!((87_900..=88_100).contains(&sum), "{sum}");
        measured.spread(&seconds_of("secs_elapsed,interval_qps\n1,10\n2,20\n3,10\n"));
        let counts: Vec<u64> = measured
            .intervals
            .iter()
            .map(|one| one.transactions)
            .collect();
        assert_eq!(counts, [10, 20, 10, 8], "the rest is in the last one");
        assert_eq!(
            report.counters,
            BTreeMap::from([("rocksdb.block.cache.miss".to_owned(), 7.0)])
        );
        assert_eq!(Report::parse("Corruption: ...").summary(), None);
    }
}
