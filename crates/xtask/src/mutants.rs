//! Small changes of the code, and how many of them a test notices: `cargo mutants` on a sample of the crates that compute.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The crates whose code is changed. Each change is judged by the tests of its own crate.
const PACKAGES: [&str; 10] = [
    "fathom-model",
    "fathom-plan",
    "fathom-analyse",
    "fathom-workload",
    "fathom-size",
    "fathom-fit",
    "fathom-sim",
    "fathom-store",
    "fathom-report",
    "fathom-import",
];
/// Changes in a sample, about.
const SAMPLE_SIZE: usize = 100;
/// Of the changes that compile, a test must notice so many percent.
const MIN_CAUGHT_PERCENT: u64 = 92;
/// Where `cargo mutants` writes what it did.
const OUTPUT: &str = "target/mutants";

/// What became of the changes of a sample.
struct Tally {
    /// A test failed, or did not end in its time.
    caught: u64,
    /// Every test passed.
    missed: u64,
    /// The change does not compile.
    unviable: u64,
}

/// Judges every n-th change of all, of which `seed` is the first.
///
/// # Errors
/// `cargo mutants` is missing or cannot work, or too few changes were noticed.
pub fn run(seed: usize) -> io::Result<String> {
    let changes = count_changes()?;
    let shards = (changes / SAMPLE_SIZE).max(1);
    let shard = format!("--shard={}/{shards}", seed % shards);
    // Its exit code tells that there are changes that no test notices; how many, its files say.
    mutants(&[&shard, "--sharding=round-robin", "--output", OUTPUT]).status()?;
    let directory = Path::new(OUTPUT).join("mutants.out");
    let tally = read_tally(&std::fs::read_to_string(directory.join("outcomes.json"))?)?;
    let missed = std::fs::read_to_string(directory.join("missed.txt"))?;
    judge(&tally, changes, seed, &missed)
}

fn judge(tally: &Tally, changes: usize, seed: usize, missed: &str) -> io::Result<String> {
    let judged = tally.caught + tally.missed;
    let text = format!(
        "of {changes} changes, sample {seed}: {} of {judged} noticed by the tests of their crate ({} do not compile)\n{missed}",
        tally.caught, tally.unviable
    );
    if judged > 0 && tally.caught * 100 >= judged * MIN_CAUGHT_PERCENT {
        Ok(text)
    } else {
        Err(io::Error::other(format!(
            "{text}wanted: {MIN_CAUGHT_PERCENT} %"
        )))
    }
}

/// The command, limited to the crates.
fn mutants(options: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.arg("mutants");
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    command.args(options);
    command
}

/// How many changes there are.
fn count_changes() -> io::Result<usize> {
    let listed = mutants(&["--list"]).output()?;
    if listed.status.success() {
        return Ok(String::from_utf8_lossy(&listed.stdout).lines().count());
    }
    Err(io::Error::other(format!(
        "cargo mutants --list: {}install it with `cargo install --locked cargo-mutants`",
        String::from_utf8_lossy(&listed.stderr)
    )))
}

/// The numbers of `outcomes.json`.
fn read_tally(text: &str) -> io::Result<Tally> {
    let outcomes: Value = serde_json::from_str(text)?;
    let number = |name: &str| {
        let value = outcomes.get(name).and_then(Value::as_u64);
        value.ok_or_else(|| io::Error::other(format!("outcomes.json has no number '{name}'")))
    };
    Ok(Tally {
        caught: number("caught")? + number("timeout")?,
        missed: number("missed")?,
        unviable: number("unviable")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_passes_from_92_percent_on() {
        let outcome = |caught, missed| {
            let tally = Tally {
                caught,
                missed,
                unviable: 7,
            };
            judge(&tally, 9000, 3, "").is_ok()
        };
        assert!(outcome(92, 8));
        assert!(!outcome(91, 9));
        assert!(!outcome(0, 0));
    }

    #[test]
    fn a_change_that_makes_a_test_endless_is_noticed() {
        let text =
            r#"{"outcomes":[],"total_mutants":9,"missed":1,"caught":5,"timeout":2,"unviable":1}"#;
        let tally = read_tally(text).expect("a tally");
        assert_eq!((tally.caught, tally.missed, tally.unviable), (7, 1, 1));
    }
}
