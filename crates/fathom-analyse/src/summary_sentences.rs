//! Summary of a result: three to six sentences for a reader who is not a storage specialist.
//!
//! The figures, the [diagnosis](crate::diagnosis) of what limits them, the tail, and the findings that affect the figures. Every sentence has its figures; the
//! same recording gives the same sentences.

use fathom_model::{
    Diagnosis, Direction, DirectionSummary, Entry, Finding, LatencySummary, Weight,
};

use crate::detectors::EntryContext;
use crate::figures::{bytes, duration, rate};
use crate::tail::inflection;

/// Limit of findings in the last sentence.
const NAMED: usize = 3;

/// The sentences for one entry; empty if it did no I/O.
pub(crate) fn summary_sentences(
    context: &EntryContext,
    diagnosis: Option<&Diagnosis>,
    found: &[Finding],
) -> Vec<String> {
    let entry = context.figures;
    let Some(main) = busiest(entry) else {
        return Vec::new();
    };
    let mut sentences = vec![reached(entry)];
    sentences.extend(diagnosis.into_iter().flat_map(|one| one.sentences.clone()));
    sentences.extend(tail(entry, main));
    sentences.extend(qualified(entry, found));
    sentences
}

/// The direction with the most I/Os.
pub(crate) fn busiest(entry: &Entry) -> Option<Direction> {
    let most = Direction::ALL
        .into_iter()
        .max_by_key(|d| (entry.directions[*d].ios, std::cmp::Reverse(*d as usize)))?;
    (entry.directions[most].ios > 0).then_some(most)
}

/// The latency for users: the response time in an open loop, the service time in a closed one.
pub(crate) fn user_latency(summary: &DirectionSummary) -> &LatencySummary {
    match &summary.response {
        Some(response) if response.n > 0 => response,
        _ if summary.clat.n > 0 => &summary.clat,
        _ => &summary.lat,
    }
}

pub(crate) fn value(summary: &LatencySummary, percent: f64) -> Option<u64> {
    summary
        .percentiles
        .iter()
        .find(|(p, _)| (p - percent).abs() < 1e-9)
        .map(|(_, value)| *value)
}

/// `Reached 41,234 reads per second (161 MiB/s) at 95.0 us on average, and ...`.
fn reached(entry: &Entry) -> String {
    let used = Direction::ALL
        .into_iter()
        .map(|d| (d, &entry.directions[d]))
        .filter(|(_, s)| s.ios > 0);
    let one = |(d, s): (Direction, &DirectionSummary)| {
        let mean = user_latency(s).mean;
        let latency = if mean > 0.0 {
            format!(" at {} on average", duration(mean))
        } else {
            String::new()
        };
        format!(
            "{} {}s per second ({}/s){latency}",
            rate(s.iops),
            d.name(),
            bytes(s.bandwidth as u64)
        )
    };
    format!(
        "Reached {}.",
        used.map(one).collect::<Vec<_>>().join(" and ")
    )
}

/// The latency of a closed loop: of a commit to the end of its flush, of other I/Os to their completion.
pub(crate) fn closed_latency(summary: &DirectionSummary) -> &LatencySummary {
    match &summary.response {
        Some(commit) if summary.lateness.is_none() && commit.n > 0 => commit,
        _ => &summary.clat,
    }
}

/// Whether a finding is about this entry or about the whole run.
pub(crate) fn concerns(finding: &Finding, entry: &Entry) -> bool {
    finding
        .about
        .as_ref()
        .is_none_or(|name| *name == entry.name)
}

fn tail(entry: &Entry, main: Direction) -> Option<String> {
    let summary = user_latency(&entry.directions[main]);
    let (p50, p99) = (value(summary, 50.0)?, value(summary, 99.0)?);
    let times = p99 as f64 / p50.max(1) as f64;
    let bend = match inflection(&summary.percentiles, summary.n) {
        Some(step) => format!(
            "the bend is at p{}: {} there, {} at p{}",
            step.last.0,
            duration(step.last.1 as f64),
            duration(step.next.1 as f64),
            step.next.0
        ),
        None => "no percentile is twice the previous one".to_owned(),
    };
    Some(format!(
        "Tail: half of the {}s took {} or less, 99 of 100 took {} or less ({times:.1} times that), the slowest {}; {bend}.",
        main.name(),
        duration(p50 as f64),
        duration(p99 as f64),
        duration(summary.max as f64),
    ))
}

/// The findings that change the meaning of the figures.
fn qualified(entry: &Entry, found: &[Finding]) -> Option<String> {
    let serious = found
        .iter()
        .filter(|f| f.weight > Weight::Note && concerns(f, entry));
    let all: Vec<String> = serious.map(|f| format!("{} {}", f.id, f.code)).collect();
    let more = if all.len() > NAMED {
        format!(" and {} more", all.len() - NAMED)
    } else {
        String::new()
    };
    let what = if all.len() == 1 {
        "1 finding changes"
    } else {
        &format!("{} findings change", all.len())
    };
    (!all.is_empty()).then(|| {
        format!(
            "{what} the meaning of these figures: {}{more}.",
            all[..all.len().min(NAMED)].join(", ")
        )
    })
}
