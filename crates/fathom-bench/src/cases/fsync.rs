//! Commits per second of each method, beside pg_test_fsync of PostgreSQL on the same file system.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::context::Context;
use crate::pairs::alternate;
use crate::row::{Goal, Row};
use crate::tool::Tool;

/// Methods that both programs measure.
const METHODS: [&str; 4] = ["open_datasync", "fdatasync", "fsync", "open_sync"];
/// Measurements of `fathom fsync`, which share its time.
const CELLS: u64 = 21;
/// Where Debian installs it, below the version.
const DIRECTORY: &str = "/usr/lib/postgresql";
/// Both measure the same.
const GOAL: Goal = Goal::RatioWithin(0.9, 1.1);

/// Commits per second of one and two writes, of each method.
type Rates = Vec<[f64; 2]>;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let Some(peer) = pg_test_fsync() else {
        let reason = format!("pg_test_fsync is not installed below {DIRECTORY}");
        return Ok(vec![Row::missing("commits", reason)]);
    };
    let (ours, theirs) = alternate(context.pairs, |tool| match tool {
        Tool::Fathom => ours(context),
        Tool::Fio => theirs(context, &peer),
    })?;
    let mut rows = Vec::new();
    for (method, name) in METHODS.into_iter().enumerate() {
        for (writes, what) in ["one write", "two writes"].into_iter().enumerate() {
            let of = |all: &[Rates]| all.iter().map(|rates| rates[method][writes]).collect();
            rows.push(
                Row::new(
                    format!("commits of {what} of 8 KiB, {name}"),
                    "1/s",
                    (of(&ours), of(&theirs)),
                    GOAL,
                )
                .peer("pg_test_fsync"),
            );
        }
    }
    Ok(rows)
}

/// The newest installed one.
fn pg_test_fsync() -> Option<PathBuf> {
    let versions = std::fs::read_dir(DIRECTORY).ok()?.flatten();
    let mut found: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin/pg_test_fsync"))
        .filter(|program| program.is_file())
        .collect();
    found.sort();
    found.pop()
}

fn output(context: &Context, mut command: Command) -> Result<String, String> {
    let output = command
        .current_dir(context.directory.path())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

fn ours(context: &Context) -> Result<Rates, String> {
    let mut command = Command::new(&context.tools.fathom);
    let time = format!("--runtime={}s", context.seconds * CELLS);
    command.args(["fsync", ".", "--json", "--quiet", &time]);
    let json: serde_json::Value =
        serde_json::from_str(&output(context, command)?).map_err(|error| error.to_string())?;
    let rows = json["methods"].as_array().ok_or("no methods in the JSON")?;
    let rate = |method: &str, writes: u64| {
        rows.iter()
            .find(|row| row["method"] == method && row["writes"] == writes)
            .and_then(|row| row["commits_per_second"].as_f64())
            .ok_or_else(|| format!("no {method} in the JSON"))
    };
    METHODS
        .into_iter()
        .map(|method| Ok([rate(method, 1)?, rate(method, 2)?]))
        .collect()
}

fn theirs(context: &Context, program: &std::path::Path) -> Result<Rates, String> {
    let mut command = Command::new(program);
    let seconds = context.seconds.to_string();
    command.args(["-f", "pg_test_fsync.out", "-s", &seconds]);
    let text = output(context, command)?;
    let rate = |section: &str, method: &str| {
        text.split(section)
            .nth(1)
            .into_iter()
            .flat_map(str::lines)
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|words| words.first() == Some(&method))
            .and_then(|words| words.get(1)?.parse::<f64>().ok())
            .ok_or_else(|| format!("no {method} in the output of pg_test_fsync:\n{text}"))
    };
    METHODS
        .into_iter()
        .map(|method| {
            Ok([
                rate("using one 8kB write:", method)?,
                rate("using two 8kB writes:", method)?,
            ])
        })
        .collect()
}
