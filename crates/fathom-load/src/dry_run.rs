//! The dry run of a plan: regions, amounts, buffers and files, without access to them.

use std::path::Path;

use fathom_model::{Bytes, FileEstimate, Job, JobEstimate, Plan, PlanEstimate};

use crate::budget::Budget;
use crate::host::HostError;
use crate::targets::{self, PlannedSizes};

/// Buffers are page-aligned for direct I/O.
const PAGE: u64 = 4096;

/// The work of the jobs of `plan`, given the current sizes of their targets (0 for missing ones).
///
/// # Errors
/// If a size cannot be determined.
pub fn dry_run(plan: &Plan, size_of: &dyn Fn(&Path) -> u64) -> Result<PlanEstimate, HostError> {
    let mut all = PlanEstimate::default();
    let mut lay_outs = Vec::new();
    let mut planned_sizes = PlannedSizes::default();
    for job in &plan.jobs {
        let file_needs = targets::file_needs(job, &|path| planned_sizes.size(path, size_of(path)))?;
        planned_sizes.note(job, &file_needs);
        if job.engine.kind.has_targets() {
            lay_outs.extend(file_needs.iter().map(|want| targets::lay_out(job, want)));
        }
        let regions = file_needs
            .into_iter()
            .map(|want| (want.path, want.region.start, want.region.end))
            .collect();
        all.jobs.push(of_job(job, regions));
    }
    let file = |lay_out: crate::host::LayOut| FileEstimate {
        current_size: Bytes::new(size_of(&lay_out.path)),
        size: lay_out.size,
        needs_data: lay_out.content,
        path: lay_out.path,
    };
    all.files = targets::merge(lay_outs).into_iter().map(file).collect();
    Ok(all)
}

fn of_job(job: &Job, regions: Vec<(std::path::PathBuf, u64, u64)>) -> JobEstimate {
    let region = regions.iter().map(|(_, start, end)| end - start).sum();
    let budget = Budget::new(job, region);
    let counted = |n: u64| (n != u64::MAX).then_some(n);
    let stride = u64::from(targets::buffer_size(job))
        .max(1)
        .next_multiple_of(PAGE);
    let depth = if job.engine.is_synchronous() {
        1
    } else {
        job.queue.depth
    };
    JobEstimate {
        regions,
        passes: counted(budget.passes),
        bytes: counted(budget.bytes),
        ios: counted(budget.ios),
        buffers: Bytes::new(stride * u64::from(depth)),
    }
}
