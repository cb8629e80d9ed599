//! Which jobs of a plan a host runs, and in which phase.

use std::collections::BTreeMap;

use fathom_model::{Job, Plan};

use crate::select::Selection;

/// The jobs of one host.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The plan with the jobs of this host.
    pub plan: Plan,
    /// The phase of each job: how many stonewalls are before it in the whole plan, so that hosts with different jobs count alike.
    pub phases: Vec<u32>,
}

/// The job without its place, and where it runs: `host=` of its section, or what follows `@` in its name. `None` is everywhere.
fn place_of(job: &Job) -> Option<(String, String)> {
    let option = job.options.iter().rev().find(|(name, _)| name == "host");
    if let Some((_, Some(hosts))) = option {
        return Some((job.name.clone(), hosts.clone()));
    }
    let (name, hosts) = job.name.split_once('@')?;
    Some((name.to_owned(), hosts.to_owned()))
}

fn selection(job: &Job, hosts: &str) -> Result<Selection, String> {
    Selection::parse(hosts).map_err(|error| {
        format!(
            "{}: its hosts '{}': {error}",
            job.name,
            hosts.escape_debug()
        )
    })
}

/// The jobs of the host with this name and these labels.
///
/// # Errors
/// When a job names hosts in a way that cannot be read.
pub fn place(plan: Plan, name: &str, labels: &BTreeMap<String, String>) -> Result<Placed, String> {
    let (mut jobs, mut phases, mut phase) = (Vec::new(), Vec::new(), 0);
    for (index, mut job) in plan.jobs.iter().cloned().enumerate() {
        if job.start.after_all_before && index > 0 {
            phase += 1;
        }
        if let Some((own_name, hosts)) = place_of(&job) {
            if !selection(&job, &hosts)?.takes(name, labels) {
                continue;
            }
            job.name = own_name;
        }
        // The job with the stonewall may be one of another host.
        job.start.after_all_before = phases.last().is_some_and(|last| *last < phase);
        job.number = jobs.len() as u32 + 1;
        jobs.push(job);
        phases.push(phase);
    }
    Ok(Placed {
        plan: Plan { jobs, ..plan },
        phases,
    })
}

/// The first job that none of these hosts runs, and the hosts that it names.
///
/// # Errors
/// As [`place`].
pub fn without_host<'a>(
    plan: &Plan,
    hosts: impl Iterator<Item = (&'a str, &'a BTreeMap<String, String>)> + Clone,
) -> Result<Option<(String, String)>, String> {
    for job in &plan.jobs {
        let Some((name, text)) = place_of(job) else {
            continue;
        };
        let selection = selection(job, &text)?;
        if !hosts
            .clone()
            .any(|(host, labels)| selection.takes(host, labels))
        {
            return Ok(Some((name, text)));
        }
    }
    Ok(None)
}

/// The first job that is for some hosts only.
#[must_use]
pub fn placed_job(plan: &Plan) -> Option<&Job> {
    plan.jobs
        .iter()
        .find(|job| job.options.iter().any(|(name, _)| name == "host"))
}
