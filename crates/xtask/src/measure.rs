//! Runs the suite of measurements: the scenes of `crates/fathom/tests/measure`, which are not among the tests that `cargo test` runs, and
//! the sample of changes that tests must notice.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::mutants;

/// The name that chooses the sample of changes instead of scenes.
const MUTANTS: &str = "mutants";

/// Runs what these options choose; without a filter all scenes and the first sample of changes.
///
/// # Errors
/// Cargo cannot be started, a scene failed, or too few changes were noticed.
pub fn run(options: &[&str]) -> io::Result<String> {
    match options {
        [MUTANTS] => mutants::run(0),
        [MUTANTS, "--seed", seed] => match seed.parse() {
            Ok(seed) => mutants::run(seed),
            Err(_) => Err(io::Error::other(format!("--seed {seed}: not a number"))),
        },
        [MUTANTS, ..] => Err(io::Error::other(
            "usage: cargo xtask measure mutants [--seed N]",
        )),
        _ => {
            run_scenes(options)?;
            match is_filtered(options) {
                true => Ok("every scene passed".to_owned()),
                false => mutants::run(0),
            }
        }
    }
}

/// Whether the options choose scenes, or only print their names.
fn is_filtered(options: &[&str]) -> bool {
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match *word {
            "--attempts" | "--markdown" => drop(words.next()),
            _ => return true,
        }
    }
    false
}

fn run_scenes(options: &[&str]) -> io::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Both builds are compared on a disk.
    if !Command::new(&cargo).arg("build").status()?.success() {
        return Err(io::Error::other("the program cannot be built"));
    }
    let directory = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let program = std::path::absolute(Path::new(&directory).join("debug/fathom"))?;
    let words = "test --release --package fathom --test measure --";
    let status = Command::new(&cargo)
        .env("FATHOM_DEV_PROGRAM", program)
        .args(words.split(' '))
        .args(options)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other("the measurements failed"))
    }
}
