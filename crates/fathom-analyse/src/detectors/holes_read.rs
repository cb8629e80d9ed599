//! HOLES_READ: blocks were read that were never written.

use fathom_model::{Direction, Finding, TargetConditions, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::percent;

/// From this share on, the fast reads of holes affect rates and percentiles.
const LEAST: f64 = 0.01;
const ADVICE: &str = "Write the file completely first, with data and not with fallocate.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let worst =
        |a: &&TargetConditions, b: &&TargetConditions| unwritten(a).total_cmp(&unwritten(b));
    let read = run
        .recording
        .conditions
        .targets
        .iter()
        .filter(|target| is_read(run, target));
    let Some(target) = read
        .max_by(worst)
        .filter(|target| unwritten(target) >= LEAST)
    else {
        return Vec::new();
    };
    let evidence = format!(
        "{} of the read range of {} was never written; those reads did not reach the medium.",
        percent(unwritten(target) * 100.0),
        target.path.display()
    );
    vec![of_run(Weight::Degrades, evidence, ADVICE)]
}

fn unwritten(target: &TargetConditions) -> f64 {
    1.0 - target.written_share.unwrap_or(1.0)
}

fn is_read(run: &RunContext, target: &TargetConditions) -> bool {
    let did = |m: &crate::members::Member| m.seen.directions[Direction::Read].counts.ok > 0;
    run.members()
        .any(|m| did(m) && m.job.files.paths.contains(&target.path))
}
