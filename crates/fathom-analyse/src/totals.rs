//! Jobs that ran at the same time, added to one load.

use fathom_model::{Direction, DirectionSummary, Nanos, PerDirection, Recording, TotalSummary};

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
pub(crate) fn totals(entries: &[Vec<Member<'_>>], recording: &Recording) -> Vec<TotalSummary> {
    let phases = phases(recording);
    let phase = |members: &[Member]| {
        let is_first =
            |job: &fathom_model::Job| members.first().is_some_and(|m| std::ptr::eq(m.job, job));
        let place = recording.plan.jobs.iter().position(is_first);
        place.map_or(0, |place| phases[place])
    };
    let mut parts: Vec<((u32, Nanos), Nanos, &Vec<Member>)> = entries
        .iter()
        .filter(|members| members.iter().any(|m| m.does_io() && m.did_io()))
        .map(|members| ((phase(members), start(members)), end(members), members))
        .collect();
    parts.sort_by_key(|(start, ..)| *start);
    let mut sets: Vec<((u32, Nanos), Nanos, Vec<&Vec<Member>>)> = Vec::new();
    for (start, end, members) in parts {
        match sets.last_mut() {
            Some((first, last, set)) if first.0 == start.0 && start.1 < *last => {
                set.push(members);
                *last = (*last).max(end);
            }
            _ => sets.push((start, end, vec![members])),
        }
    }
    sets.into_iter()
        .filter(|(.., set)| set.len() > 1)
        .map(|((_, start), end, set)| total(end.saturating_sub(start), &set))
        .collect()
}

/// The phase of each job of a run on several hosts. A stonewall holds over all hosts, so jobs of two phases never run at the same
/// time; the times of hosts are aligned to intervals only, and could say that they did. Phases are known where all hosts have the
/// same jobs; otherwise every job is in phase 0.
fn phases(recording: &Recording) -> Vec<u32> {
    let jobs = &recording.plan.jobs;
    let mut first: Option<Vec<&str>> = None;
    let mut phases = vec![0; jobs.len()];
    for (part, range) in recording.host_ranges().filter(|(part, _)| part.jobs > 0) {
        let mut names = Vec::new();
        let mut phase = 0;
        for place in range {
            let job = &jobs[place];
            phase += u32::from(job.start.after_all_before && !names.is_empty());
            phases[place] = phase;
            names.push(job.name.strip_prefix(&part.name).unwrap_or(&job.name));
        }
        if *first.get_or_insert_with(|| names.clone()) != names {
            return vec![0; jobs.len()];
        }
    }
    phases
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
