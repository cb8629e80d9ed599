//! Jobs that ran at the same time, added to one load.

use fathom_model::{Direction, DirectionSummary, Nanos, PerDirection, TotalSummary};

use crate::compact_sort::CompactSort;
use crate::direction::direction_summary;
use crate::figures::{bytes, count, duration, rate};
use crate::little::little;
use crate::members::Member;
use crate::summary_sentences::{user_latency, value};
use crate::tail::inflection;

/// Percentiles in the sentence.
const SHOWN: [f64; 3] = [50.0, 99.0, 99.9];

/// One total for each set of entries that ran at the same time; none where an entry ran alone, because its figures are the
/// total.
pub(crate) fn totals(entries: &[Vec<Member<'_>>]) -> Vec<TotalSummary> {
    let mut parts: Vec<(Nanos, Nanos, &Vec<Member>)> = entries
        .iter()
        .filter(|members| members.iter().any(|m| m.does_io() && m.did_io()))
        .map(|members| (start(members), end(members), members))
        .collect();
    parts.compact_sort_by_key(|(start, ..)| *start);
    let mut sets: Vec<(Nanos, Nanos, Vec<&Vec<Member>>)> = Vec::new();
    for (start, end, members) in parts {
        match sets.last_mut() {
            Some((_, last, set)) if start < *last => {
                set.push(members);
                *last = (*last).max(end);
            }
            _ => sets.push((start, end, vec![members])),
        }
    }
    sets.into_iter()
        .filter(|(.., set)| set.len() > 1)
        .map(|(start, end, set)| total(end.saturating_sub(start), &set))
        .collect()
}

fn start(members: &[Member]) -> Nanos {
    let starts = members.iter().map(|m| m.seen.measured_from);
    starts.min().unwrap_or_default()
}

fn end(members: &[Member]) -> Nanos {
    let ends = members.iter().map(|m| m.seen.ended);
    ends.max().unwrap_or_default()
}

fn total(span: Nanos, entries: &[&Vec<Member<'_>>]) -> TotalSummary {
    let members: Vec<Member> = entries.iter().copied().flatten().copied().collect();
    let directions = PerDirection::from_fn(|d| {
        let mut sum = direction_summary(&members, &[d]);
        // Jobs may start and end at different times: what they did together is their amount in the whole time.
        let seconds = span.get() as f64 / 1e9;
        if seconds > 0.0 {
            sum.iops = sum.ios as f64 / seconds;
            sum.bandwidth = sum.bytes as f64 / seconds;
        }
        sum
    });
    let mut names: Vec<String> = Vec::new();
    for member in &members {
        if !names.contains(&member.job.name) {
            names.push(member.job.name.clone());
        }
    }
    let mut total = TotalSummary {
        names,
        jobs: members.len() as u32,
        span,
        little: little(&members, &directions),
        directions,
        sentence: String::new(),
    };
    total.sentence = sentence(&total);
    total
}

fn sentence(total: &TotalSummary) -> String {
    let used = total.directions.iter().filter(|(_, sum)| sum.ios > 0);
    let parts: Vec<String> = used.map(|(d, sum)| direction(d, sum)).collect();
    format!(
        "Total of {} jobs over {}: {}; {:.1} of {} in flight.",
        count(u64::from(total.jobs)),
        duration(total.span.get() as f64),
        parts.join("; "),
        total.little.in_flight,
        rate(total.little.queue_depth),
    )
}

/// `read 46,285 IOPS, 181 MiB/s, clat mean 164 us, p50 150 us, p99 340 us, p99.9 4.10 ms, max 8.27 ms, bend at p99.5`.
fn direction(direction: Direction, sum: &DirectionSummary) -> String {
    let mut text = format!(
        "{} {} IOPS, {}/s",
        direction.name(),
        rate(sum.iops),
        bytes(sum.bandwidth as u64)
    );
    let latency = user_latency(sum);
    if latency.n == 0 {
        return text;
    }
    let kind = if std::ptr::eq(latency, &raw const sum.clat) {
        "clat"
    } else if std::ptr::eq(latency, &raw const sum.lat) {
        "lat"
    } else {
        "response"
    };
    text += &format!(", {kind} mean {}", duration(latency.mean));
    for percent in SHOWN {
        if let Some(ns) = value(latency, percent) {
            text += &format!(", p{percent} {}", duration(ns as f64));
        }
    }
    text += &format!(", max {}", duration(latency.max as f64));
    if let Some(step) = inflection(&latency.percentiles, latency.n) {
        text += &format!(", bend at p{}", step.last.0);
    }
    text
}
