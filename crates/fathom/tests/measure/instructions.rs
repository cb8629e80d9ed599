//! Instructions per I/O, counted by valgrind in the worker thread only: a hot loop that grew is noticed.

use std::path::Path;
use std::process::Command;

use fathom_testkit::Scratch;

use crate::scene::{Attempt, Scene};

/// The upper bounds are a tenth above the count of a build without optimisation.
pub const SCENES: &[Scene] = &[
    Scene {
        is_robust: false,
        name: "instructions for an I/O at depth 1",
        needs: &[],
        attempt: Attempt::Figure {
            measure: || instructions_per_io(1),
            from: 1.0,
            to: 705.0,
        },
    },
    Scene {
        is_robust: false,
        name: "instructions for an I/O at depth 32",
        needs: &[],
        attempt: Attempt::Figure {
            measure: || instructions_per_io(32),
            from: 1.0,
            to: 585.0,
        },
    },
];

/// The difference between two lengths excludes start and end of the run. Already in the shorter
/// run, the worker thread executes more instructions than any other thread.
const LENGTHS: [u64; 2] = [25_000, 75_000];

/// Instructions per I/O of the null engine at this depth.
fn instructions_per_io(depth: u32) -> Result<f64, String> {
    let count = |ios: u64| {
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
        command.args([format!("--iodepth={depth}"), format!("--number_ios={ios}")]);
        let output = command
            .current_dir(scratch.path())
            .output()
            .map_err(|error| format!("valgrind: {error}"))?;
        // The exit status is not checked: a stall of a busy machine makes the result invalid (F010)
        // but changes no count.
        busiest_thread(scratch.path())
            .ok_or_else(|| format!("no count: {}", String::from_utf8_lossy(&output.stderr)))
    };
    let (short, long) = (count(LENGTHS[0])?, count(LENGTHS[1])?);
    Ok((long - short) as f64 / (LENGTHS[1] - LENGTHS[0]) as f64)
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
