//! A run on several hosts as `fio --client` shows it.

use fathom_model::{Entry, Findings, Recording};

use crate::direction::bandwidth_share;
use crate::entry::entry;
use crate::members::{Member, entries};
use crate::whole::findings_with;

/// Each host that returned its figures, by name and in order, as if it had run alone; and the entry `All clients`, which fio adds
/// from two entries on. Nothing is judged: findings are those of the whole run.
#[must_use]
pub fn clients(recording: &Recording) -> (Vec<(String, Findings)>, Option<Entry>) {
    let parts = recording.hosts.iter().filter(|part| part.lost.is_none());
    let hosts: Vec<(String, Recording)> = parts
        .zip(recording.of_hosts())
        .map(|(part, mut own)| {
            let prefix = format!("{}:", part.name);
            for job in &mut own.plan.jobs {
                if let Some(name) = job.name.strip_prefix(&prefix) {
                    job.name = name.to_owned();
                }
            }
            (part.name.clone(), own)
        })
        .collect();
    let of_each: Vec<Vec<Member>> = hosts.iter().flat_map(|(_, own)| entries(own)).collect();
    let all = (of_each.len() > 1).then(|| together(&of_each.concat(), recording));
    let shown = hosts
        .iter()
        .map(|(name, own)| (name.clone(), findings_with(own, &[])));
    (shown.collect(), all)
}

/// What fio adds up. It has no options, depth or process of its own.
fn together(members: &[Member], recording: &Recording) -> Entry {
    let mut all = Entry {
        name: "All clients".to_owned(),
        description: None,
        options: Vec::new(),
        group: members.last().map_or(0, |member| member.job.group),
        tid: 0,
        depth: 0,
        steady: None,
        latency: None,
        ..entry(members, recording)
    };
    let summaries = all.directions.0.iter_mut().chain(&mut all.mixed);
    for summary in summaries {
        summary.bw_share = bandwidth_share(summary, summary.bandwidth);
    }
    all
}
