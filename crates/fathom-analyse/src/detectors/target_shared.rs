//! TARGET_SHARED: another program has a target open, such as a remaining worker of an earlier load.

use fathom_model::{Finding, Sharer, TargetConditions, Weight};

use super::RunContext;
use super::context::of_run;

/// Limit of listed programs.
const MAX_LISTED: usize = 3;
const ADVICE: &str = "Stop the other program, or use another target: its I/O affects these figures, and its writes are in the data.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let shared = |target: &&TargetConditions| !target.sharers.is_empty();
    run.recording
        .conditions
        .targets
        .iter()
        .filter(shared)
        .map(finding)
        .take(1)
        .collect()
}

fn finding(target: &TargetConditions) -> Finding {
    let others = &target.sharers;
    let names: Vec<String> = others.iter().take(MAX_LISTED).map(describe).collect();
    let more = if others.len() > MAX_LISTED {
        format!(" and {} more", others.len() - MAX_LISTED)
    } else {
        String::new()
    };
    let evidence = format!(
        "When the load ended, {} was open in {}{more} as well.",
        target.path.display(),
        names.join(", ")
    );
    let weight = if others.iter().any(|other| other.writes) {
        Weight::Degrades
    } else {
        Weight::Note
    };
    of_run(weight, evidence, ADVICE)
}

/// `fio (process 812, for writing; its parent is process 1: whoever started it has ended)`.
fn describe(other: &Sharer) -> String {
    let access = if other.writes {
        "for writing"
    } else {
        "for reading"
    };
    let orphan = if other.orphan {
        "; its parent is process 1: a service, or its parent has ended"
    } else {
        ""
    };
    format!(
        "{} (process {}, {access}{orphan})",
        other.name, other.process
    )
}
