//! Ten thousand cells: listed at once, and opened in little memory.

use std::time::Instant;

use fathom_store::{CellContent, Experiment, Store, StoredCell};
use fathom_testkit::Scratch;

/// Resident memory of this process, KiB. See proc_pid_status(5).
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("it is there");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number")
}

/// Ten figures, as one job has.
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

/// The bounds are those that hold for the product, 64 MiB and 100 ms in a build that is optimised: a test build on a busy
/// machine gets ten times as long, which is less than a look into every recording would take.
#[test]
fn ten_thousand_cells_are_listed_at_once_in_little_memory() {
    let scratch = Scratch::new().expect("a disk");
    let place = scratch.join("store.db");
    let mut store = Store::open(&place).expect("a new store");
    for cells in [[100; 50].as_slice(), &[5000]].concat() {
        let run = store
            .begin(&Experiment {
                kind: "sweep".into(),
                ..Experiment::default()
            })
            .expect("room");
        let cells: Vec<_> = (1..=cells).map(ten).collect();
        store.save_cells(run, &cells).expect("room");
    }
    drop(store);
    let before = resident();
    let (mut list, mut largest) = (u128::MAX, u128::MAX);
    for _ in 0..5 {
        let started = Instant::now();
        let mut store = Store::open(&place).expect("a store");
        let runs = store.runs().expect("readable");
        list = list.min(started.elapsed().as_micros());
        assert_eq!(runs.iter().map(|run| run.finished).sum::<u64>(), 10_000);
        let started = Instant::now();
        assert_eq!(store.cells(runs[50].id).expect("readable").len(), 5000);
        largest = largest.min(started.elapsed().as_micros());
    }
    let grown = resident().saturating_sub(before);
    eprintln!(
        "10,000 cells listed in {list} us, 5,000 of them read in {largest} us, {grown} KiB more"
    );
    assert!(grown < 64 << 10, "{grown} KiB");
    assert!(list < 1_000_000, "{list} us");
    assert!(largest < 2_000_000, "{largest} us");
}
