//! What happens to a store when its server, a connection or a writer fails: nothing acknowledged is lost, nothing is half there, nothing
//! is there twice.
//!
//! `FATHOM_SERVER_KILLS=1000` runs the long form, see `scripts/store-kills`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{TestRng, Writer, assert_nothing_is_lost, body, cell, rounds};
use fathom_store::{CellContent, Experiment, RunId, Store, StoreError};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, PgCluster, PgStop, Scratch, require};

fn open(address: &str) -> Store {
    Store::open(Path::new(address)).expect("the store opens")
}

fn experiment(name: &str) -> Experiment {
    Experiment {
        kind: "test".into(),
        name: name.into(),
        labels: vec![("project".into(), name.into())],
        ..Experiment::default()
    }
}

fn content(n: u64) -> CellContent {
    CellContent::Imported {
        format: "test".into(),
        bytes: body(n),
    }
}

/// Begins runs with one cell each until `stop`; returns those that were acknowledged.
fn write_runs(
    address: &str,
    writer: u64,
    stop: &AtomicBool,
    opened: &AtomicU64,
    count: &AtomicU64,
) -> Vec<RunId> {
    let mut store = open(address);
    opened.fetch_add(1, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for n in 1.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let run = store
            .begin(&experiment(&format!("w{writer}-{n}")))
            .expect("it is saved");
        store
            .save_cell(run, &cell(n), &content(n))
            .expect("it is saved");
        acknowledged.push(run);
        count.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

/// The runs of [`write_runs`] are there, each once and whole, and no others.
fn assert_exact(address: &str, mut acknowledged: Vec<RunId>) {
    let mut store = open(address);
    let runs = store.runs().expect("readable");
    acknowledged.sort();
    let found: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    assert_eq!(found, acknowledged);
    let names: BTreeSet<&str> = runs
        .iter()
        .map(|run| run.experiment.name.as_str())
        .collect();
    assert_eq!(names.len(), runs.len(), "a run is there twice");
    for run in &runs {
        let name = &run.experiment.name;
        assert_eq!(
            run.experiment.labels,
            [("project".to_owned(), name.clone())]
        );
        let n = name
            .split_once('-')
            .and_then(|(_, n)| n.parse().ok())
            .expect("a number");
        assert_eq!(store.cells(run.id).expect("readable"), [cell(n)]);
        let CellContent::Imported { bytes, .. } = store.content(run.id, n).expect("readable")
        else {
            panic!("{name} has no content")
        };
        assert!(bytes == body(n), "{name} has another content");
    }
}

/// Ends the writers, also when a test fails.
struct StopWriters<'a>(&'a AtomicBool);

impl Drop for StopWriters<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writers while `disturb` does what it does; afterwards everything is exact.
fn write_while(
    cluster: &PgCluster,
    database: &str,
    writers: u64,
    least: u64,
    disturb: impl FnOnce(&AtomicU64),
) {
    let address = cluster.database(database);
    drop(open(&address));
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let opened = AtomicU64::new(0);
    let acknowledged = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let (address, stop, opened, count) = (&address, &stop, &opened, &count);
                scope.spawn(move || write_runs(address, writer, stop, opened, count))
            })
            .collect();
        let writing = StopWriters(&stop);
        // A store that cannot be opened is refused at once, so the faults begin afterwards.
        wait_for(&opened, writers);
        disturb(&count);
        // Writers that waited for the server write again.
        wait_for(&count, count.load(Ordering::Relaxed) + least);
        drop(writing);
        let runs = threads
            .into_iter()
            .map(|thread| thread.join().expect("no writer failed"));
        runs.collect::<Vec<_>>().concat()
    });
    assert!(
        acknowledged.len() as u64 >= 2 * least,
        "{} runs",
        acknowledged.len()
    );
    assert_exact(&address, acknowledged);
}

fn wait_for(count: &AtomicU64, least: u64) {
    // A server and sixteen writers on a busy machine: waiting longer than this would be a deadlock.
    for _ in 0..12_000 {
        if count.load(Ordering::Relaxed) >= least {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!(
        "{} runs of {least} after two minutes",
        count.load(Ordering::Relaxed)
    );
}

#[test]
fn sixteen_writers_store_every_run_once() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    write_while(&cluster, "sixteen", 16, 64, |count| wait_for(count, 64));
}

/// Regression 0901: a change that had to wait for its server ended with a panic.
///
/// Regression 0943: after a crash the server gave the number of a lost transaction to another one, and the change counted as saved.
#[test]
fn a_restarted_server_loses_nothing_that_was_acknowledged() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    write_while(&cluster, "restarted", 4, 20, |count| {
        for how in [PgStop::Fast, PgStop::Immediate] {
            wait_for(count, count.load(Ordering::Relaxed) + 20);
            cluster.stop(how).expect("it stops");
            cluster.resume().expect("it starts again");
        }
    });
}

#[test]
fn cut_connections_store_every_run_once() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    write_while(&cluster, "cut", 4, 20, |count| {
        for _ in 0..20 {
            let before = count.load(Ordering::Relaxed);
            let cut = cluster
                .sql("postgres", "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'cut' AND application_name = 'fathom'")
                .expect("it may");
            assert!(cut.parse::<u64>().is_ok(), "{cut}");
            wait_for(count, before + 4);
        }
        let cut = cluster.sql(
            "postgres",
            "SELECT sessions_killed >= 20 FROM pg_stat_database WHERE datname = 'cut'",
        );
        assert_eq!(cut.expect("statistics"), "t", "no connection was cut");
    });
}

#[test]
fn a_deadlock_is_resolved_by_doing_it_again() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    let address = cluster.database("locked");
    let mut store = open(&address);
    // The other session locks the table that the store needs second, waits until the store waits for it, and then wants the row that the
    // store has. It never looks for deadlocks itself, so the server ends the transaction of the store.
    let other = cluster
        .psql("locked")
        .args(["-c", "SET deadlock_timeout = '600s'", "-c"])
        .arg("BEGIN; LOCK TABLE run IN EXCLUSIVE MODE; DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'run'::regclass) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$; UPDATE fathom SET next_run = next_run + 100; COMMIT")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let locked = "SELECT COUNT(*) FROM pg_locks WHERE granted AND relation = 'run'::regclass AND mode = 'ExclusiveLock'";
    while cluster.sql("locked", locked).expect("readable") == "0" {
        std::thread::sleep(Duration::from_millis(10));
    }
    let run = store.begin(&experiment("again")).expect("it is saved");
    let other = other.wait_with_output().expect("psql ends");
    assert!(
        other.status.success(),
        "{}",
        String::from_utf8_lossy(&other.stderr)
    );
    // Only what came after the other transaction has its number.
    assert_eq!(run.get(), 101);
    assert_eq!(store.runs().expect("readable").len(), 1);
}

/// The tables lie on a file system of 40 MiB; the log of the server does not.
#[test]
fn a_full_disk_is_reported_and_loses_nothing() {
    require!(Root, Loop, Postgres);
    let scratch = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&scratch.join("image"), 40 << 20, LoopOptions::default())
        .expect("a loop device");
    let mount = Mount::format(device.path(), FsKind::Ext4, "").expect("a file system");
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    let ballast = mount.join("ballast");
    std::fs::write(&ballast, vec![1; 4 << 20]).expect("there is room");
    let space = mount.join("space");
    std::fs::create_dir(&space).expect("a directory");
    std::os::unix::fs::chown(&space, Some(65534), Some(65534)).expect("an owner");
    let tablespace = format!("CREATE TABLESPACE small LOCATION '{}'", space.display());
    cluster.sql("postgres", &tablespace).expect("a table space");
    cluster
        .sql("postgres", "CREATE DATABASE small TABLESPACE small")
        .expect("a database");
    let address = cluster.socket_address("owner", "small");
    let mut store = open(&address);
    let run = store.begin(&experiment("full")).expect("it is saved");
    let mut rng = TestRng(1);
    let mut large = |n: u64| CellContent::Imported {
        format: "test".into(),
        // Random, so that the server cannot compress it.
        bytes: (0..1 << 17)
            .flat_map(|_| (rng.below(u64::MAX) ^ n).to_le_bytes())
            .collect(),
    };
    let mut saved = 0;
    let error = loop {
        match store.save_cell(run, &cell(saved + 1), &large(saved + 1)) {
            Ok(()) => saved += 1,
            Err(error) => break error,
        }
        assert!(saved < 100, "the disk of 40 MiB has room for {saved} MiB");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(saved > 0, "nothing was saved before");
    let cells = store.cells(run).expect("readable");
    assert_eq!(cells.len() as u64, saved);
    for n in 1..=saved {
        assert!(
            matches!(store.content(run, n), Ok(CellContent::Imported { bytes, .. }) if bytes.len() == 1 << 20)
        );
    }
    // With space on the disk it takes more.
    std::fs::remove_file(&ballast).expect("it is there");
    store
        .save_cell(run, &cell(saved + 1), &content(1))
        .expect("it is saved");
    drop((store, cluster));
    mount.unmount().expect("nothing uses it");
}

#[test]
fn a_killed_writer_loses_no_acknowledged_cell_on_a_server() {
    require!(Postgres);
    let cluster = PgCluster::start().expect("PostgreSQL starts");
    let mut rng = TestRng(std::process::id().into());
    let mut acknowledged = 0;
    let old = cluster.database("old_store");
    for round in 0..rounds("FATHOM_SERVER_KILLS", 20) {
        // Every tenth round a new store, whose writer is killed while it is created.
        let address = if round % 10 == 0 {
            cluster.database(&format!("new_{round}"))
        } else {
            old.clone()
        };
        let mut writer = Writer::start(Path::new(&address));
        if round % 2 == 1 {
            writer.wait_for(1);
        }
        std::thread::sleep(Duration::from_micros(rng.below(60_000)));
        let (run, cells) = writer.kill();
        assert_nothing_is_lost(Path::new(&address), run, cells);
        acknowledged += cells;
        if round % 10 == 0 {
            cluster
                .sql(
                    "postgres",
                    &format!("DROP DATABASE new_{round} WITH (FORCE)"),
                )
                .expect("it is removed");
        }
    }
    assert!(
        acknowledged > 0,
        "no cell was acknowledged: nothing was tested"
    );
}
