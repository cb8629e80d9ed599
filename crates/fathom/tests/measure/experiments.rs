//! Features that sweeps, searches and suites share: events, storing, stopping and resuming.

use crate::common::{Completed, program, split_args, start};
use crate::scene::{Scene, once};
use fathom_store::{Store, StoredCell};
use fathom_testkit::Scratch;
use std::path::{Path, PathBuf};

pub const SCENES: &[Scene] = &[Scene::check(
    "little time passes between cells",
    &[],
    little_time_passes_between_cells,
)];

/// A directory with a job file for the null engine, and a store.
struct Fixture(Scratch);

impl Fixture {
    fn new(seconds: &str) -> Fixture {
        let scratch = Scratch::new().expect("a directory");
        let text = format!(
            "[paced]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\nrate_iops=2000\ntime_based\nruntime={seconds}\n"
        );
        std::fs::write(scratch.join("paced.fio"), text).expect("a file");
        Fixture(scratch)
    }

    fn store_path(&self) -> PathBuf {
        self.0.join("store.db")
    }

    /// A command in the directory, with its store.
    fn command(&self, line: &str) -> std::process::Command {
        let mut command = program(split_args(line));
        command
            .current_dir(self.0.path())
            .env("FATHOM_STORE", self.store_path());
        command
    }

    fn run(&self, line: &str) -> Completed {
        start(self.command(line)).finish()
    }

    fn cells(&self) -> Vec<StoredCell> {
        cells(&self.store_path())
    }
}

/// The time between the end of one cell and the start of the next, from the store: the median of
/// eleven is below 50 ms, also on a busy machine.
fn little_time_passes_between_cells() -> Result<(), String> {
    let (least, median, most) = once(|| {
        let fixture = Fixture::new("100ms");
        fixture.run("sweep paced.fio --axis iodepth=1..12 --set=runtime=100ms");
        let cells = fixture.cells();
        assert_eq!(cells.len(), 12);
        let ends = cells.windows(2).map(|pair| {
            let end = pair[0].started_unix_ns + pair[0].elapsed_ns;
            pair[1].started_unix_ns.saturating_sub(end)
        });
        let mut between: Vec<u64> = ends.collect();
        between.sort_unstable();
        let of = |at: usize| between[at] as f64 / 1e6;
        if of(5) < 50.0 {
            Ok((of(0), of(5), of(10)))
        } else {
            Err(format!("{between:?}"))
        }
    })?;
    eprintln!(
        "between cells: {least:.1} ms at least, {median:.1} ms in the middle, {most:.1} ms at most"
    );
    Ok(())
}

/// Cells of the first run of a store.
fn cells(store_path: &Path) -> Vec<StoredCell> {
    let Ok(mut store) = Store::open_existing(store_path) else {
        return Vec::new();
    };
    let run = store.run("r1").map(|run| run.id);
    run.and_then(|run| store.cells(run)).unwrap_or_default()
}
