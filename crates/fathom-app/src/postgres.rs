//! PostgreSQL with pgbench, from the packages of the distribution: a private cluster on a unix socket.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;

use crate::activity::{sample, threads};
use crate::measured::{Recorder, Window};
use crate::memory::{size_of_folder, sync_folder};
use crate::server::{POLL, Place, Running, STOP, answer, end_server, since, unix_now_ns};
use crate::{AppError, AppSpec, Measured, OwnSummary, Probe, Transaction};

/// The database user of the cluster.
const USER: &str = "fathom";
const DATABASE: &str = "postgres";
/// Folder of the cluster and its socket below the private folder.
const FOLDER: &str = "pg";
/// Where the packages of distributions put the programs, most specific first.
const PLACES: [&str; 5] = [
    "/usr/lib/postgresql",
    "/usr/pgsql-18/bin",
    "/usr/pgsql-17/bin",
    "/usr/pgsql-16/bin",
    "/usr/bin",
];
const NEEDED: [&str; 5] = ["initdb", "postgres", "pgbench", "psql", "pg_isready"];
/// The oldest version whose pgbench writes its log to a given place (`--log-prefix`).
const OLDEST: u32 = 10;
/// The unix socket below the folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// Directories of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgPrograms {
    folders: Vec<PathBuf>,
}

impl PgPrograms {
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
    }
}

/// Finds the newest version that is installed.
///
/// # Errors
/// [`AppError::Missing`] names the packages, or the version that is needed.
pub fn find_postgres() -> Result<PgPrograms, AppError> {
    let programs = find_in(&PLACES.map(PathBuf::from))?;
    check_version(&programs)?;
    Ok(programs)
}

/// Whether the server can be started and is new enough.
fn check_version(programs: &PgPrograms) -> Result<(), AppError> {
    let server = programs.path("postgres").unwrap_or_default();
    let mut command = Command::new(&server);
    command.arg("--version");
    let text = answer("PostgreSQL", command)?;
    match major_version(&text) {
        Some(version) if version >= OLDEST => Ok(()),
        _ => Err(AppError::Missing(format!(
            "{}: {}: this version is not supported; PostgreSQL {OLDEST} or newer is needed",
            server.display(),
            text.lines().next().unwrap_or_default(),
        ))),
    }
}

/// 15 in `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, 9 in `postgres (PostgreSQL) 9.6.24`, 18 in `... 18beta1`.
fn major_version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("(PostgreSQL) ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    rest[..digits.unwrap_or(rest.len())].parse().ok()
}

fn find_in(places: &[PathBuf]) -> Result<PgPrograms, AppError> {
    let mut folders = Vec::new();
    for place in places {
        // Debian has a folder for each version.
        let mut versions: Vec<(f64, PathBuf)> = fs::read_dir(place)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .collect();
        versions.sort_by(|one, two| two.0.total_cmp(&one.0));
        folders.extend(versions.into_iter().map(|(_, path)| path));
        folders.push(place.clone());
    }
    folders.retain(|folder| folder.is_dir());
    // The programs of the server must be of one version; those of the client work with older servers.
    if let Some(place) = folders.iter().position(|folder| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| folder.join(name).is_file())
    }) {
        folders.swap(0, place);
    }
    let programs = PgPrograms { folders };
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|name| programs.path(name).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(programs);
    }
    Err(AppError::Missing(format!(
        "PostgreSQL is not installed completely: {} not found; install the package postgresql (Debian, Ubuntu), or postgresql-server \
         and postgresql-contrib (Fedora, openSUSE)",
        missing.join(", ")
    )))
}

/// The cluster of a private folder.
struct Cluster<'a> {
    programs: PgPrograms,
    place: Place<'a>,
}

impl<'a> Cluster<'a> {
    fn new(
        spec: &'a AppSpec,
        private: &Path,
        probe: &'a dyn Probe,
    ) -> Result<Cluster<'a>, AppError> {
        let place = Place::new(spec, private, FOLDER, SOCKET, probe)?;
        Ok(Cluster {
            programs: find_postgres()?,
            place,
        })
    }

    fn data(&self) -> PathBuf {
        self.place.folder.join("data")
    }

    fn program(&self, name: &str, arguments: &[&str]) -> Command {
        let path = self.programs.path(name).unwrap_or_else(|| name.into());
        let mut command = self.place.command(&path);
        command.args(arguments);
        if matches!(name, "psql" | "pgbench") {
            command.arg("-h").arg(&self.place.folder).args(["-U", USER]);
        }
        command
    }

    /// Runs a program to its end.
    fn complete(&self, name: &str, arguments: &[&str]) -> Result<(), AppError> {
        self.place.complete(name, self.program(name, arguments))
    }

    /// Starts the server, and waits until it answers.
    fn start(&self) -> Result<Running, AppError> {
        let mut command = self.program("postgres", &["-D"]);
        command.arg(self.data());
        let mut set = |name: &str, value: String| {
            command.arg("-c").arg(format!("{name}={value}"));
        };
        set("listen_addresses", String::new());
        set(
            "unix_socket_directories",
            format!("\"{}\"", self.place.folder.display()),
        );
        set(
            "max_connections",
            (self.place.spec.clients + 20).to_string(),
        );
        set("track_io_timing", "on".to_owned());
        if let Some(cache) = self.place.spec.cache {
            // The smallest value that PostgreSQL accepts is 128 kB.
            set("shared_buffers", format!("{}kB", (cache >> 10).max(128)));
        }
        for setting in &self.place.spec.settings {
            let (name, value) = (setting.name(), setting.value());
            command.arg("-c").arg(format!("{name}={value}"));
        }
        self.place.serve("postgres", command, &|| {
            let mut ready = self.program("pg_isready", &["-q", "-h"]);
            ready.arg(&self.place.folder);
            ready.status().is_ok_and(|status| status.success())
        })
    }

    /// The rows that a query returns, as one text.
    fn query(&self, query: &str) -> Result<String, AppError> {
        let arguments = ["-X", "-q", "-A", "-t", "-d", DATABASE, "-c", query];
        answer("PostgreSQL", self.program("psql", &arguments))
    }

    /// The counters of the views that this version has.
    fn counters(&self) -> (BTreeMap<String, f64>, Vec<String>) {
        let views = [
            ("pg_stat_wal", "SELECT row_to_json(v) FROM pg_stat_wal v"),
            (
                "pg_stat_bgwriter",
                "SELECT row_to_json(v) FROM pg_stat_bgwriter v",
            ),
            (
                "pg_stat_database",
                "SELECT row_to_json(v) FROM pg_stat_database v WHERE datname = current_database()",
            ),
        ];
        let (mut counters, mut unknown) = (BTreeMap::new(), Vec::new());
        for (view, query) in views {
            match self.query(query) {
                Ok(text) => add_numbers(view, &text, &mut counters),
                Err(_) => unknown.push(format!("this version of PostgreSQL has no {view}")),
            }
        }
        match self.query(
            "SELECT row_to_json(v) FROM (SELECT backend_type, object, context, reads, writes, extends, hits, evictions, fsyncs \
             FROM pg_stat_io) v",
        ) {
            Ok(text) => {
                for line in text.lines() {
                    add_io(line, &mut counters);
                }
            }
            Err(_) => unknown.push(
                "this version of PostgreSQL has no pg_stat_io: it needs version 16".to_owned(),
            ),
        }
        (counters, unknown)
    }

    /// One run of pgbench for this time; its records are complete when it has ended.
    fn bench(&self, seconds: u64, server: u32, record: bool) -> Result<Bench, AppError> {
        let spec = self.place.spec;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let jobs = spec.clients.min(cpus).max(1);
        // The log goes through pipes, so that it is not I/O of the device. pgbench puts its process number into the names, and
        // exec(2) keeps that of the shell.
        let script = format!(
            "set -e; if [ \"$1\" = log ]; then mkfifo pipe.$$; i=1; while [ $i -lt {jobs} ]; do mkfifo pipe.$$.$i; i=$((i+1)); done; fi; \
             shift; exec \"$@\""
        );
        let mut command = self.place.command(Path::new("/bin/sh"));
        command
            .args(["-c", &script, "sh", if record { "log" } else { "-" }])
            .arg(self.programs.path("pgbench").unwrap_or_default())
            .args([
                "-n",
                "-c",
                &spec.clients.to_string(),
                "-j",
                &jobs.to_string(),
            ])
            .args(["-T", &seconds.to_string(), "-U", USER, "-h"])
            .arg(&self.place.folder);
        if record {
            command.arg("-l").arg("--log-prefix=pipe");
        }
        match &spec.transaction {
            Transaction::Script(file) => {
                let script = File::open(file)
                    .map_err(|error| AppError::file(file, "cannot be read", error))?;
                command.args(["-f", "-"]).stdin(script);
            }
            builtin => {
                command.args(["-b", &builtin.name()]);
            }
        }
        if let Some(rate) = spec.rate {
            command.args(["-R", &rate.to_string()]);
            if let Some(limit) = spec.latency_limit_ns {
                command.args(["-L", &(limit as f64 / 1e6).to_string()]);
            }
        }
        command.arg(DATABASE);
        let started_unix_ns = unix_now_ns();
        let mut child = self.place.spawn("pgbench", command, true)?;
        let pid = child.pid();
        let (ended, sampled) = (AtomicBool::new(false), AtomicBool::new(false));
        let pipes: Vec<PathBuf> = (0..jobs)
            .map(|job| match job {
                0 => self.place.folder.join(format!("pipe.{pid}")),
                _ => self.place.folder.join(format!("pipe.{pid}.{job}")),
            })
            .collect();
        let bench = std::thread::scope(|scope| {
            let readers: Vec<_> = pipes
                .iter()
                .filter(|_| record)
                .map(|pipe| {
                    let ended = &ended;
                    scope.spawn(move || read_log(pipe, ended, spec, started_unix_ns))
                })
                .collect();
            let stop_sampling = &sampled;
            let sampler = scope.spawn(move || sample(&|| clients(server, pid), stop_sampling));
            let ended_as = child.wait(self.place.probe);
            sampled.store(true, Ordering::Release);
            ended.store(true, Ordering::Release);
            let logs: Vec<Log> = readers
                .into_iter()
                .filter_map(|reader| reader.join().ok())
                .collect();
            let output = child.output();
            let (status, interrupted) = ended_as.map_err(|error| {
                AppError::file(Path::new("pgbench"), "cannot be waited for", error)
            })?;
            Ok(Bench {
                started_unix_ns,
                first_ns: logs
                    .iter()
                    .filter_map(|log| log.first_ns)
                    .min()
                    .unwrap_or(0),
                last_ns: logs.iter().map(|log| log.last_ns).max().unwrap_or(0),
                records: logs.into_iter().map(|log| log.record).collect(),
                activity: sampler.join().unwrap_or_default(),
                summary: summary(&output),
                failed: (!status.success() && !interrupted).then(|| child.failed(status)),
                interrupted,
            })
        });
        for pipe in pipes {
            let _ = fs::remove_file(pipe);
        }
        bench
    }
}

/// What pgbench did.
struct Bench {
    started_unix_ns: u64,
    first_ns: u64,
    last_ns: u64,
    records: Vec<Recorder>,
    activity: crate::Activity,
    summary: Option<OwnSummary>,
    failed: Option<AppError>,
    interrupted: bool,
}

/// The numbers of a JSON object.
fn add_numbers(view: &str, text: &str, counters: &mut BTreeMap<String, f64>) {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) else {
        return;
    };
    for (name, value) in fields {
        if let Some(number) = value.as_f64() {
            counters.insert(format!("{view}.{name}"), number);
        }
    }
}

/// A row of pg_stat_io, added to the sums of its object and context.
fn add_io(text: &str, counters: &mut BTreeMap<String, f64>) {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) else {
        return;
    };
    let name = |key: &str| {
        fields
            .get(key)
            .and_then(|value| value.as_str())
            .unwrap_or("")
    };
    let of = format!("pg_stat_io.{}.{}", name("object"), name("context"));
    for (key, value) in &fields {
        if let Some(number) = value.as_f64() {
            *counters.entry(format!("{of}.{key}")).or_default() += number;
        }
    }
}

/// Tasks of the clients: the server's processes of connections, and the threads of pgbench.
fn clients(server: u32, bench: u32) -> Vec<PathBuf> {
    let children =
        fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap_or_default();
    let is_connection = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|text| text.windows(7).any(|part| part == b"[local]"))
    };
    let mut all: Vec<PathBuf> = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(is_connection)
        .map(|pid| PathBuf::from(format!("/proc/{pid}/task/{pid}")))
        .collect();
    if !all.is_empty() {
        all.extend(threads(bench, "pgbench"));
    }
    all
}

/// What a thread of pgbench logged.
struct Log {
    record: Recorder,
    first_ns: Option<u64>,
    last_ns: u64,
}

/// Reads the log of a thread of pgbench until it has ended.
fn read_log(pipe: &Path, ended: &AtomicBool, spec: &AppSpec, started_unix_ns: u64) -> Log {
    let mut log = Log {
        record: Recorder::new(spec.runtime_ns, spec.latency_limit_ns),
        first_ns: None,
        last_ns: 0,
    };
    let Some(file) = open_pipe(pipe, ended) else {
        return log;
    };
    let mut pending = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let over = ended.load(Ordering::Acquire);
        match rustix::io::read(&file, &mut buffer[..]) {
            Ok(0) | Err(_) if over => break,
            Ok(0) | Err(_) => std::thread::sleep(POLL / 2),
            Ok(read) => {
                pending.extend_from_slice(&buffer[..read]);
                let complete = pending
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(0, |at| at + 1);
                for line in pending[..complete].split(|byte| *byte == b'\n') {
                    log.add(&String::from_utf8_lossy(line), spec, started_unix_ns);
                }
                pending.drain(..complete);
            }
        }
    }
    log
}

/// Opened without waiting for pgbench, which may have failed before it opened its end.
fn open_pipe(pipe: &Path, ended: &AtomicBool) -> Option<OwnedFd> {
    loop {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::open(pipe, flags, Mode::empty()) {
            Ok(file) => return Some(file),
            Err(_) if ended.load(Ordering::Acquire) => return None,
            Err(_) => std::thread::sleep(POLL / 5),
        }
    }
}

impl Log {
    /// A line: client, number, latency in us, script, completion in s and us since 1970; with a rate the lag in us. See the
    /// section "Per-Transaction Logging" of the documentation of pgbench.
    fn add(&mut self, line: &str, spec: &AppSpec, started_unix_ns: u64) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, _, latency, _, seconds, micros, ref more @ ..] = fields[..] else {
            return;
        };
        let (Ok(seconds), Ok(micros)) = (seconds.parse::<u64>(), micros.parse::<u64>()) else {
            return;
        };
        let at = (seconds * 1_000_000_000 + micros * 1000).saturating_sub(started_unix_ns);
        match latency.parse::<u64>() {
            Ok(latency) => {
                let latency = latency * 1000;
                let lag = more.first().filter(|_| spec.rate.is_some());
                let lag = lag.and_then(|lag| lag.parse::<u64>().ok());
                self.record.record(at, latency, lag.map(|us| us * 1000));
                let first = at.saturating_sub(latency);
                self.first_ns = Some(self.first_ns.map_or(first, |known| known.min(first)));
                self.last_ns = self.last_ns.max(at);
            }
            Err(_) if latency == "skipped" => self.record.skipped += 1,
            Err(_) => self.record.failed += 1,
        }
    }
}

/// pgbench's own summary.
fn summary(output: &str) -> Option<OwnSummary> {
    let number = |prefix: &str| {
        let rest = output.lines().find_map(|line| line.strip_prefix(prefix))?;
        let digits = rest.trim_start().split([' ', '/']).next()?;
        digits.parse::<f64>().ok()
    };
    Some(OwnSummary {
        transactions: number("number of transactions actually processed:")? as u64,
        tps: number("tps =")?,
        latency_ms: number("latency average =").unwrap_or(0.0),
    })
}

/// Tables and indexes.
pub(crate) fn data_folder(private: &Path) -> PathBuf {
    private.join(FOLDER).join("data").join("base")
}

pub(crate) fn prepare(spec: &AppSpec, private: &Path, probe: &dyn Probe) -> Result<(), AppError> {
    let cluster = Cluster::new(spec, private, probe)?;
    cluster.place.create()?;
    let mut initdb = cluster.program(
        "initdb",
        &[
            "-D",
            "data",
            "-A",
            "trust",
            "-U",
            USER,
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        ],
    );
    if let Some(log) = cluster.place.create_log()? {
        initdb.arg("-X").arg(log);
    }
    cluster.place.complete("initdb", initdb)?;
    let mut server = cluster.start()?;
    let filled = cluster
        .complete(
            "pgbench",
            &["-i", "-q", "-s", &spec.scale.to_string(), DATABASE],
        )
        .and_then(|_| cluster.query("CHECKPOINT"));
    server.stop(Signal::INT, STOP);
    filled?;
    sync_folder(&cluster.place.folder)
}

pub(crate) fn run(spec: &AppSpec, private: &Path, probe: &dyn Probe) -> Result<Measured, AppError> {
    let cluster = Cluster::new(spec, private, probe)?;
    let mut server = cluster.start()?;
    let result = measure(&cluster, &mut server, private);
    server.stop(Signal::INT, STOP);
    result
}

fn measure(
    cluster: &Cluster<'_>,
    server: &mut Running,
    private: &Path,
) -> Result<Measured, AppError> {
    let (spec, probe) = (cluster.place.spec, cluster.place.probe);
    let pid = server.pid();
    let version = cluster.query("SHOW server_version")?;
    let seconds = |ns: u64| ns.div_ceil(1_000_000_000);
    if spec.warmup_ns > 0 {
        let warmup = cluster.bench(seconds(spec.warmup_ns), pid, false)?;
        if let Some(error) = warmup.failed {
            return Err(error);
        }
        if warmup.interrupted {
            return Err(AppError::Interrupted);
        }
    }
    let (counters_before, _) = cluster.counters();
    let before = Window::begin(probe, pid);
    let bench = cluster.bench(seconds(spec.runtime_ns), pid, true)?;
    let after = Window::end(probe, pid);
    let mut error = bench.failed.map(|error| error.to_string());
    if let Some(status) = server.ended() {
        let server = server.failed(status);
        error = Some(error.map_or(server.to_string(), |error| format!("{error}\n{server}")));
    }
    let mut measured = Measured {
        started_unix_ns: bench.started_unix_ns,
        elapsed_ns: bench.last_ns.saturating_sub(bench.first_ns).max(1),
        version,
        activity: bench.activity,
        summary: bench.summary,
        interrupted: bench.interrupted,
        error,
        ..Measured::default()
    };
    before.add_to(&after, &mut measured);
    measured.add_records(bench.records);
    if measured.error.is_none() {
        let (counters, unknown) = cluster.counters();
        measured.unknown = unknown;
        measured.counters = since(&counters_before, counters);
    }
    measured.data_bytes = size_of_folder(&data_folder(private));
    Ok(measured)
}

/// Ends the server of a private folder whose run was killed.
pub(crate) fn kill_server(private: &Path) {
    let data = private.join(FOLDER).join("data");
    end_server(&data.join("postmaster.pid"), &data, Signal::QUIT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_testkit::Scratch;

    #[test]
    fn a_missing_engine_is_reported_with_its_package() {
        let empty = Scratch::new().expect("a directory");
        let error = find_in(&[empty.path().to_owned()]).expect_err("nothing is there");
        let text = error.to_string();
        assert!(
            text.contains("initdb, postgres, pgbench") && text.contains("package postgresql"),
            "{text}"
        );
        // The newest version with all programs is taken: 9 is older than 15.
        for version in ["9.6", "15"] {
            let bin = empty.join(version).join("bin");
            fs::create_dir_all(&bin).expect("a folder");
            for name in NEEDED {
                fs::copy("/bin/true", bin.join(name)).expect("a program");
            }
        }
        let found = find_in(&[empty.path().to_owned()]).expect("all programs");
        assert_eq!(found.path("postgres"), Some(empty.join("15/bin/postgres")));
    }

    #[test]
    fn a_server_that_is_too_old_or_cannot_be_started_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let place = Scratch::new().expect("a directory");
        let bin = place.join("9.6").join("bin");
        fs::create_dir_all(&bin).expect("a folder");
        for name in NEEDED {
            fs::write(
                bin.join(name),
                "#!/bin/sh\necho 'postgres (PostgreSQL) 9.6.24'\n",
            )
            .expect("a program");
        }
        let programs = find_in(&[place.path().to_owned()]).expect("all programs");
        let mode = |mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(bin.join("postgres"), permissions).expect("permissions");
        };
        mode(0o644);
        let error = check_version(&programs).expect_err("nobody may execute it");
        let text = error.to_string();
        assert!(
            text.contains("postgres: cannot be started: Permission denied"),
            "{text}"
        );
        mode(0o755);
        let error = check_version(&programs).expect_err("too old");
        let text = error.to_string();
        assert!(
            text.contains("9.6.24: this version is not supported; PostgreSQL 10"),
            "{text}"
        );
        for (text, expected) in [
            (
                "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)",
                Some(15),
            ),
            ("postgres (PostgreSQL) 18beta1", Some(18)),
            ("true (GNU coreutils) 9.1", None),
        ] {
            assert_eq!(major_version(text), expected, "{text}");
        }
    }

    /// The lines are examples of the documentation of pgbench.
    #[test]
    fn lines_of_pgbench_are_parsed() {
        let mut log = Log {
            record: Recorder::new(1_000_000_000, None),
            first_ns: None,
            last_ns: 0,
        };
        let spec = AppSpec::default();
        let start = 1_175_850_568_000_000_000;
        for line in [
            "0 199 2241 0 1175850568 995598",
            "0 200 2465 0 1175850568 998079",
            "0 201 skipped 0 1175850569 608",
            "3 0 failed 0 1499414498 84905 9",
            "",
        ] {
            log.add(line, &spec, start);
        }
        assert_eq!(log.first_ns, Some(995_598_000 - 2_241_000));
        assert_eq!(log.last_ns, 998_079_000);
        assert_eq!((log.record.skipped, log.record.failed), (1, 1));
        let mut measured = Measured {
            elapsed_ns: 1_000_000_000,
            ..Measured::default()
        };
        measured.add_records(vec![log.record]);
        assert_eq!(measured.transactions, 2);
        assert_eq!(measured.latency().sum(), 4_706_000);
    }

    #[test]
    fn the_summary_of_pgbench_is_parsed() {
        let text = "transaction type: <builtin: TPC-B (sort of)>\nnumber of transactions actually processed: 10000/10000\n\
                    number of failed transactions: 0 (0.000%)\nlatency average = 11.013 ms\ninitial connection time = 45.758 ms\n\
                    tps = 896.967014 (without initial connection time)\n";
        let expected = OwnSummary {
            transactions: 10_000,
            tps: 896.967_014,
            latency_ms: 11.013,
        };
        assert_eq!(summary(text), Some(expected));
        assert_eq!(summary("pgbench: error"), None);
    }
}
