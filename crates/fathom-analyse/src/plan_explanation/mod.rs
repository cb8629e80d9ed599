//! Explains a plan before it runs: order, regions, amounts, times, and cautions.

mod amount;
mod cautions;
mod commands;
mod order;
mod sentences;

use fathom_model::{
    Amount, Bytes, Direction, ExplainedJob, ExplainedStep, Job, JobEstimate, Nanos, PerDirection,
    Plan, PlanEstimate, PlanExplanation,
};

use self::amount::amounts;
use self::cautions::cautions;
pub use self::commands::plan_commands;
use self::order::steps;
use crate::job_summary::describe_plan;

/// A job of the plan with its estimate.
#[derive(Clone, Copy)]
pub(crate) struct EstimatedJob<'a> {
    pub job: &'a Job,
    pub of: &'a JobEstimate,
}

/// Explains `plan`. `estimate` has one estimate for each job of the plan.
#[must_use]
pub fn explain_plan(plan: &Plan, estimate: &PlanEstimate) -> PlanExplanation {
    let all: Vec<EstimatedJob> = plan
        .jobs
        .iter()
        .zip(&estimate.jobs)
        .map(|(job, of)| EstimatedJob { job, of })
        .collect();
    let steps: Vec<Vec<Vec<EstimatedJob>>> = steps(&all);
    let explained: Vec<ExplainedStep> = steps.iter().map(|sections| step(sections)).collect();
    let total = explained
        .iter()
        .flat_map(|step| &step.jobs)
        .fold(nothing(), |sum, job| added(&sum, &job.bytes));
    let buffers = steps
        .iter()
        .map(|step| step.iter().flatten().map(|one| one.of.buffers).sum())
        .max()
        .unwrap_or(Bytes::ZERO);
    PlanExplanation {
        preparation: estimate
            .files
            .iter()
            .filter_map(sentences::layout)
            .collect(),
        entries: sentences::entries(plan),
        total,
        time: in_turn(explained.iter().map(|step| step.time)),
        buffers,
        cautions: cautions(plan, &steps, &explained),
        steps: explained,
    }
}

fn nothing() -> PerDirection<Amount> {
    PerDirection::from_fn(|_| Amount::NONE)
}

fn added(a: &PerDirection<Amount>, b: &PerDirection<Amount>) -> PerDirection<Amount> {
    PerDirection::from_fn(|d: Direction| a[d].plus(b[d]))
}

/// Sum of consecutive times.
fn in_turn(times: impl Iterator<Item = (Nanos, Option<Nanos>)>) -> (Nanos, Option<Nanos>) {
    times.fold((Nanos::ZERO, Some(Nanos::ZERO)), |(least, most), one| {
        (
            least.saturating_add(one.0),
            most.zip(one.1).map(|(a, b)| a.saturating_add(b)),
        )
    })
}

/// Sections that run at the same time; each starts after the job that it waits for.
fn step(sections: &[Vec<EstimatedJob>]) -> ExplainedStep {
    let mut jobs: Vec<(u32, ExplainedJob)> = Vec::new();
    for clones in sections {
        let first = clones[0].job;
        let waited = first
            .start
            .after_section
            .and_then(|section| jobs.iter().find(|(number, _)| *number == section));
        let begins = waited.map_or((Nanos::ZERO, Some(Nanos::ZERO)), |(_, job)| job.time);
        let waits_for = waited.map(|(_, job)| job.name.clone());
        jobs.push((first.section, section(clones, begins, waits_for)));
    }
    let jobs: Vec<ExplainedJob> = jobs.into_iter().map(|(_, job)| job).collect();
    let ends_all = sections.iter().any(|clones| clones[0].job.exit.exit_all);
    let shortest =
        |times: &mut dyn Iterator<Item = Nanos>| if ends_all { times.min() } else { times.max() };
    let least = shortest(&mut jobs.iter().map(|job| job.time.0)).unwrap_or(Nanos::ZERO);
    let bounded: Vec<Nanos> = jobs.iter().filter_map(|job| job.time.1).collect();
    let most = if ends_all {
        bounded.iter().min()
    } else {
        bounded.iter().max().filter(|_| bounded.len() == jobs.len())
    };
    ExplainedStep {
        time: (least, most.copied()),
        jobs,
    }
}

fn section(
    clones: &[EstimatedJob],
    begins: (Nanos, Option<Nanos>),
    waits_for: Option<String>,
) -> ExplainedJob {
    let first = clones[0];
    let mut bytes = nothing();
    clones
        .iter()
        .for_each(|clone| bytes = added(&bytes, &amounts(clone)));
    let each = clones.iter().map(amount::time);
    let own = each
        .reduce(|a, b| (a.0.max(b.0), a.1.zip(b.1).map(|(a, b)| a.max(b))))
        .unwrap_or_default();
    ExplainedJob {
        name: first.job.name.clone(),
        clones: clones.len(),
        group: first.job.group,
        workload: describe_plan(first.job, first.job.engine.kind.name()),
        start: sentences::begins(first.job, waits_for.as_deref()),
        regions: sentences::places(clones),
        amount: sentences::amount(clones),
        repeats: sentences::repeats(&first),
        end: sentences::ends(&first),
        time: in_turn([begins, own].into_iter()),
        bytes,
    }
}
