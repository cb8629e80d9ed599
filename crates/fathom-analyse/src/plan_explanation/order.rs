//! Groups jobs that run at the same time: all jobs between two stonewalls.

use super::EstimatedJob;

/// Steps of sections of clones, in order.
pub(super) fn steps<'a>(jobs: &[EstimatedJob<'a>]) -> Vec<Vec<Vec<EstimatedJob<'a>>>> {
    let mut steps: Vec<Vec<Vec<EstimatedJob<'a>>>> = Vec::new();
    for one in jobs {
        if steps.is_empty() || one.job.start.after_all_before {
            steps.push(Vec::new());
        }
        let Some(step) = steps.last_mut() else {
            continue;
        };
        match step
            .last_mut()
            .filter(|clones| clones[0].job.section == one.job.section)
        {
            Some(clones) => clones.push(*one),
            None => step.push(vec![*one]),
        }
    }
    steps
}
