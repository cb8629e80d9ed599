//! PROCESSES_LEFT: processes of the watched command still ran when it had ended.

use fathom_model::{Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::counted;
use crate::witnessed::program_name;

/// As many processes are named.
const NAMED: usize = 4;
const ADVICE: &str =
    "Watch a command that waits for its processes if their I/O belongs to the result.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let Some(witnessed) = run.witnessed().filter(|one| !one.left.is_empty()) else {
        return Vec::new();
    };
    let mut names: Vec<String> = witnessed
        .left
        .iter()
        .take(NAMED)
        .map(|process| format!("{} (process {})", process.name, process.process))
        .collect();
    if witnessed.left.len() > NAMED {
        names.push(format!("{} more", witnessed.left.len() - NAMED));
    }
    let all = witnessed.left.len() as u64;
    let evidence = format!(
        "{} of {} still ran when it had ended: {}. {} I/O after that is not counted.",
        counted(all, "process"),
        program_name(witnessed),
        names.join(", "),
        if all == 1 { "Its" } else { "Their" },
    );
    vec![of_run(Weight::Note, evidence, ADVICE)]
}
