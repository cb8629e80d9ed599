//! Several plans as one, whose loads run at the same time.

use fathom_model::Plan;

/// Puts `plans` side by side: jobs of different plans start together, and none waits for another's. Nothing for no plan.
/// The name of each job says which side it is of, where there are several.
#[must_use]
pub fn merge_plans(plans: Vec<Plan>, names: &[String]) -> Option<Plan> {
    let several = plans.len() > 1;
    let mut sides = plans.into_iter();
    let mut all = sides.next()?;
    let mark = |plan: &mut Plan, side: usize| {
        for job in plan.jobs.iter_mut().filter(|_| several) {
            job.name = format!(
                "{} on {}",
                job.name,
                names.get(side).map_or("", String::as_str)
            );
        }
    };
    mark(&mut all, 0);
    for (side, mut plan) in (1..).zip(sides) {
        mark(&mut plan, side);
        let jobs = &all.jobs;
        let sections = jobs.iter().map(|job| job.section + 1).max().unwrap_or(0);
        let groups = jobs.iter().map(|job| job.group + 1).max().unwrap_or(0);
        let numbers = jobs.len() as u32;
        for mut job in plan.jobs {
            job.number += numbers;
            job.section += sections;
            job.group += groups;
            job.start.after_section = job.start.after_section.map(|section| section + sections);
            all.jobs.push(job);
        }
        all.interval = all.interval.min(plan.interval);
        all.warnings.extend(
            plan.warnings
                .into_iter()
                .filter(|warning| !all.warnings.contains(warning))
                .collect::<Vec<_>>(),
        );
    }
    Some(all)
}
