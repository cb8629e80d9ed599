//! Cautions about job files that may not do what their author expects.

use fathom_model::{EngineKind, ExplainedStep, Plan};

use super::EstimatedJob;

/// All cautions; the warnings of the plan come first.
pub(super) fn cautions(
    plan: &Plan,
    steps: &[Vec<Vec<EstimatedJob>>],
    explained: &[ExplainedStep],
) -> Vec<String> {
    let mut all = plan.warnings.clone();
    all.extend(steps.iter().filter_map(|step| runs_in_parallel(step)));
    all.extend(merged(plan));
    all.extend(transfers_nothing(steps));
    all.extend(unbounded(explained));
    all
}

fn transfers_nothing(steps: &[Vec<Vec<EstimatedJob>>]) -> Option<String> {
    let null = |clones: &&Vec<EstimatedJob>| clones[0].job.engine.kind == EngineKind::Null;
    let names: Vec<&str> = steps
        .iter()
        .flatten()
        .filter(null)
        .map(|clones| clones[0].job.name.as_str())
        .collect();
    let these = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "{these}: the null engine transfers no data; its figures are those of the load generator"
        )
    })
}

fn unbounded(explained: &[ExplainedStep]) -> Option<String> {
    let endless = explained
        .iter()
        .flat_map(|step| &step.jobs)
        .filter(|job| job.time.1.is_none());
    let names: Vec<&str> = endless.map(|job| job.name.as_str()).collect();
    let these = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "{these}: no time limit; the job ends when its work is done, however long that takes"
        )
    })
}

/// A section without stonewall after one with stonewall runs at the same time.
fn runs_in_parallel(step: &[Vec<EstimatedJob>]) -> Option<String> {
    let (first, rest) = step.split_first()?;
    let parallel: Vec<&str> = rest
        .iter()
        .map(|clones| clones[0].job.name.as_str())
        .collect();
    let after_stonewall = first[0].job.start.after_all_before;
    (after_stonewall && !parallel.is_empty()).then(|| {
        let (names, first) = (parallel.join(", "), &first[0].job.name);
        format!("{names}: no stonewall, so it runs at the same time as {first}, not after it; add stonewall to run it afterwards")
    })
}

/// Different sections that are reported as one entry, named after the first.
fn merged(plan: &Plan) -> Option<String> {
    let pair = plan.jobs.windows(2).find(|pair| {
        let both = pair[0].group_reporting && pair[1].group_reporting;
        both && pair[0].group == pair[1].group && pair[0].section != pair[1].section
    })?;
    let (one, other) = (&pair[0].name, &pair[1].name);
    Some(format!(
        "{one} and {other} are reported as one entry (group_reporting); add new_group to {other} to separate them"
    ))
}
