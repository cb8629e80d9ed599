//! What the load generator costs, beside fio.

use std::ffi::OsStr;
use std::process::Command;
use std::time::Instant;

use fathom_testkit::{Need, Scratch};

use crate::common::{FATHOM, filename_arg, split_args, start};
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
    Scene {
        is_robust: false,
        name: "reads of a disk by the program of `cargo build`, of those of the release",
        needs: &[],
        attempt: Attempt::Figure {
            measure: reads_of_the_dev_build,
            from: 0.97,
            to: 1.03,
        },
    },
];

/// The program of `cargo build`, which `cargo xtask measure` names in this variable.
const DEV_PROGRAM: &str = "FATHOM_DEV_PROGRAM";

/// Reads per second of a file at depth 32 with the dev profile, as a share of those with the release profile: in the order ABBA, so that a
/// slow change of the disk touches both alike.
fn reads_of_the_dev_build() -> Result<f64, String> {
    let dev = std::env::var_os(DEV_PROGRAM)
        .ok_or_else(|| format!("{DEV_PROGRAM} is not set: run `cargo xtask measure`"))?;
    let scratch = Scratch::new().expect("a directory");
    let file = scratch.join("data");
    let reads = |program: &OsStr| {
        let mut command = Command::new(program);
        command.args(split_args(
            "run --name=x --bs=4k --rw=randread --direct=1 --ioengine=libaio --iodepth=32 --size=256m --norandommap --time_based \
             --runtime=1 --no-probe --output-format=json",
        ));
        command.arg(filename_arg(&file));
        start(command)
            .finish()
            .expect(0)
            .json()
            .number("/jobs/0/read/iops")
    };
    let release = OsStr::new(FATHOM);
    // The first run lays the file out.
    reads(release);
    let [a, b, c, d] = [release, &dev, &dev, release].map(reads);
    Ok((b + c) / (a + d))
}

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
