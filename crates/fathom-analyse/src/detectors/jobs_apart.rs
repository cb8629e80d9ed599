//! JOBS_APART: a group total over jobs that did not run at the same time.

use std::collections::BTreeMap;

use fathom_model::{Finding, Nanos, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, duration};
use crate::members::Member;

/// Starts within a tenth of the run count as simultaneous.
const APART: f64 = 1.1;
const ADVICE: &str = "Add only the totals of jobs that ran at the same time: start them together, or put them into different groups (stonewall, new_group).";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let mut groups: BTreeMap<u32, Vec<&Member>> = BTreeMap::new();
    for member in run.members().filter(|m| m.did_io()) {
        groups.entry(member.job.group).or_default().push(member);
    }
    groups
        .iter()
        .filter_map(|(group, members)| apart(*group, members))
        .take(1)
        .collect()
}

fn apart(group: u32, members: &[&Member]) -> Option<Finding> {
    let from = members.iter().map(|m| m.seen.measured_from).min()?;
    let span = members
        .iter()
        .map(|m| m.seen.ended)
        .max()?
        .saturating_sub(from);
    let longest = members.iter().map(|m| m.run_time()).max()?;
    if longest.is_zero() || span.get() as f64 <= longest.get() as f64 * APART {
        return None;
    }
    let moved: u64 = members
        .iter()
        .flat_map(|m| m.seen.directions.iter())
        .map(|(_, d)| d.counts.bytes_ok)
        .sum();
    let per_second = |time: Nanos| bytes((moved as f64 / time.as_secs_f64()) as u64);
    let evidence = format!(
        "The {} jobs of group {group} did not run together: their total is {}/s over the longest single run; over the {} from the first start to the last end it is {}/s.",
        members.len(),
        per_second(longest),
        duration(span.get() as f64),
        per_second(span),
    );
    Some(of_run(Weight::Degrades, evidence, ADVICE))
}
