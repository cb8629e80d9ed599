//! The public interface of a store: what was saved is read back, in this process and the next.

use std::path::PathBuf;
use std::sync::{Arc, Barrier};

use fathom_model::{Interval, Nanos};
use fathom_store::{
    CellContent, CellState, Experiment, Journal, RunState, Store, StoreError, StoredCell,
    StoredFinding,
};
use fathom_testkit::Scratch;

fn store_path(scratch: &Scratch) -> PathBuf {
    scratch.path().join("directory/that is new/store?.db")
}

fn experiment(name: &str) -> Experiment {
    Experiment {
        kind: "sweep".into(),
        name: name.into(),
        command: vec![
            "fathom".into(),
            "sweep".into(),
            "--bs=4k,8k".into(),
            "größe\n".into(),
        ],
        plan: "[a]\nrw=read\n".into(),
        facts: vec![
            ("kernel".into(), "6.1".into()),
            ("device".into(), "QEMU".into()),
        ],
        planned: 2,
        owner: "host 17".into(),
        created_unix_ns: 1_700_000_000_123_456_789,
        labels: vec![
            ("host".into(), "größe".into()),
            ("project".into(), "apollo".into()),
        ],
    }
}

fn cell(position: u64) -> StoredCell {
    let finding = StoredFinding {
        code: "SHORT_IO".into(),
        weight: "invalidates".into(),
        about: "a".into(),
        evidence: "3 of 7".into(),
    };
    StoredCell {
        position,
        axes: vec![("iodepth".into(), "32".into()), ("bs".into(), "4k".into())],
        plan: "[a]\nbs=4k\n".into(),
        state: CellState::Finished,
        started_unix_ns: 5,
        elapsed_ns: 6,
        verdict: "valid".into(),
        figures: vec![
            ("iops".into(), 95_012.5),
            ("bandwidth".into(), f64::INFINITY),
        ],
        findings: vec![
            finding.clone(),
            StoredFinding {
                code: "OTHER".into(),
                ..finding
            },
        ],
        notes: vec!["größe".into(), String::new()],
    }
}

fn imported(text: &str) -> CellContent {
    CellContent::Imported {
        format: "fio json".into(),
        bytes: text.as_bytes().to_vec(),
    }
}

fn bytes(content: CellContent) -> Vec<u8> {
    match content {
        CellContent::Imported { bytes, .. } => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn saved_runs_are_read_by_the_next_process() {
    let scratch = Scratch::new().expect("a scratch directory");
    let id = {
        let mut store = Store::open(&store_path(&scratch)).expect("a new store");
        let id = store.begin(&experiment("one")).expect("it is saved");
        store
            .save_cell(id, &cell(1), &CellContent::Nothing)
            .expect("it is saved");
        store
            .save_cell(id, &cell(2), &imported("{}"))
            .expect("it is saved");
        id
    };
    let mut store = Store::open_existing(&store_path(&scratch)).expect("it exists");
    let run = store.run("latest").expect("the run exists");
    assert_eq!(
        (
            run.id,
            run.state,
            run.cells,
            run.finished,
            run.ended_unix_ns
        ),
        (id, RunState::Running, 2, 2, None)
    );
    assert_eq!(run.experiment, experiment("one"));
    assert_eq!(store.cells(id).expect("readable"), [cell(1), cell(2)]);
    assert!(matches!(store.content(id, 1), Ok(CellContent::Nothing)));
    assert_eq!(bytes(store.content(id, 2).expect("readable")), b"{}");
    assert_eq!(store.unfinished().expect("readable").len(), 1);
    store
        .finish(id, RunState::Finished, 9)
        .expect("it is saved");
    assert!(store.unfinished().expect("readable").is_empty());
    assert_eq!(
        store.run("1").expect("the run exists").ended_unix_ns,
        Some(9)
    );
}

#[test]
fn saving_a_cell_again_replaces_all_of_it() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut store = Store::open(&store_path(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("it is saved");
    store
        .save_cell(id, &cell(1), &imported("first"))
        .expect("it is saved");
    let second = StoredCell {
        state: CellState::Interrupted,
        figures: vec![],
        ..cell(1)
    };
    store
        .save_cell(id, &second, &imported("second"))
        .expect("it is saved");
    assert_eq!(store.cells(id).expect("readable"), [second]);
    assert_eq!(bytes(store.content(id, 1).expect("readable")), b"second");
    let run = store.run("r1").expect("the run exists");
    assert_eq!((run.cells, run.finished), (1, 0));
}

#[test]
fn removing_a_run_removes_its_cells_and_its_name_is_not_reused() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut store = Store::open(&store_path(&scratch)).expect("a new store");
    let first = store.begin(&experiment("one")).expect("it is saved");
    store
        .save_cell(first, &cell(1), &imported("{}"))
        .expect("it is saved");
    store.remove(first).expect("the run exists");
    assert_eq!(store.cells(first).expect("readable"), []);
    assert!(matches!(store.content(first, 1), Ok(CellContent::Nothing)));
    let second = store.begin(&experiment("two")).expect("it is saved");
    assert_eq!(
        (first.to_string(), second.to_string()),
        ("r1".to_owned(), "r2".to_owned())
    );
    assert!(matches!(
        store.remove(first),
        Err(StoreError::UnknownRun { .. })
    ));
    assert!(
        store
            .save_cell(first, &cell(1), &CellContent::Nothing)
            .is_err(),
        "a cell belongs to a run"
    );
}

#[test]
fn a_journal_is_readable_until_its_cell_is_saved() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut store = Store::open(&store_path(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("it is saved");
    assert!(
        Journal::open(&store_path(&scratch), id, 1)
            .and_then(|mut journal| journal.add(&[(0, vec![interval(0)])]))
            .is_err(),
        "the cell does not exist"
    );
    store
        .save_cell(
            id,
            &StoredCell {
                state: CellState::Running,
                ..cell(1)
            },
            &CellContent::Nothing,
        )
        .expect("it is saved");
    let mut journal = Journal::open(&store_path(&scratch), id, 1).expect("it exists");
    // The first part of the second interval of the first job arrives before the whole interval.
    for new in [vec![(0, vec![0, 1])], vec![(2, vec![0]), (0, vec![1, 2])]] {
        let intervals = |starts: Vec<u64>| starts.into_iter().map(interval).collect();
        let new: Vec<(usize, Vec<Interval>)> = new
            .into_iter()
            .map(|(job, starts)| (job, intervals(starts)))
            .collect();
        journal.add(&new).expect("it is saved");
    }
    let starts = |store: &mut Store| -> Vec<Vec<u64>> {
        let jobs = store.journal(id, 1).expect("readable");
        jobs.iter()
            .map(|job| job.iter().map(|interval| interval.start.get()).collect())
            .collect()
    };
    assert_eq!(starts(&mut store), [vec![0, 1, 2], vec![], vec![0]]);
    drop(journal);
    store
        .save_cell(id, &cell(1), &CellContent::Nothing)
        .expect("it is saved");
    assert!(starts(&mut store).is_empty());
}

/// Regression 0295: the write-ahead log grew without a limit while a long cell was recorded. It
/// must not grow beyond 64 MiB plus one transaction.
#[test]
fn the_log_of_a_long_cell_is_bounded() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut store = Store::open(&store_path(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("it is saved");
    store
        .save_cell(
            id,
            &StoredCell {
                state: CellState::Running,
                ..cell(1)
            },
            &CellContent::Nothing,
        )
        .expect("it is saved");
    let mut journal = Journal::open(&store_path(&scratch), id, 1).expect("it exists");
    let log = store_path(&scratch).with_extension("db-wal");
    let sizes = (0..450).map(|round| {
        journal
            .add(&[(
                0,
                (0..20_000).map(|n| interval(round * 20_000 + n)).collect(),
            )])
            .expect("it is saved");
        std::fs::metadata(&log).expect("a log").len()
    });
    let largest = sizes.max().expect("at least one size");
    let store_size = std::fs::metadata(store_path(&scratch))
        .expect("a store")
        .len();
    assert!(
        store_size > 128 << 20 && largest < 72 << 20,
        "{largest} bytes of log beside {store_size} of store"
    );
}

fn interval(start: u64) -> Interval {
    Interval {
        start: Nanos::new(start),
        ..Interval::default()
    }
}

#[test]
fn unknown_and_invalid_run_names_are_reported() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut store = Store::open(&store_path(&scratch)).expect("a new store");
    for name in ["latest", "r1", "1", "x", "", "r1; DROP TABLE run"] {
        assert!(
            matches!(store.run(name), Err(StoreError::UnknownRun { .. })),
            "{name}"
        );
    }
}

#[test]
fn many_figures_and_findings_keep_their_order() {
    let scratch = Scratch::new().expect("a scratch directory");
    let mut store = Store::open(&store_path(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("it is saved");
    let figures: Vec<(String, f64)> = (0..1201).map(|n| (format!("f{n}"), f64::from(n))).collect();
    let findings = (0..601).map(|n| StoredFinding {
        code: format!("C{n}"),
        weight: "note".into(),
        about: String::new(),
        evidence: "x".into(),
    });
    let many = StoredCell {
        figures,
        findings: findings.collect(),
        ..cell(1)
    };
    store
        .save_cell(id, &many, &CellContent::Nothing)
        .expect("it is saved");
    assert_eq!(store.cells(id).expect("readable"), [many]);
}

/// Regression 1485: SQLite refuses at once, without its busy timeout, to change a new file to a log ahead of it while another
/// connection does the same. One of several processes that opened a new store together failed with "locked".
#[test]
fn processes_that_open_a_new_store_at_once_wait_for_each_other() {
    let scratch = Scratch::new().expect("a scratch directory");
    for store in 0..50 {
        let path = scratch.path().join(format!("{store}.fathom"));
        let start = Arc::new(Barrier::new(4));
        let open = || {
            let (path, start) = (path.clone(), start.clone());
            std::thread::spawn(move || {
                start.wait();
                Store::open(&path).map(drop)
            })
        };
        let threads: [_; 4] = std::array::from_fn(|_| open());
        for thread in threads {
            thread.join().expect("no panic").expect("a store");
        }
    }
}

#[test]
fn two_processes_share_a_store() {
    let scratch = Scratch::new().expect("a scratch directory");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = store_path(&scratch);
            std::thread::spawn(move || {
                let mut store = Store::open(&path).expect("a store");
                (0..5)
                    .map(|_| store.begin(&experiment("one")).expect("it is saved"))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let mut ids: Vec<_> = threads
        .into_iter()
        .flat_map(|thread| thread.join().expect("no panic"))
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20, "every run has a name of its own");
    assert_eq!(
        Store::open_existing(&store_path(&scratch))
            .expect("a store")
            .runs()
            .expect("readable")
            .len(),
        20
    );
}
