//! Merges several plans into one, so that their loads run at the same time.

use fathom_model::Plan;

/// Merges `plans`: jobs of different plans start together, and none waits for a job of another plan. `None` without a plan.
/// With several plans, the name of each job ends with the name of its plan.
#[must_use]
pub fn merge_plans(plans: Vec<Plan>, names: &[String]) -> Option<Plan> {
    let several = plans.len() > 1;
    let mut plans = plans.into_iter();
    let mut all = plans.next()?;
    let rename = |plan: &mut Plan, index: usize| {
        for job in plan.jobs.iter_mut().filter(|_| several) {
            job.name = format!(
                "{} on {}",
                job.name,
                names.get(index).map_or("", String::as_str)
            );
        }
    };
    rename(&mut all, 0);
    for (index, mut plan) in (1..).zip(plans) {
        rename(&mut plan, index);
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
