//! `fathom app`: real databases, checked against their own counts, and what is left of them after each way to end.

mod support;

use crate::common::{FATHOM, Running, fathom, program, start, wait_until};
use fathom_testkit::{
    DeviceOptions, FaultDevice, FsKind, Latency, LoopDevice, LoopOptions, Mount, Scratch, require,
    skip,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::*;

impl Disk {
    /// What it did in a result: the loop device is above the disk that its file is on.
    fn used<'a>(&self, app: &'a Value) -> &'a Value {
        let devices = app["devices"].as_array().expect("devices");
        let name = self.name();
        devices
            .iter()
            .find(|one| one["name"] == name.as_str())
            .unwrap_or_else(|| panic!("no {name} in {devices:?}"))
    }
}

/// The table of the history has one row for each transaction, and SQLite counts it. The sum of all intervals, of the histogram
/// and the rate are the same number.
#[test]
fn sqlite_counts_as_many_transactions_as_its_tables() {
    let place = place();
    let store = place.join("store");
    let mut limits = Vec::new();
    for journal in ["wal-full", "wal-normal", "rollback"] {
        let line = format!(
            "PATH --scale=1 --clients=2 --tps=200 --runtime=1s --warmup=0s --journal={journal} --json --store={}",
            store.display()
        );
        let done = app(&line, place.path()).expect(0);
        let result = json(&done);
        let app = &result["app"];
        let transactions = number(&app["transactions"]);
        assert!(transactions >= 1.0, "{app}");
        assert_eq!(
            number(&app["counters"]["history_rows"]),
            transactions,
            "{journal}"
        );
        let seconds = number(&app["elapsed_ns"]) / 1e9;
        assert!((number(&app["tps"]) * seconds / transactions - 1.0).abs() < 1e-6);
        assert_eq!(app["journal"], journal);
        let job = &result["jobs"][0];
        assert_eq!(number(&job["write"]["total_ios"]), transactions);
        assert_eq!(number(&job["write"]["clat_ns"]["N"]), transactions);
        // Each transaction has a latency between nothing and the whole run.
        let max = number(&app["latency_ns"]["max"]);
        assert!(max > 0.0 && max <= 1.1 * seconds * 1e9, "{app}");
        let limit = app["limit"]["sentence"].as_str().expect("a sentence");
        limits.push(limit.to_owned());
    }
    assert_eq!(
        names(place.path())
            .iter()
            .filter(|name| name.contains("fathom-"))
            .count(),
        0,
        "the databases are removed"
    );
    let store = format!("--store={}", store.display());
    let shown = fathom(["show", "r1", &store]).expect(0).out;
    let words: Vec<&str> = shown.split_whitespace().collect();
    let shown = words.join(" ");
    for text in [
        "SQLite 3.",
        "transactions per second",
        &limits[0],
        "Latency: mean",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let compared = fathom(["compare", "r1", "r2", &store]);
    assert_eq!(compared.code(), 0, "{}{}", compared.out, compared.err);
}

/// A commit with synchronous=FULL is synced before it returns, so two clients cannot commit more often than the device flushes
/// or writes; with NORMAL the log is synced at checkpoints only, every 1000 pages.
#[test]
fn synchronous_commits_write_and_those_that_may_be_lost_do_not_sync() {
    require!(Loop);
    let disk = disk(256, "");
    let writes = |journal: &str| {
        let line = format!(
            "PATH --scale=1 --clients=1 --runtime=2s --warmup=0s --journal={journal} --json --no-store"
        );
        let result = json(&app(&line, disk.path()).expect(0));
        number(&disk.used(&result["app"])["writes"]) / number(&result["app"]["transactions"])
    };
    let (full, normal) = (writes("wal-full"), writes("wal-normal"));
    assert!(
        full >= 1.0,
        "each commit is written before it returns: {full}"
    );
    assert!(
        normal < full / 2.0,
        "most commits stay in memory: {normal} and {full}"
    );
}

/// Regression 1420: SQLite was built without HAVE_FDATASYNC and called fsync(2), so that each commit also wrote the journal of the file
/// system and flushed the device twice. fdatasync(2) of a log that does not grow flushes it once. See fdatasync(2): the time of the last
/// change is not needed to read the data. A checkpoint, every 1000 pages, adds a few, and so does the log until the first one.
#[test]
fn a_commit_of_sqlite_flushes_the_device_once() {
    require!(Loop);
    let disk = disk(256, "");
    let line = "PATH --scale=1 --clients=1 --runtime=2s --warmup=4s --json --no-store";
    let result = json(&app(line, disk.path()).expect(0));
    let used = disk.used(&result["app"]);
    let flushes = number(&used["flushes"]) / number(&result["app"]["transactions"]);
    assert!((0.9..1.5).contains(&flushes), "{flushes}: {used}");
}

/// What a device did by /proc/diskstats: reads, bytes read, writes, bytes written.
fn disk_counters(name: &str) -> [f64; 4] {
    let text = fs::read_to_string("/proc/diskstats").expect("counters");
    let line = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields.get(2) == Some(&name))
        .expect("the device");
    let field = |place: usize| line[place].parse::<f64>().expect("a number");
    [field(3), field(5) * 512.0, field(7), field(9) * 512.0]
}

/// The kernel counts the requests of the loop device; the streams come from its tracepoints and the names of the files. A commit of
/// the write-ahead log writes a frame of 24 bytes and a page of 4 KiB for each changed page: at least the row of the account, and
/// those of branch, teller and history; several clients write the same pages again. ext4 does not
/// fill its tables of inodes meanwhile: the kernel counts writes of zeros without data as writes.
#[test]
fn streams_sum_to_the_counters_of_the_device() {
    require!(Loop);
    if fathom_trace::Tracefs::open().is_err() {
        return skip("needs tracefs");
    }
    let disk = disk(256, "noinit_itable");
    let name = disk.name();
    let mut engines = vec![("sqlite", "--journal=wal-full", "log", 4.0 * 4120.0)];
    if postgres().is_some() {
        // The log of PostgreSQL is written in pages of 8 KiB; commits of several clients may share one.
        engines.push(("postgres", "", "log", 8192.0 / 2.0));
    }
    for (engine, option, kind, least) in engines {
        let line = format!(
            "{engine} PATH --scale=1 --clients=2 --tps=200 --runtime=2s --warmup=0s {option} --json --no-store"
        );
        let before = disk_counters(&name);
        let result = json(&app(&line, disk.path()).expect(0));
        let after = disk_counters(&name);
        let app = &result["app"];
        let used = &app["streams"][0];
        assert_eq!(used["device"], name.as_str(), "{}", app["unknown"]);
        let streams = used["streams"].as_array().expect("streams");
        let sum = |field: &str| {
            let all: f64 = streams.iter().map(|one| number(&one[field])).sum();
            // The kernel counts a flush without data as a write.
            let flushes = number(&used["flush_requests"]);
            all + if field == "writes" { flushes } else { 0.0 }
        };
        let counted = disk.used(app);
        for (place, field) in ["reads", "read_bytes", "writes", "written_bytes"]
            .iter()
            .enumerate()
        {
            let kernel = number(&counted[*field]);
            assert!(kernel <= after[place] - before[place], "{field}: {kernel}");
            // Two requests more where one is under way at an end of the measured time.
            let unit = if place % 2 == 0 {
                2.0
            } else {
                2.0 * 512.0 * 1024.0
            };
            let slack = (kernel * 0.01).max(if kernel < 200.0 * unit { unit } else { 0.0 });
            assert!(
                (sum(field) - kernel).abs() <= slack,
                "{engine} {field}: {} by stream, {kernel} by the kernel: {streams:?}",
                sum(field)
            );
        }
        let log = streams
            .iter()
            .find(|one| one["kind"] == kind)
            .expect("a log");
        let written = number(&log["written_bytes"]);
        assert!(
            written >= least * number(&app["transactions"]),
            "{engine}: {written} bytes, {}",
            app["transactions"]
        );
    }
}

/// The device takes 10 ms for a flush, and a durable commit of one client waits for at least one: at most 100 per second, and the
/// commits are the limit. Without a flush there is no such limit.
#[test]
fn the_flush_of_a_slow_device_is_the_limit() {
    require!(Fuse, Loop);
    let slow = FaultDevice::mount(DeviceOptions {
        size: 128 << 20,
        latency: Latency {
            sync_us: 10_000,
            ..Latency::default()
        },
        ..DeviceOptions::default()
    })
    .expect("a fault device");
    let device = LoopDevice::attach(&slow.path(), LoopOptions::default()).expect("a loop device");
    let mounted = Mount::format(device.path(), FsKind::Ext4, "").expect("a file system");
    let line = "PATH --scale=1 --clients=1 --runtime=3s --warmup=0s --json --no-store";
    let done = app(line, mounted.path()).expect(0);
    let result = json(&done);
    let app = &result["app"];
    assert!(number(&app["tps"]) <= 100.0, "{app}");
    assert!(number(&app["latency_ns"]["p50"]) >= 9e6, "{app}");
    assert!(number(&app["commits_per_second"]) <= 100.0, "{app}");
    assert_eq!(app["limit"]["kind"], "log", "{app}");
}

#[test]
fn a_rate_is_kept_and_named_as_the_limit() {
    let place = place();
    let line = "PATH --scale=1 --clients=4 --runtime=2s --warmup=0s --tps=50 --transaction=select-only --json --no-store";
    let result = json(&app(line, place.path()).expect(0));
    // 100 arrivals of a Poisson process: a deviation of 10, of which seven are allowed.
    let transactions = number(&result["app"]["transactions"]);
    assert!((1.0..=170.0).contains(&transactions), "{transactions}");
    assert!(number(&result["app"]["lag_ns"]["max"]) > 0.0);
}

/// A rate that no engine reaches: transactions start ever later, and their latency begins when they were due.
#[test]
fn a_late_transaction_is_as_slow_as_it_is_late() {
    let place = place();
    let line = "PATH --scale=1 --clients=2 --runtime=1s --warmup=0s --tps=1000000 --transaction=select-only --json --no-store";
    let result = json(&app(line, place.path()).expect(0));
    let mean = |name: &str| number(&result["app"][name]["mean"]);
    let (latency, lag) = (mean("latency_ns"), mean("lag_ns"));
    assert!(
        lag > 0.0 && latency >= lag,
        "{latency} ns long, {lag} ns late"
    );
}

/// A file that is there when transactions of SQLite may run.
const READY: &str = "database.sqlite-shm";

/// A load that has written to its database.
fn running_load(place: &Scratch) -> Running {
    let line = "PATH --scale=1 --tps=50 --runtime=100s --warmup=0s --no-store";
    let running = start(program(arguments(line, place.path())));
    let private = || {
        names(place.path())
            .into_iter()
            .find(|name| name.starts_with("fathom-app-"))
    };
    running.wait_until(READY, || {
        private().is_some_and(|name| place.join(name).join(READY).exists())
    })
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let place = place();
    let running = running_load(&place);
    running.signal(Signal::INT);
    let done = running.finish();
    assert_eq!(done.code(), 130, "{}{}", done.out, done.err);
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn two_runs_share_a_path() {
    check_two_runs_share_a_path("sqlite", "database.sqlite-shm");
    if postgres().is_some() {
        check_two_runs_share_a_path("postgres", "pg/.s.PGSQL.5432");
    }
}

#[test]
fn a_server_needs_no_port() {
    if postgres().is_none() {
        return skip("PostgreSQL is not installed");
    }
    check_that_no_port_is_needed("postgres", 5432);
}

/// The process of the load notices that fathom was killed.
#[test]
fn a_killed_run_leaves_nothing() {
    let place = place();
    let running = running_load(&place);
    running.signal(Signal::KILL);
    wait_until("the end of the load", || names(place.path()).is_empty());
    drop(running.finish());
    assert_eq!(processes_of(place.path()), Vec::<u32>::new());
    // Killed together with its children, it leaves the folder to the next run.
    let left = place.join(format!("fathom-app-{}-4194304-1", {
        let link = fs::read_link("/proc/self/ns/pid").expect("a namespace");
        let link = link.to_string_lossy().into_owned();
        link.split(['[', ']']).nth(1).expect("a number").to_owned()
    }));
    fs::create_dir(&left).expect("a folder");
    let next = app(
        "PATH --scale=1 --tps=50 --runtime=1s --warmup=0s --no-store",
        place.path(),
    )
    .expect(0);
    assert!(
        next.err.contains("the database of a run that was killed"),
        "{}",
        next.err
    );
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn wrong_paths_and_options_are_refused() {
    let place = place();
    for (line, expected) in [
        ("PATH/none", "none: cannot be used: No such file"),
        (
            "sqlite PATH --script=x.sql",
            "--script is a script of pgbench",
        ),
        ("PATH --runtime=10ms", "too short for transactions"),
        (
            "oracle PATH",
            "oracle is not an engine: sqlite, postgres, mariadb",
        ),
        (
            "mariadb",
            "the directory is missing, as in `fathom app mariadb PATH`",
        ),
        ("PATH --latency-limit=5ms", "--tps"),
        ("PATH --setting=cache_size", "not NAME=VALUE"),
        (
            "PATH --setting=a=1 --setting=a=2",
            "in one list, as in --setting=a=1,2",
        ),
        (
            "PATH --clients=1,2 --repeats=100 --memory=1%,2%,3%,4%,5%,6%",
            "more than 1000 steps",
        ),
        ("PATH --transaction=oltp_read_only", "those of mariadb"),
        (
            "mariadb PATH --transaction=select-only",
            "those of sqlite and postgres",
        ),
        ("PATH --distribution=pareto", "fathom app mariadb PATH"),
        (
            "mariadb PATH --tps=10 --latency-limit=5ms",
            "sysbench skips no transactions",
        ),
    ] {
        let done = app(line, place.path());
        assert_eq!(done.code(), 2, "{line}: {}{}", done.out, done.err);
        assert!(done.err.contains(expected), "{line}: {}", done.err);
    }
    assert_eq!(names(place.path()), Vec::<String>::new());
}

/// Regression 1430: `fathom app sqlite --runtime=1s DIR` was refused, for the directory had to follow the engine.
#[test]
fn r1430_options_may_stand_before_the_directory() {
    let place = place();
    for (line, engine) in [
        (
            "sqlite --scale=1 --tps=50 --runtime=1s PATH --warmup=0s --json --no-store",
            "sqlite",
        ),
        (
            "--scale=1 sqlite --tps=50 --runtime=1s --warmup=0s PATH --json --no-store",
            "sqlite",
        ),
        (
            "--scale=1 --tps=50 --runtime=1s --warmup=0s --json --no-store PATH",
            "sqlite",
        ),
    ] {
        let result = json(&app(line, place.path()).expect(0));
        assert_eq!(result["app"]["engine"], engine, "{line}");
    }
}

#[test]
fn a_path_in_memory_is_named() {
    let shared = Path::new("/dev/shm");
    let Ok(place) = Scratch::below(shared) else {
        return skip("/dev/shm cannot be written");
    };
    let line = "PATH --scale=1 --runtime=1s --warmup=0s --json --no-store";
    let result = json(&app(line, place.path()));
    let notes = result["app"]["notes"].to_string();
    assert!(notes.contains("is in memory (tmpfs)"), "{notes}");
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    require!(Loop);
    let disk = disk(48, "");
    // At least 100 MB of data.
    let done = app("PATH --scale=10 --runtime=1s --no-store", disk.path());
    assert_eq!(done.code(), 2, "{}{}", done.out, done.err);
    assert!(
        done.err.contains("no room for the database"),
        "{}",
        done.err
    );
    assert_eq!(disk.left(), Vec::<String>::new());
}

/// The disk is filled while transactions run: the log of SQLite cannot grow.
#[test]
fn a_disk_that_fills_midway_is_an_error_that_says_so() {
    require!(Loop);
    let disk = disk(512, "");
    let line = "PATH --journal=rollback --scale=1 --clients=2 --runtime=60s --warmup=0s --no-store";
    let running = start(program(arguments(line, disk.path())));
    let private = || {
        let all = names(disk.path());
        all.into_iter().find(|name| name.starts_with("fathom-app-"))
    };
    let running = running.wait_until("a transaction", || {
        private().is_some_and(|name| {
            let folder = disk.path().join(name);
            folder.join("marks").exists() && folder.join("database.sqlite-journal").exists()
        })
    });
    let filled = disk.path().join("filled");
    let mut file = fs::File::create(&filled).expect("a file");
    let block = vec![0; 1 << 16];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    drop(file);
    let done = running.finish();
    assert!([1, 2].contains(&done.code()), "{}{}", done.out, done.err);
    let text = format!("{}{}", done.out, done.err);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("no room for the database"), "{text}");
    assert_eq!(disk.left(), ["filled"]);
}

/// A query reads one page of the table at random: where memory holds the share s of the pages, it misses with the probability 1 - s.
/// Of 100 MB of data, 12 % and the memory for the programs, part of which holds data, leave 0.6 to 0.9.
#[test]
fn memory_can_be_limited() {
    require!(Root);
    let place = place();
    let line = "PATH --scale=10 --clients=1 --runtime=1s --warmup=0s --transaction=select-only --memory=200%,12% --json --no-store";
    let done = app(line, place.path());
    if done.err.contains("cannot limit the memory") {
        return skip("no group with the memory controller can be created here");
    }
    let result = json(&done.expect(0));
    let rows = result["memory"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    let data = number(&result["memory"]["data_bytes"]);
    for (row, share) in rows.iter().zip([2.0, 0.12]) {
        assert!(
            (number(&row["limit_bytes"]) / data - share).abs() < 0.01,
            "{row}"
        );
    }
    let misses: Vec<f64> = result["app"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| number(&run["io"]["read_bytes"]) / 4096.0 / number(&run["transactions"]))
        .collect();
    assert!(misses[0] < 0.2, "all of it is in memory: {misses:?}");
    assert!((0.5..=1.1).contains(&misses[1]), "{misses:?}");
}

/// Whether PostgreSQL can be run here.
fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .find(|bin| bin.join("initdb").exists() && bin.join("pgbench").exists())
}

/// pgbench prints its own summary of the same transactions, and the server counts its commits.
#[test]
fn pgbench_and_the_server_count_the_same_transactions() {
    if postgres().is_none() {
        return skip("PostgreSQL is not installed");
    }
    let place = place();
    let line = "postgres PATH --scale=1 --clients=2 --runtime=2s --warmup=0s --json --no-store";
    let done = app(line, place.path()).expect(0);
    let result = json(&done);
    let app = &result["app"];
    let transactions = number(&app["transactions"]);
    assert_eq!(
        number(&app["summary"]["transactions"]),
        transactions,
        "{app}"
    );
    let close = |ours: f64, theirs: f64, share: f64| (ours / theirs - 1.0).abs() <= share;
    // pgbench leaves out connecting, and fathom what follows the last transaction.
    let tps = number(&app["tps"]);
    assert!(close(tps, number(&app["summary"]["tps"]), 0.1), "{app}");
    let mean = number(&app["latency_ns"]["mean"]) / 1e6;
    assert!(
        close(mean, number(&app["summary"]["latency_ms"]), 0.1),
        "{app}"
    );
    let commits = number(&app["counters"]["pg_stat_database.xact_commit"]);
    assert!(
        commits >= transactions && commits <= transactions + 50.0,
        "{commits} {transactions}"
    );
    assert_eq!(names(place.path()), Vec::<String>::new());
    assert_eq!(processes_of(place.path()), Vec::<u32>::new());
}

#[test]
fn a_killed_server_is_an_error_with_its_log() {
    if postgres().is_none() {
        return skip("PostgreSQL is not installed");
    }
    let place = place();
    let running = start(program(arguments(
        "postgres PATH --scale=1 --tps=50 --runtime=100s --warmup=0s --json --no-store",
        place.path(),
    )));
    let bench = || {
        processes_of(place.path()).into_iter().find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.trim() == "pgbench")
                && fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line.windows(6).any(|part| part == b"-T\x00100"))
        })
    };
    let running = running.wait_until("pgbench", || bench().is_some());
    let server = processes_of(place.path())
        .into_iter()
        .find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.trim() == "postgres")
        })
        .expect("the server");
    kill(server, Signal::KILL);
    let done = running.finish();
    assert_eq!(done.code(), 1, "{}{}", done.out, done.err);
    let error = json(&done)["app"]["error"].to_string();
    assert!(
        error.contains("postgres failed") || error.contains("pgbench failed"),
        "{error}"
    );
    wait_until("the end of the server", || {
        processes_of(place.path()).is_empty()
    });
    assert_eq!(names(place.path()), Vec::<String>::new());
}

#[test]
fn a_killed_run_leaves_no_server() {
    if postgres().is_none() {
        return skip("PostgreSQL is not installed");
    }
    let (place, log) = (place(), place());
    let line = format!(
        "postgres PATH --log-path={} --scale=1 --tps=50 --runtime=100s --warmup=0s --no-store",
        log.path().display()
    );
    let running = start(program(arguments(&line, place.path())));
    let running = running.wait_until("the server", || {
        processes_of(place.path()).iter().any(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.trim() == "postgres")
        })
    });
    assert_eq!(names(log.path()).len(), 1, "the folder of the log");
    running.signal(Signal::KILL);
    wait_until("the end of all", || {
        processes_of(place.path()).is_empty()
            && names(place.path()).is_empty()
            && names(log.path()).is_empty()
    });
    drop(running.finish());
}

#[test]
fn a_server_that_does_not_start_is_an_error_with_its_last_lines() {
    if postgres().is_none() {
        return skip("PostgreSQL is not installed");
    }
    check_that_a_failed_start_is_explained("postgres", "shared_buffers");
}

#[test]
fn no_root_is_needed() {
    require!(Root);
    let place = place();
    std::os::unix::fs::chown(place.path(), Some(65534), Some(65534)).expect("an owner");
    let copy = place.join("program");
    fs::copy(FATHOM, &copy).expect("a copy");
    let data = place.join("data");
    fs::create_dir(&data).expect("a directory");
    std::os::unix::fs::chown(&data, Some(65534), Some(65534)).expect("an owner");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(arguments(
            "PATH --scale=1 --tps=50 --runtime=1s --warmup=0s --json --no-store",
            &data,
        ))
        .env("FATHOM_STORE", "none")
        .env("HOME", place.path());
    let done = start(command).finish().expect(0);
    assert!(number(&json(&done)["app"]["transactions"]) >= 1.0);
    assert_eq!(names(&data), Vec::<String>::new());
}

/// Lists of clients and repeats become cells of one stored run, which the commands for results read.
#[test]
fn steps_are_cells_of_one_stored_run() {
    let place = place();
    let store = format!("--store={}", place.join("store").display());
    let run = || {
        let line = format!(
            "PATH --scale=1 --clients=1,2 --repeats=2 --setting=cache_size=500 --runtime=1s --warmup=0s --json {store}"
        );
        json(&app(&line, place.path()).expect(0))
    };
    let result = run();
    let rows = result["steps"]["rows"].as_array().expect("rows");
    let axes: Vec<String> = rows.iter().map(|row| row["axes"].to_string()).collect();
    let expected = [("1", "1"), ("2", "1"), ("1", "2"), ("2", "2")];
    let expected = expected
        .map(|(clients, repeat)| format!(r#"[["clients","{clients}"],["repeat","{repeat}"]]"#));
    assert_eq!(axes, expected);
    for (part, clients) in result["app"]
        .as_array()
        .expect("runs")
        .iter()
        .zip([1, 2, 1, 2])
    {
        assert_eq!(part["clients"], clients);
        assert_eq!(part["settings"]["cache_size"], "500");
    }
    let sentence = result["sentences"][0].as_str().expect("a sentence");
    assert!(sentence.contains("within 5 % of the most"), "{sentence}");
    let shown = fathom(["show", "r1", &store]).expect(0);
    // The table has the figures of each cell in the same columns.
    let rates = rows.iter().map(|row| number(&row["tps"]).round() as u64);
    for (line, rate) in shown
        .out
        .lines()
        .filter(|line| line.starts_with("r1."))
        .zip(rates)
    {
        let digits: String = line.chars().filter(|c| *c != ',').collect();
        assert!(digits.contains(&format!(" {rate} ")), "{}", shown.out);
    }
    assert!(
        shown.out.contains("clients") && shown.out.contains("Answer:"),
        "{}",
        shown.out
    );
    let listed = fathom(["runs", &store]).expect(0);
    assert!(listed.out.contains("app"), "{}", listed.out);
    run();
    let compared = fathom(["compare", "r1", "r2", &store]).expect(0);
    assert!(compared.out.contains("clients=2"), "{}", compared.out);
    let picture = place.join("steps.svg");
    fathom([
        "plot",
        "r1",
        "--chart=compare",
        &store,
        "-o",
        &picture.display().to_string(),
    ])
    .expect(0);
    let picture = fs::read_to_string(picture).expect("a picture");
    assert!(picture.contains("<svg"));
    // A setting is refused where it is not known what a crash can cost with it, before anything is created.
    let done = app(
        "PATH --scale=1 --setting=no_such_setting=1 --runtime=1s --no-store",
        place.path(),
    );
    assert_eq!(done.code(), 2, "{}{}", done.out, done.err);
    assert!(
        done.err.contains("no_such_setting of SQLite"),
        "{}",
        done.err
    );
}

/// With memory for 6 % of the data, a query for a random row finds its page in memory in at most 6 % of the cases: of ten queries, nine read
/// one. That more memory means fewer reads, the suite of measurements shows.
#[test]
fn a_server_reads_what_its_memory_does_not_hold() {
    require!(Root);
    if postgres().is_none() {
        return skip("PostgreSQL is not installed");
    }
    let place = place();
    let line = "postgres PATH --scale=5 --clients=2 --tps=500 --runtime=1s --warmup=1s --transaction=select-only --memory=100%,6% --json --no-store";
    let done = app(line, place.path());
    if done.err.contains("cannot limit the memory") {
        return skip("no group with the memory controller can be created here");
    }
    let result = json(&done.expect(0));
    let rows = result["memory"]["rows"].as_array().expect("rows");
    let data = number(&result["memory"]["data_bytes"]);
    for (row, share) in rows.iter().zip([1.0, 0.06]) {
        let limit = number(&row["limit_bytes"]);
        assert!((limit / data - share).abs() < 0.01, "{rows:?}");
    }
    assert!(number(&rows[1]["reads_per_transaction"]) >= 0.9, "{rows:?}");
}

#[test]
fn the_log_can_be_on_another_device() {
    require!(Loop);
    let (data, log) = (disk(512, ""), disk(512, ""));
    if postgres().is_some() {
        check_that_the_log_is_on_its_device("postgres", &data, &log);
    }
    let refused = app(
        &format!("PATH --log-path={}", log.path().display()),
        data.path(),
    );
    assert_eq!(refused.code(), 2);
    assert!(
        refused.err.contains("SQLite keeps its log beside"),
        "{}",
        refused.err
    );
}
