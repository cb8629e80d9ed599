//! Instructions per I/O, counted by valgrind. They are the same on every machine for the same
//! build, so that an upper limit can be enforced.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::tool::Tools;

pub const NAME: &str = "instructions";
pub const ABOUT: &str = "instructions per I/O against the stored limit; exit code 1 above it";

/// Lines of `DEPTH LIMIT`.
const CEILINGS: &str = include_str!("../instructions.txt");
/// The difference between two run lengths excludes start and end.
const LENGTHS: [u64; 2] = [100_000, 300_000];

/// Counts and compares.
pub fn guard(tools: &Tools) -> Result<ExitCode, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("SKIP: valgrind is not installed, so instructions cannot be counted");
        return Ok(ExitCode::SUCCESS);
    }
    let mut over = false;
    for (depth, ceiling) in ceilings(CEILINGS)? {
        let [short, long] = LENGTHS.map(|ios| count(&tools.fathom, depth, ios));
        let each = (long?.saturating_sub(short?)) as f64 / (LENGTHS[1] - LENGTHS[0]) as f64;
        over |= each > ceiling;
        let verdict = if each > ceiling { "ABOVE" } else { "within" };
        println!(
            "null, depth {depth}: {each:.1} instructions per I/O, {verdict} the limit of {ceiling}"
        );
    }
    Ok(if over {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn ceilings(text: &str) -> Result<Vec<(u32, f64)>, String> {
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let parse = |line: &str| {
        let (depth, ceiling) = line.split_once(' ')?;
        Some((depth.parse().ok()?, ceiling.trim().parse().ok()?))
    };
    lines
        .map(|line| {
            parse(line).ok_or_else(|| {
                format!("instructions.txt: invalid line `{line}`, expected a depth and a limit")
            })
        })
        .collect()
}

/// Instructions of a whole run.
fn count(fathom: &Path, depth: u32, ios: u64) -> Result<u64, String> {
    let job = format!(
        "run --name=count --ioengine=null --rw=randread --bs=4k --size=1g --io_size=16g --iodepth={depth} --number_ios={ios} --output-format=json"
    );
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(fathom)
        .args(job.split(' '));
    let output = command
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    collected(&text).ok_or_else(|| {
        format!(
            "valgrind printed no count: {}",
            text.lines().last().unwrap_or("no message")
        )
    })
}

/// The figure after `Collected :`.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_and_errors_reported() {
        assert_eq!(
            ceilings("# depth ceiling\n1 400\n32 300.5\n"),
            Ok(vec![(1, 400.0), (32, 300.5)])
        );
        assert!(ceilings("1 many").is_err_and(|why| why.contains("1 many")));
        assert!(ceilings(CEILINGS).is_ok_and(|all| all.len() == 2));
    }

    #[test]
    fn the_count_is_found_in_the_output_of_valgrind() {
        assert_eq!(
            collected("==1== \n==1== Collected : 286567986\n"),
            Some(286_567_986)
        );
        assert_eq!(collected("==1== killed"), None);
    }
}
