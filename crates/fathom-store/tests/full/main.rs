//! Ten thousand cells: listed quickly, and opened in little memory.

use std::time::Instant;

use fathom_store::{CellContent, Experiment, Store, StoredCell};
use fathom_testkit::Scratch;

/// Resident memory of this process, KiB. See proc_pid_status(5).
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("VmRSS");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number")
}

/// A cell with ten metrics, as of one job.
fn ten(n: u64) -> (StoredCell, CellContent) {
    let figures = (0..10)
        .map(|at| (format!("figure {at}"), (n * at) as f64))
        .collect();
    let axes = vec![
        ("iodepth".to_owned(), n.to_string()),
        ("bs".to_owned(), "4k".to_owned()),
    ];
    (
        StoredCell {
            position: n,
            axes,
            figures,
            ..StoredCell::default()
        },
        CellContent::Imported {
            format: "test".into(),
            bytes: vec![n as u8; 4096],
        },
    )
}

/// The limits of an optimised build are 64 MiB and 100 ms. A test build on a busy machine may take
/// ten times as long, which is still less than reading every recording would take.
#[test]
fn ten_thousand_cells_are_listed_quickly_in_little_memory() {
    let scratch = Scratch::new().expect("a disk");
    let path = scratch.join("store.db");
    let mut store = Store::open(&path).expect("a new store");
    for cells in [[100; 50].as_slice(), &[5000]].concat() {
        let run = store
            .begin(&Experiment {
                kind: "sweep".into(),
                ..Experiment::default()
            })
            .expect("free space");
        let cells: Vec<_> = (1..=cells).map(ten).collect();
        store.save_cells(run, cells).expect("free space");
    }
    drop(store);
    let before = resident();
    let (mut list, mut largest) = (u128::MAX, u128::MAX);
    for _ in 0..5 {
        let start = Instant::now();
        let mut store = Store::open(&path).expect("a store");
        let runs = store.runs().expect("readable");
        list = list.min(start.elapsed().as_micros());
        assert_eq!(runs.iter().map(|run| run.finished).sum::<u64>(), 10_000);
        let start = Instant::now();
        assert_eq!(store.cells(runs[50].id).expect("readable").len(), 5000);
        largest = largest.min(start.elapsed().as_micros());
    }
    let grown = resident().saturating_sub(before);
    eprintln!(
        "10,000 cells listed in {list} us, 5,000 of them read in {largest} us, {grown} KiB more"
    );
    assert!(grown < 64 << 10, "{grown} KiB");
    assert!(list < 1_000_000, "{list} us");
    assert!(largest < 2_000_000, "{largest} us");
}
