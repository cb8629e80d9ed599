//! A writer in its own process that reports acknowledged cells, and the check that they are in the
//! store afterwards.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use fathom_store::{CellContent, Experiment, Run, Store, StoredCell};

/// Makes a process a writer: the store it writes to.
const ROLE: &str = "FATHOM_TEST_WRITER";

/// A random number generator with a seed (splitmix64).
pub struct TestRng(pub u64);

impl TestRng {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// The number of rounds: that of the environment variable `name`, else `short`.
pub fn rounds(name: &str, short: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(short)
}

/// The content of cell `n`: 0 to 20,000 bytes.
pub fn body(n: u64) -> Vec<u8> {
    (0..n * 7919 % 20_000).map(|at| (at ^ n) as u8).collect()
}

pub fn cell(n: u64) -> StoredCell {
    let figures = (0..n % 40)
        .map(|at| (format!("figure {at}"), (n * at) as f64))
        .collect();
    StoredCell {
        position: n,
        axes: vec![("n".into(), n.to_string())],
        figures,
        ..StoredCell::default()
    }
}

/// In a writer process: writes cells until it is killed, and reports each that was acknowledged.
#[test]
fn the_writer() {
    let Some(path) = std::env::var_os(ROLE) else {
        return;
    };
    let mut store = Store::open(Path::new(&path)).expect("a store");
    let run = store
        .begin(&Experiment {
            kind: "test".into(),
            ..Experiment::default()
        })
        .expect("it is saved");
    let report = |what: &str, n: u64| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{what} {n}")
            .and_then(|()| out.flush())
            .expect("the parent reads");
    };
    report("run", run.get());
    for n in 1.. {
        store
            .save_cell(
                run,
                &cell(n),
                &CellContent::Imported {
                    format: "test".into(),
                    bytes: body(n),
                },
            )
            .expect("it is saved");
        report("cell", n);
    }
}

/// A writer process; dropping it kills it.
pub struct Writer {
    child: Child,
    lines: Receiver<String>,
    pub run: Option<u64>,
    /// Cells 1 to this were acknowledged.
    pub cells: u64,
}

impl Writer {
    /// Starts this test binary again, with [`the_writer`] alone.
    pub fn start(path: &Path) -> Writer {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command
            .args(["--exact", "common::the_writer", "--nocapture"])
            .env(ROLE, path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("this test again");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .all(|line| sender.send(line).is_ok())
        });
        Writer {
            child,
            lines,
            run: None,
            cells: 0,
        }
    }

    fn parse(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("run", run)) => self.run = run.parse().ok(),
            Some(("cell", n)) => self.cells = n.parse().unwrap_or(self.cells),
            _ => {}
        }
    }

    /// Reads all reports so far.
    pub fn receive(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.parse(&line);
        }
    }

    /// Waits until this many cells are acknowledged; panics when the writer stops.
    pub fn wait_for(&mut self, cells: u64) {
        while self.cells < cells {
            let line = self
                .lines
                .recv_timeout(Duration::from_secs(60))
                .expect("the writer is running");
            self.parse(&line);
        }
    }

    /// Sends SIGKILL; returns everything reported before.
    pub fn kill(mut self) -> (Option<u64>, u64) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
        while let Ok(line) = self.lines.recv() {
            self.parse(&line);
        }
        (self.run, self.cells)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that all acknowledged cells are present and intact, and that the store accepts more.
pub fn assert_nothing_is_lost(path: &Path, run: Option<u64>, cells: u64) {
    let Some(run) = run else { return };
    let mut store =
        Store::open(path).unwrap_or_else(|error| panic!("after {cells} cells: {error}"));
    let run: Run = store.run(&format!("r{run}")).expect("it was acknowledged");
    let saved = store.cells(run.id).expect("readable");
    assert!(
        saved.len() as u64 >= cells,
        "{cells} were acknowledged, {} are there",
        saved.len()
    );
    for (n, found) in (1..).zip(&saved) {
        assert_eq!(*found, cell(n));
        match store.content(run.id, n).expect("readable") {
            CellContent::Imported { bytes, .. } => {
                assert!(bytes == body(n), "cell {n} has another content");
            }
            other => panic!("cell {n} has {other:?}"),
        }
    }
    store.check().expect("the store is intact");
    store
        .save_cell(run.id, &cell(saved.len() as u64 + 1), &CellContent::Nothing)
        .expect("the store accepts more");
}
