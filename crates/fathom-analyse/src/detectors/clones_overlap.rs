//! CLONES_OVERLAP: sequential clones that access the same addresses.

use fathom_model::{Access, Extent, Finding, Job, Weight};

use super::{EntryContext, RunContext};

const ADVICE: &str = "Give each clone its own part with offset_increment=, or its own file.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| overlap(entry, run))
}

/// Reported for the entry with the first clone.
fn overlap(entry: &EntryContext, run: &RunContext) -> Option<Finding> {
    let first = entry
        .members
        .iter()
        .map(|m| m.job)
        .find(|job| job.clone == 0 && follows_one_path(job))?;
    let same = |job: &&Job| job.section == first.section && job.files.paths == first.files.paths;
    let clones = run.recording.plan.jobs.iter().filter(same).count();
    if clones < 2 {
        return None;
    }
    let evidence = format!(
        "{clones} clones access the same addresses of {} in the same order: a cache may serve all but the first, or the kernel may merge them.",
        first.files.paths[0].display(),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}

fn follows_one_path(job: &Job) -> bool {
    let files = &job.files;
    let apart = !matches!(files.offset_increment, Extent::Bytes(b) if b.is_zero())
        && files.offset_increment != Extent::Percent(0);
    let null = !job.engine.kind.moves_data();
    matches!(job.pattern.access, Access::Sequential { .. })
        && !apart
        && !null
        && !files.paths.is_empty()
}
