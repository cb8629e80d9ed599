//! HOST_STRAGGLES: one host reached much less than the others.

use fathom_model::{Finding, HostSummary, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{percent, rate};
use crate::hosts::summaries;

/// A host below this share of the median of all hosts.
const SHARE: f64 = 0.5;
const ADVICE: &str = "Look at the findings, the network path and the device of this host.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let hosts: Vec<HostSummary> = summaries(run.recording)
        .into_iter()
        .filter(|host| host.lost.is_none())
        .collect();
    // The same work takes a slow host longer; in the same time it does less. Both are its rate.
    let mut rates: Vec<f64> = hosts.iter().map(|host| host.iops).collect();
    rates.sort_by(f64::total_cmp);
    let Some(median) = rates
        .get(rates.len() / 2)
        .copied()
        .filter(|_| rates.len() > 1)
    else {
        return Vec::new();
    };
    hosts
        .iter()
        .filter(|host| host.iops < median * SHARE)
        .map(|host| {
            let evidence = format!(
                "{} reached {} IOPS, {} of the median of the {} hosts ({}).",
                host.name,
                rate(host.iops),
                percent(100.0 * host.iops / median),
                hosts.len(),
                rate(median),
            );
            Finding {
                about: Some(host.name.clone()),
                ..of_run(Weight::Degrades, evidence, ADVICE)
            }
        })
        .collect()
}
