//! A store from the outside: what goes in comes out, in this process and the next.

use std::path::PathBuf;

use fathom_model::{Interval, Nanos};
use fathom_store::{
    CellState, Content, Experiment, Journal, RunState, Store, StoreError, StoredCell, StoredFinding,
};
use fathom_testkit::Scratch;

fn place(scratch: &Scratch) -> PathBuf {
    scratch.path().join("folder/that is new/store?.db")
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
    }
}

fn cell(position: u64) -> StoredCell {
    let found = StoredFinding {
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
            found.clone(),
            StoredFinding {
                code: "OTHER".into(),
                ..found
            },
        ],
        notes: vec!["größe".into(), String::new()],
    }
}

fn imported(text: &str) -> Content {
    Content::Imported {
        format: "fio json".into(),
        bytes: text.as_bytes().to_vec(),
    }
}

fn bytes(content: Content) -> Vec<u8> {
    match content {
        Content::Imported { bytes, .. } => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_kept_is_there_for_the_next_process() {
    let scratch = Scratch::new().expect("a disk");
    let id = {
        let mut store = Store::open(&place(&scratch)).expect("a new store");
        let id = store.begin(&experiment("one")).expect("room");
        store
            .save_cell(id, &cell(1), &Content::Nothing)
            .expect("room");
        store
            .save_cell(id, &cell(2), &imported("{}"))
            .expect("room");
        id
    };
    let mut store = Store::open_existing(&place(&scratch)).expect("it is there");
    let run = store.run("latest").expect("there is one");
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
    assert!(matches!(store.content(id, 1), Ok(Content::Nothing)));
    assert_eq!(bytes(store.content(id, 2).expect("readable")), b"{}");
    assert_eq!(store.unfinished().expect("readable").len(), 1);
    store.finish(id, RunState::Finished, 9).expect("room");
    assert!(store.unfinished().expect("readable").is_empty());
    assert_eq!(store.run("1").expect("there is one").ended_unix_ns, Some(9));
}

#[test]
fn a_cell_that_is_saved_again_replaces_all_of_itself() {
    let scratch = Scratch::new().expect("a disk");
    let mut store = Store::open(&place(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("room");
    store
        .save_cell(id, &cell(1), &imported("first"))
        .expect("room");
    let second = StoredCell {
        state: CellState::Interrupted,
        figures: vec![],
        ..cell(1)
    };
    store
        .save_cell(id, &second, &imported("second"))
        .expect("room");
    assert_eq!(store.cells(id).expect("readable"), [second]);
    assert_eq!(bytes(store.content(id, 1).expect("readable")), b"second");
    let run = store.run("r1").expect("there is one");
    assert_eq!((run.cells, run.finished), (1, 0));
}

#[test]
fn a_run_that_was_removed_takes_its_cells_and_its_name_with_it() {
    let scratch = Scratch::new().expect("a disk");
    let mut store = Store::open(&place(&scratch)).expect("a new store");
    let first = store.begin(&experiment("one")).expect("room");
    store
        .save_cell(first, &cell(1), &imported("{}"))
        .expect("room");
    store.remove(first).expect("it was there");
    assert_eq!(store.cells(first).expect("readable"), []);
    assert!(matches!(store.content(first, 1), Ok(Content::Nothing)));
    let second = store.begin(&experiment("two")).expect("room");
    assert_eq!(
        (first.to_string(), second.to_string()),
        ("r1".to_owned(), "r2".to_owned())
    );
    assert!(matches!(
        store.remove(first),
        Err(StoreError::Unknown { .. })
    ));
    assert!(
        matches!(store.save_cell(first, &cell(1), &Content::Nothing), Err(_)),
        "a cell belongs to a run"
    );
}

#[test]
fn a_journal_is_there_until_its_cell_is_saved() {
    let scratch = Scratch::new().expect("a disk");
    let mut store = Store::open(&place(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("room");
    assert!(
        Journal::open(&place(&scratch), id, 1)
            .and_then(|mut journal| journal.add(&[(0, vec![interval(0)])]))
            .is_err(),
        "there is no such cell"
    );
    store
        .save_cell(
            id,
            &StoredCell {
                state: CellState::Running,
                ..cell(1)
            },
            &Content::Nothing,
        )
        .expect("room");
    let mut journal = Journal::open(&place(&scratch), id, 1).expect("it is there");
    // Of the second interval of the first job a part comes before the whole.
    for news in [vec![(0, vec![0, 1])], vec![(2, vec![0]), (0, vec![1, 2])]] {
        let intervals = |starts: Vec<u64>| starts.into_iter().map(interval).collect();
        let news: Vec<(usize, Vec<Interval>)> = news
            .into_iter()
            .map(|(job, starts)| (job, intervals(starts)))
            .collect();
        journal.add(&news).expect("room");
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
        .save_cell(id, &cell(1), &Content::Nothing)
        .expect("room");
    assert!(starts(&mut store).is_empty());
}

/// A cell may last for days: its parts stay in the file till then, the log before the file does not grow beyond 64 MiB and
/// what one transaction adds. Regression 0295.
#[test]
fn the_log_of_a_long_cell_does_not_grow_without_end() {
    let scratch = Scratch::new().expect("a disk");
    let mut store = Store::open(&place(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("room");
    store
        .save_cell(
            id,
            &StoredCell {
                state: CellState::Running,
                ..cell(1)
            },
            &Content::Nothing,
        )
        .expect("room");
    let mut journal = Journal::open(&place(&scratch), id, 1).expect("it is there");
    let log = place(&scratch).with_extension("db-wal");
    let most = (0..450).map(|round| {
        journal
            .add(&[(
                0,
                (0..20_000).map(|n| interval(round * 20_000 + n)).collect(),
            )])
            .expect("room");
        std::fs::metadata(&log).expect("a log").len()
    });
    let most = most.max().expect("one at least");
    let kept = std::fs::metadata(place(&scratch)).expect("a store").len();
    assert!(
        kept > 128 << 20 && most < 72 << 20,
        "{most} bytes of log before {kept} of store"
    );
}

fn interval(start: u64) -> Interval {
    Interval {
        start: Nanos::new(start),
        ..Interval::default()
    }
}

#[test]
fn names_that_are_no_runs_are_said_to_be_none() {
    let scratch = Scratch::new().expect("a disk");
    let mut store = Store::open(&place(&scratch)).expect("a new store");
    for name in ["latest", "r1", "1", "x", "", "r1; DROP TABLE run"] {
        assert!(
            matches!(store.run(name), Err(StoreError::Unknown { .. })),
            "{name}"
        );
    }
}

#[test]
fn many_figures_and_findings_come_back_in_order() {
    let scratch = Scratch::new().expect("a disk");
    let mut store = Store::open(&place(&scratch)).expect("a new store");
    let id = store.begin(&experiment("one")).expect("room");
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
    store.save_cell(id, &many, &Content::Nothing).expect("room");
    assert_eq!(store.cells(id).expect("readable"), [many]);
}

#[test]
fn two_processes_share_a_store() {
    let scratch = Scratch::new().expect("a disk");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = place(&scratch);
            std::thread::spawn(move || {
                let mut store = Store::open(&path).expect("a store");
                (0..5)
                    .map(|_| store.begin(&experiment("one")).expect("room"))
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
        Store::open_existing(&place(&scratch))
            .expect("a store")
            .runs()
            .expect("readable")
            .len(),
        20
    );
}
