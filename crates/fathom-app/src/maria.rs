//! MariaDB with sysbench, from the packages of the distribution: a private server on a unix socket.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::Signal;

use crate::activity::{sample, threads};
use crate::measured::{Recorder, Window};
use crate::memory::{size_of_folder, sync_folder};
use crate::server::{POLL, Place, Running, STOP, answer, end_server, since, unix_now_ns};
use crate::{AppError, AppSpec, Measured, OwnSummary, Probe};

/// Folder of the server below the private folder.
const FOLDER: &str = "maria";
const SOCKET: &str = "sock";
const PID: &str = "pid";
/// The database of sysbench.
const DATABASE: &str = "sbtest";
/// The user that exists from the beginning.
const USER: &str = "root";
/// Where the packages of distributions put the programs.
const PLACES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/bin"];
const NEEDED: [&str; 4] = ["mariadbd", "mariadb-install-db", "mariadb", "sysbench"];
/// The oldest version with all options and counters that are used; it is no longer maintained.
const OLDEST: (u32, u32) = (10, 5);
/// Rows of a table of sysbench; there is one table for each unit of the scale.
const ROWS: u32 = 100_000;
/// At most about this many intervals are kept.
const MOST_INTERVALS: u64 = 600;
/// The smallest buffer pool that InnoDB accepts, bytes.
const LEAST_CACHE: u64 = 5 << 20;
/// A buffer pool with a smaller share of free pages is full.
const FULL: f64 = 0.05;
/// What the server reports: counters begin with one of these.
const COUNTERS: [&str; 9] = [
    "Com_",
    "Created_tmp_",
    "Handler_",
    "Innodb_buffer_pool_",
    "Innodb_data_",
    "Innodb_dblwr_",
    "Innodb_log_",
    "Innodb_os_log_",
    "Innodb_row_lock_",
];
/// Of these, what is no counter.
const GAUGES: [&str; 8] = [
    "_pages_data",
    "_pages_dirty",
    "_pages_free",
    "_pages_misc",
    "_bytes_d",
    "_pending",
    "_current_waits",
    "_time_",
];

/// Finds the programs.
///
/// # Errors
/// [`AppError::Missing`] names the packages, or the version that is needed.
pub fn find_mariadb() -> Result<(), AppError> {
    programs_in(&PLACES.map(PathBuf::from)).map(drop)
}

/// The programs by name.
type Programs = BTreeMap<&'static str, PathBuf>;

fn programs_in(places: &[PathBuf]) -> Result<Programs, AppError> {
    let find = |name: &str| {
        let mut paths = places.iter().map(|place| place.join(name));
        paths.find(|path| path.is_file())
    };
    let found: Programs = NEEDED
        .into_iter()
        .filter_map(|name| Some((name, find(name)?)))
        .collect();
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|name| !found.contains_key(name))
        .collect();
    if !missing.is_empty() {
        return Err(AppError::Missing(format!(
            "MariaDB is not installed completely: {} not found; install the packages mariadb-server-core, \
             mariadb-client-core and sysbench (Debian, Ubuntu), or mariadb-server and sysbench (Fedora, openSUSE)",
            missing.join(", ")
        )));
    }
    let server = &found["mariadbd"];
    let text = answer("MariaDB", {
        let mut command = Command::new(server);
        command.args(["--no-defaults", "--version"]);
        command
    })?;
    match version(&text) {
        Some(version) if version >= OLDEST => Ok(found),
        _ => Err(AppError::Missing(format!(
            "{}: {}: this version is not supported; MariaDB {}.{} or newer is needed",
            server.display(),
            text.lines().next().unwrap_or_default(),
            OLDEST.0,
            OLDEST.1
        ))),
    }
}

/// The version in `mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for ...`.
fn version(text: &str) -> Option<(u32, u32)> {
    let (_, rest) = text.split_once("Ver ")?;
    let word = rest
        .split_whitespace()
        .next()
        .filter(|word| word.contains("MariaDB"))?;
    let mut parts = word.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The server of a private folder.
struct Server<'a> {
    programs: Programs,
    place: Place<'a>,
}

impl<'a> Server<'a> {
    fn new(
        spec: &'a AppSpec,
        private: &Path,
        probe: &'a dyn Probe,
    ) -> Result<Server<'a>, AppError> {
        let place = Place::new(spec, private, FOLDER, SOCKET, probe)?;
        let programs = programs_in(&PLACES.map(PathBuf::from))?;
        Ok(Server { programs, place })
    }

    /// `--NAME=FOLDER/FILE`.
    fn with_file(&self, name: &str, file: &str) -> String {
        format!("--{name}={}", self.place.folder.join(file).display())
    }

    /// Does not read the configuration of the machine, where the program can be asked for that.
    fn program(&self, name: &str) -> Command {
        let mut command = self.place.command(&self.programs[name]);
        if name != "sysbench" {
            command.arg("--no-defaults");
        }
        command
    }

    fn start(&self) -> Result<Running, AppError> {
        let spec = self.place.spec;
        let mut command = self.program("mariadbd");
        command
            .arg(self.with_file("datadir", "data"))
            .arg(self.with_file("socket", SOCKET))
            .arg(self.with_file("pid-file", PID))
            .arg(self.with_file("tmpdir", "tmp"))
            .args(["--skip-networking", "--skip-name-resolve"])
            // The cache is filled by reading the tables, not in the background.
            .arg("--innodb-buffer-pool-dump-at-shutdown=OFF")
            .arg("--innodb-buffer-pool-load-at-startup=OFF")
            .arg(format!("--max-connections={}", spec.clients + 20));
        if let Some(cache) = spec.cache {
            command.arg(format!(
                "--innodb-buffer-pool-size={}",
                cache.max(LEAST_CACHE)
            ));
        }
        command.args(self.log_folder());
        for setting in &spec.settings {
            let (name, value) = (setting.name(), setting.value());
            command.arg(format!("--{name}={value}"));
        }
        self.place
            .serve("mariadbd", command, &|| self.query("SELECT 1").is_ok())
    }

    /// The option for a log on another path.
    fn log_folder(&self) -> Option<String> {
        let log = self.place.log_folder()?;
        Some(format!("--innodb-log-group-home-dir={}", log.display()))
    }

    /// The rows that statements return, as one text with tabs.
    fn query(&self, statements: &str) -> Result<String, AppError> {
        let mut client = self.program("mariadb");
        client
            .arg(self.with_file("socket", SOCKET))
            .args(["-u", USER, "-N", "-B", "-e", statements]);
        answer("MariaDB", client)
    }

    fn status(&self) -> Result<BTreeMap<String, f64>, AppError> {
        Ok(numbers(&self.query("SHOW GLOBAL STATUS")?))
    }

    /// Reads the tables until the cache is full, so that it holds as much as it can.
    fn fill_cache(&self) -> Result<(), AppError> {
        for table in 1..=self.place.spec.scale {
            if self.place.probe.stop() {
                return Err(AppError::Interrupted);
            }
            let status = self.status()?;
            let pages = |name: &str| status.get(name).copied().unwrap_or(0.0);
            if pages("Innodb_buffer_pool_pages_free")
                < FULL * pages("Innodb_buffer_pool_pages_total")
            {
                break;
            }
            self.query(&format!(
                "SELECT SUM(LENGTH(pad)) FROM {DATABASE}.sbtest{table} FORCE INDEX (PRIMARY); \
                 SELECT SUM(k) FROM {DATABASE}.sbtest{table} FORCE INDEX (k_{table})"
            ))?;
        }
        Ok(())
    }

    fn sysbench(&self, threads: u32) -> Command {
        let spec = self.place.spec;
        let mut command = self.program("sysbench");
        command
            .arg(spec.transaction.name())
            .arg(self.with_file("mysql-socket", SOCKET))
            .arg(format!("--mysql-user={USER}"))
            .arg(format!("--mysql-db={DATABASE}"))
            .arg(format!("--tables={}", spec.scale))
            .arg(format!("--table-size={ROWS}"))
            .arg(format!("--rand-type={}", spec.distribution.name()))
            .arg(format!("--threads={threads}"));
        command
    }

    /// One run of sysbench.
    fn bench(&self, seconds: u64, server: u32) -> Result<Bench, AppError> {
        let spec = self.place.spec;
        let step = seconds.div_ceil(MOST_INTERVALS).max(1);
        let mut command = self.sysbench(spec.clients);
        command
            .arg(format!("--time={seconds}"))
            .arg(format!("--report-interval={step}"))
            .args(["--events=0", "--histogram=on"]);
        if let Some(rate) = spec.rate {
            command.arg(format!("--rate={}", rate.round().max(1.0)));
        }
        command.arg("run");
        let started_unix_ns = unix_now_ns();
        let mut child = self.place.spawn("sysbench", command, true)?;
        let pid = child.pid();
        let sampled = AtomicBool::new(false);
        let known = Mutex::new(Vec::new());
        let (ended_as, activity) = std::thread::scope(|scope| {
            let tasks = || self.clients(server, pid, &known);
            let stop_sampling = &sampled;
            let sampler = scope.spawn(move || sample(&tasks, stop_sampling));
            let ended_as = child.wait(self.place.probe);
            sampled.store(true, Ordering::Release);
            (ended_as, sampler.join().unwrap_or_default())
        });
        let output = child.output();
        let (status, interrupted) = ended_as.map_err(|error| {
            AppError::file(Path::new("sysbench"), "cannot be waited for", error)
        })?;
        Ok(Bench {
            started_unix_ns,
            interval_ns: step * 1_000_000_000,
            report: Report::parse(&output),
            activity,
            failed: (!status.success() && !interrupted).then(|| child.failed(status)),
            interrupted,
        })
    }

    /// Tasks of the clients: the server's threads of connections, and those of sysbench.
    fn clients(&self, server: u32, bench: u32, known: &Mutex<Vec<PathBuf>>) -> Vec<PathBuf> {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.place.spec.clients as usize;
        if known.len() < wanted
            && let Ok(rows) = self.query(&format!(
                "SELECT TID FROM information_schema.PROCESSLIST WHERE DB = '{DATABASE}'"
            ))
        {
            let tasks = rows.lines().filter_map(|row| row.trim().parse().ok());
            *known = tasks
                .map(|task: u32| PathBuf::from(format!("/proc/{server}/task/{task}")))
                .collect();
        }
        let mut all = known.clone();
        if !all.is_empty() {
            all.extend(threads(bench, "sysbench"));
        }
        all
    }
}

/// What sysbench did.
struct Bench {
    started_unix_ns: u64,
    interval_ns: u64,
    report: Report,
    activity: crate::Activity,
    failed: Option<AppError>,
    interrupted: bool,
}

/// What sysbench printed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Report {
    elapsed_ns: u64,
    transactions: u64,
    /// Transactions that were repeated, after a deadlock for example.
    repeated: u64,
    latency_sum_ms: f64,
    /// Latency in nanoseconds and count.
    buckets: Vec<(u64, u64)>,
    /// Transactions per second of each interval.
    rates: Vec<f64>,
}

impl Report {
    /// A line of the histogram is a latency in milliseconds, a bar of `*` after `|`, and the number of transactions. A line of an
    /// interval is `[ 1s ] thds: 2 tps: 482.66 qps: ...`.
    fn parse(output: &str) -> Report {
        let mut report = Report::default();
        for line in output.lines() {
            if let Some((value, rest)) = line.split_once('|') {
                let count = rest.split_whitespace().next_back();
                if let (Ok(value), Some(Ok(count))) =
                    (value.trim().parse::<f64>(), count.map(str::parse))
                {
                    report.buckets.push(((value * 1e6) as u64, count));
                }
                continue;
            }
            if let Some((_, rest)) = line.split_once(" tps: ") {
                let rate = rest.split(' ').next().unwrap_or_default();
                report.rates.push(rate.parse().unwrap_or(0.0));
                continue;
            }
            let Some((name, rest)) = line.trim().split_once(':') else {
                continue;
            };
            let word = rest.split_whitespace().next().unwrap_or_default();
            let number = word.trim_end_matches('s').parse::<f64>().unwrap_or(0.0);
            match name {
                "transactions" => report.transactions = number as u64,
                "ignored errors" => report.repeated = number as u64,
                "total time" => report.elapsed_ns = (number * 1e9) as u64,
                "sum" => report.latency_sum_ms = number,
                _ => {}
            }
        }
        report
    }

    fn recorder(&self, interval_ns: u64) -> Recorder {
        let mut record = Recorder::with_interval(interval_ns);
        for (latency, count) in &self.buckets {
            record.record_total(*latency, *count);
        }
        record
    }

    /// Transactions of each interval.
    fn counts(&self, interval_ns: u64) -> Vec<u64> {
        let seconds = interval_ns as f64 / 1e9;
        let counts = self.rates.iter().map(|rate| (rate * seconds).round());
        counts.map(|count| count as u64).collect()
    }

    fn summary(&self) -> Option<OwnSummary> {
        let transactions = self.transactions as f64;
        (self.transactions > 0).then(|| OwnSummary {
            transactions: self.transactions,
            tps: transactions / (self.elapsed_ns as f64 / 1e9).max(1e-9),
            latency_ms: self.latency_sum_ms / transactions,
        })
    }
}

/// `name TAB number` of each line that has one.
fn numbers(text: &str) -> BTreeMap<String, f64> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once('\t')?;
            Some((name.to_owned(), value.parse().ok()?))
        })
        .collect()
}

fn is_counter(name: &str) -> bool {
    COUNTERS.iter().any(|start| name.starts_with(start))
        && !GAUGES.iter().any(|part| name.contains(part))
}

/// Tables and indexes.
pub(crate) fn data_folder(private: &Path) -> PathBuf {
    private.join(FOLDER).join("data").join(DATABASE)
}

pub(crate) fn prepare(spec: &AppSpec, private: &Path, probe: &dyn Probe) -> Result<(), AppError> {
    let server = Server::new(spec, private, probe)?;
    let place = &server.place;
    place.create()?;
    place.create_below("tmp")?;
    place.create_log()?;
    let mut install = server.program("mariadb-install-db");
    install
        .arg(server.with_file("datadir", "data"))
        .arg(server.with_file("tmpdir", "tmp"))
        .args([
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ])
        .args(server.log_folder());
    place.complete("mariadb-install-db", install)?;
    let mut running = server.start()?;
    let filled = server
        .query(&format!("CREATE DATABASE {DATABASE}"))
        .and_then(|_| {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
            let mut fill = server.sysbench(spec.scale.min(cpus).max(1));
            fill.arg("prepare");
            place.complete("sysbench", fill)
        });
    running.stop(Signal::TERM, STOP);
    filled?;
    sync_folder(&place.folder)
}

pub(crate) fn run(spec: &AppSpec, private: &Path, probe: &dyn Probe) -> Result<Measured, AppError> {
    let server = Server::new(spec, private, probe)?;
    let mut running = server.start()?;
    let result = measure(&server, &mut running, private);
    running.stop(Signal::TERM, STOP);
    result
}

fn measure(
    server: &Server<'_>,
    running: &mut Running,
    private: &Path,
) -> Result<Measured, AppError> {
    let (spec, probe) = (server.place.spec, server.place.probe);
    let pid = running.pid();
    let version = server.query("SELECT VERSION()")?;
    server.fill_cache()?;
    let seconds = |ns: u64| ns.div_ceil(1_000_000_000);
    if spec.warmup_ns > 0 {
        let warmup = server.bench(seconds(spec.warmup_ns), pid)?;
        if let Some(error) = warmup.failed {
            return Err(error);
        }
        if warmup.interrupted {
            return Err(AppError::Interrupted);
        }
    }
    let counters_before = server.status()?;
    let before = Window::begin(probe, pid);
    let bench = server.bench(seconds(spec.runtime_ns), pid)?;
    let after = Window::end(probe, pid);
    let mut error = bench.failed.map(|error| error.to_string());
    // A server that was killed closes its connections a moment before its end can be seen.
    if error.is_some() {
        std::thread::sleep(POLL * 5);
    }
    if let Some(status) = running.ended() {
        let server = running.failed(status);
        error = Some(error.map_or(server.to_string(), |error| format!("{error}\n{server}")));
    }
    let mut measured = Measured {
        started_unix_ns: bench.started_unix_ns,
        elapsed_ns: bench.report.elapsed_ns.max(1),
        version,
        activity: bench.activity,
        summary: bench.report.summary(),
        interrupted: bench.interrupted,
        error,
        ..Measured::default()
    };
    before.add_to(&after, &mut measured);
    measured.add_records(vec![bench.report.recorder(bench.interval_ns)]);
    measured.spread(&bench.report.counts(bench.interval_ns));
    if measured.error.is_none() {
        measured.counters = since(&counters_before, server.status()?);
        measured.counters.retain(|name, _| is_counter(name));
        let repeated = bench.report.repeated as f64;
        measured
            .counters
            .insert("sysbench.ignored_errors".to_owned(), repeated);
    }
    measured.data_bytes = size_of_folder(&data_folder(private));
    Ok(measured)
}

/// Ends the server of a private folder whose run was killed. It cannot lose anything: the folder is removed.
pub(crate) fn kill_server(private: &Path) {
    let folder = private.join(FOLDER);
    end_server(&folder.join(PID), &folder.join("data"), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use fathom_testkit::Scratch;

    #[test]
    fn a_missing_engine_is_reported_with_its_packages_and_an_old_one_with_the_version_needed() {
        let empty = Scratch::new().expect("a directory");
        let places = [empty.path().to_owned()];
        let text = programs_in(&places).expect_err("nothing").to_string();
        assert!(
            text.contains("mariadbd, mariadb-install-db, mariadb, sysbench not found")
                && text.contains("mariadb-client-core and sysbench (Debian"),
            "{text}"
        );
        for name in NEEDED {
            fs::copy("/bin/true", empty.join(name)).expect("a program");
        }
        let server = empty.join("mariadbd");
        let says = |version: &str| {
            let script = format!("#!/bin/sh\necho 'mariadbd  Ver {version} for Linux'\n");
            fs::write(&server, script).expect("a program");
            fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("permissions");
            programs_in(&places).map(drop)
        };
        let old = says("10.4.12-MariaDB").expect_err("too old").to_string();
        assert!(
            old.contains("10.4.12-MariaDB") && old.contains("MariaDB 10.5 or newer is needed"),
            "{old}"
        );
        assert!(says("8.0.36").is_err(), "MySQL has other options");
        assert!(says("11.4.2-MariaDB-ubu2404").is_ok());
    }

    /// 4 transactions in 1.5 s, 3 of them in the first second: 1 ms + 2 x 2 ms + 4 ms.
    #[test]
    fn the_output_of_sysbench_is_parsed() {
        let output = "Threads started!\n\n\
                      [ 1s ] thds: 2 tps: 2.99 qps: 60.10 (r/w/o: 42.00/12.00/6.00) lat (ms,95%): 2.00 err/s: 1.00 reconn/s: 0.00\n\
                      Latency histogram (values are in milliseconds)\n\
                      \x20      value  ------------- distribution ------------- count\n\
                      \x20      1.000 |********************                     1\n\
                      \x20      2.000 |**************************************** 2\n\
                      \x20      4.000 |********************                     1\n\
                      SQL statistics:\n    queries performed:\n        read:                            56\n\
                      \x20   transactions:                        4      (2.67 per sec.)\n\
                      \x20   ignored errors:                      1      (0.67 per sec.)\n\
                      General statistics:\n    total time:                          1.5000s\n\
                      \x20   total number of events:              4\n\
                      Latency (ms):\n         sum:                                    9.00\n";
        let report = Report::parse(output);
        assert_eq!((report.repeated, report.transactions), (1, 4));
        assert_eq!(report.elapsed_ns, 1_500_000_000);
        let mut measured = Measured {
            elapsed_ns: report.elapsed_ns,
            ..Measured::default()
        };
        measured.add_records(vec![report.recorder(1_000_000_000)]);
        measured.spread(&report.counts(1_000_000_000));
        let counts: Vec<u64> = measured
            .intervals
            .iter()
            .map(|one| one.transactions)
            .collect();
        assert_eq!(counts, [3, 1], "the rest is in the last one");
        assert_eq!(measured.latency().sum(), 9_000_000);
        let summary = report.summary().expect("transactions");
        assert!((summary.latency_ms - 2.25).abs() < 1e-9);
        assert_eq!(Report::parse("FATAL: no server").summary(), None);
    }

    #[test]
    fn counters_are_those_that_only_grow() {
        let text = "Innodb_data_fsyncs\t7\nInnodb_buffer_pool_pages_dirty\t3\nUptime\t9\nInnodb_dblwr_writes\tON";
        let mut counters = numbers(text);
        counters.retain(|name, _| is_counter(name));
        assert_eq!(
            counters,
            BTreeMap::from([("Innodb_data_fsyncs".to_owned(), 7.0)])
        );
    }
}
