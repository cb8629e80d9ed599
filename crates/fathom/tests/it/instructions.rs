//! Instructions per I/O, counted by valgrind in the worker thread only. They do not depend on the
//! load of the machine, so that the test notices a hot loop that grew. `cargo run --release -p
//! fathom-bench -- instructions` does the same for the optimised build.

use std::path::Path;
use std::process::Command;

use fathom_testkit::Scratch;

/// Queue depth of the null engine, and the maximum of instructions per I/O in a test build: a tenth
/// above the measured count.
const CEILINGS: [(u32, f64); 2] = [(1, 705.0), (32, 585.0)];
/// The difference between two lengths excludes start and end of the run. Already in the shorter
/// run, the worker thread executes more instructions than any other thread.
const LENGTHS: [u64; 2] = [25_000, 75_000];

/// Instructions per I/O with these additional options.
fn instructions_per_io(depth: u32, more: &[&str]) -> f64 {
    let [short, long] = LENGTHS.map(|ios| {
        let scratch = Scratch::new().expect("a directory");
        let mut command = Command::new("valgrind");
        // Regression 0150: instructions of all threads were counted. The threads that sample the
        // machine work by the clock, and on a busy machine their share was a tenth.
        command.args([
            "--tool=callgrind",
            "--separate-threads=yes",
            "--callgrind-out-file=counts",
            env!("CARGO_BIN_EXE_fathom"),
        ]);
        command.args([
            "run",
            "--no-store",
            "--name=count",
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--size=1g",
            "--io_size=16g",
        ]);
        command
            .args([format!("--iodepth={depth}"), format!("--number_ios={ios}")])
            .args(more);
        let output = command
            .current_dir(scratch.path())
            .output()
            .expect("valgrind starts");
        // The exit status is not checked: a stall of a busy machine makes the result invalid (F010)
        // but changes no count.
        busiest_thread(scratch.path())
            .unwrap_or_else(|| panic!("no count: {}", String::from_utf8_lossy(&output.stderr)))
    });
    (long - short) as f64 / (LENGTHS[1] - LENGTHS[0]) as f64
}

/// The highest instruction count of a thread, from callgrind's files in this directory.
fn busiest_thread(directory: &Path) -> Option<u64> {
    let files = std::fs::read_dir(directory)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    let counts = files.filter(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("counts"))
    });
    let totals = counts.filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
    });
    totals.max()
}

#[test]
fn instructions_per_io_stay_within_their_limits() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return fathom_testkit::skip(
            "valgrind is not installed, so instructions cannot be counted",
        );
    }
    if !cfg!(debug_assertions) || !cfg!(target_arch = "x86_64") {
        return fathom_testkit::skip("the ceilings are those of a test build on x86-64");
    }
    for (depth, ceiling) in CEILINGS {
        let counted = instructions_per_io(depth, &[]);
        assert!(
            counted <= ceiling,
            "depth {depth}: {counted:.0} instructions for one I/O, the ceiling is {ceiling}"
        );
    }
    // More work per I/O is detected.
    let logged = instructions_per_io(32, &["--write_lat_log=log"]);
    assert!(
        logged > CEILINGS[1].1,
        "a log of every I/O takes only {logged:.0} instructions"
    );
}
