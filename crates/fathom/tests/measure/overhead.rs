//! What the load generator costs, beside fio.

use std::process::Command;
use std::time::Instant;

use fathom_testkit::{Need, Scratch};

use crate::common::FATHOM;
use crate::scene::{Attempt, Scene};

pub const SCENES: &[Scene] = &[
    Scene {
        is_robust: false,
        name: "time for the I/Os of the null engine, of that of fio",
        needs: &[Need::Fio],
        attempt: Attempt::Figure {
            measure: || {
                time_of_fio("--ioengine=null --size=1g --io_size=8g --rw=randread --norandommap")
            },
            from: 0.0,
            to: 1.0,
        },
    },
    Scene {
        is_robust: false,
        name: "time for buffered reads of a file, of that of fio",
        needs: &[Need::Fio],
        attempt: Attempt::Figure {
            measure: || {
                time_of_fio(
                    "--ioengine=psync --size=64m --io_size=2g --rw=randread --norandommap --invalidate=0",
                )
            },
            from: 0.0,
            to: 1.05,
        },
    },
];

/// Runs this load with both programs, one after the other: the share of fio's time that `fathom fio` takes.
fn time_of_fio(load: &str) -> Result<f64, String> {
    let scratch = Scratch::new().expect("a directory");
    let run = |program: &[&str]| {
        let mut command = Command::new(program[0]);
        command
            .args(&program[1..])
            .args(["--name=x", "--bs=4k", "--filename=data", "--output=result"])
            .args(load.split_whitespace())
            .current_dir(scratch.path());
        let begun = Instant::now();
        let status = command.status().map_err(|error| error.to_string())?;
        if status.success() {
            Ok(begun.elapsed().as_secs_f64())
        } else {
            Err(format!("{program:?}: {status}"))
        }
    };
    // The first run lays the file out.
    run(&["fio"])?;
    let theirs = run(&["fio"])?;
    Ok(run(&[FATHOM, "fio"])? / theirs)
}
