//! HOSTS_APART: hosts that did not start at the same time.

use fathom_model::{Finding, HostPart, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::duration;

/// Starts this close together are simultaneous.
const LIMIT_NS: u64 = 5_000_000;
const ADVICE: &str = "The sum of the hosts' figures is too high for the time in which only some of them ran; run longer, or use a quieter network.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let started = || {
        run.recording
            .hosts
            .iter()
            .filter(|part| part.lost.is_none())
    };
    let (Some(first), Some(last)) = (
        started().min_by_key(|part| part.late_ns),
        started().max_by_key(|part| part.late_ns),
    ) else {
        return Vec::new();
    };
    let apart = last.late_ns.abs_diff(first.late_ns);
    let bound = first.late_bound_ns + last.late_bound_ns;
    if apart > LIMIT_NS {
        let evidence = format!(
            "{} started {} after {} (+- {}); the limit is {}.",
            last.name,
            duration(apart as f64),
            first.name,
            duration(bound as f64),
            duration(LIMIT_NS as f64)
        );
        return vec![of_run(Weight::Degrades, evidence, ADVICE)];
    }
    let Some(vague) = started().max_by_key(|part: &&HostPart| part.late_bound_ns) else {
        return Vec::new();
    };
    if vague.late_bound_ns <= LIMIT_NS {
        return Vec::new();
    }
    let evidence = format!(
        "The start of {} is known only to +- {}, because messages to it and back took that long or its clock drifts; the limit is {}.",
        vague.name,
        duration(vague.late_bound_ns as f64),
        duration(LIMIT_NS as f64)
    );
    vec![of_run(Weight::Degrades, evidence, ADVICE)]
}
