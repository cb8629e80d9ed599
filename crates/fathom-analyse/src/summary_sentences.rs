//! Summary of a result: three to six sentences for a reader who is not a storage specialist.
//!
//! The figures, what limits them, what would raise the limit, the queue depth that saturates the
//! target, the tail, and the findings that affect the figures. Every sentence has its figures; the
//! same recording gives the same sentences.

use fathom_model::{
    Access, Direction, DirectionSummary, Entry, Finding, IoLimit, LatencySummary, Medium, Weight,
};

use crate::catalogue::explain;
use crate::detectors::{EntryContext, host_busy};
use crate::figures::{bytes, count, duration, percent, rate};
use crate::job_summary::is_open_loop;
use crate::members::Member;
use crate::tail::inflection;

/// Above this share of the generator's maximum rate, its limit and the target's cannot be
/// distinguished.
pub(crate) const NEAR_CEILING: f64 = 0.85;
/// Share of the limit of a control group from which on it is reached: limits are exact to about a
/// percent.
const AT_LIMIT: f64 = 0.9;
/// If the mean is more than so many times the unloaded latency, I/Os wait in a queue.
const QUEUED: f64 = 1.5;
/// Percentile that is used as the latency without a queue; lower ones are outliers.
const UNLOADED: f64 = 5.0;
/// An unloaded latency from which on a target of unknown medium may be a disk: no disk of 15,000 rpm
/// or less seeks and turns in less time on average (5 ms), and fast flash takes a tenth of it.
const MAY_BE_A_DISK_NS: f64 = 2e6;
/// A worker that needs a CPU for this share of its time is limited by stolen CPU time.
const NEEDS_CPU: f64 = 0.5;
/// Limit of findings in the last sentence.
const NAMED: usize = 3;

/// The sentences for one entry; empty if it did no I/O.
pub(crate) fn summary_sentences(
    context: &EntryContext,
    limits: &[IoLimit],
    medium: Medium,
    found: &[Finding],
) -> Vec<String> {
    let entry = context.figures;
    let Some(main) = busiest(entry) else {
        return Vec::new();
    };
    let mut sentences = vec![reached(entry)];
    // What limits the I/O of other programs is not known.
    if !context.members.iter().any(Member::is_observed) {
        sentences.extend(
            host(context, main, medium, found)
                .unwrap_or_else(|| limit(context, main, limits, medium)),
        );
    }
    sentences.extend(tail(entry, main));
    sentences.extend(qualified(entry, found));
    sentences
}

/// The direction with the most I/Os.
fn busiest(entry: &Entry) -> Option<Direction> {
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

/// A limit by the host, which precedes the limits by the target.
fn host(
    context: &EntryContext,
    main: Direction,
    medium: Medium,
    found: &[Finding],
) -> Option<Vec<String>> {
    let is = |f: &&Finding| {
        f.weight > Weight::Note
            && explain(f.code).is_some_and(|kind| kind.host_limits)
            && concerns(f, context.figures)
            && (f.code != "STEAL" || needs_cpu(context))
            && (f.code != "HOST_BUSY" || host_busy::delayed(context.members.iter()).is_some())
    };
    let finding = found.iter().find(is)?;
    let sentences = format!(
        "This host, not the target, is probably the limit ({}): {}",
        finding.id, finding.evidence
    );
    Some(
        std::iter::once(sentences)
            .chain(without_the_host(context, main, medium, finding))
            .collect(),
    )
}

/// Whether a worker needed a CPU, or waited for one, for much of its time. One that waits for its target instead is not
/// limited by stolen CPU time.
fn needs_cpu(context: &EntryContext) -> bool {
    context.members.iter().any(|member| {
        let run_time = member.run_time().as_secs_f64();
        let waited = member.seen.usage.waited.as_secs_f64();
        run_time > 0.0 && member.cpu_share() + waited / run_time >= NEEDS_CPU
    })
}

/// What would raise the limit, and the queue depth that is enough for this rate; an open loop has
/// no depth to choose.
fn without_the_host(
    context: &EntryContext,
    main: Direction,
    medium: Medium,
    finding: &Finding,
) -> Option<String> {
    let little = &context.figures.little;
    let unloaded = unloaded(closed_latency(&context.figures.directions[main]));
    if unloaded <= 0.0
        || context
            .members
            .iter()
            .any(|member| member.is_null() || is_open_loop(&member.job.pace))
    {
        return None;
    }
    let advice = finding.advice.trim_end_matches('.');
    let depth = rate(enough(little.iops, unloaded));
    let product = format!(
        "({} per second x {} without waiting)",
        rate(little.iops),
        duration(unloaded)
    );
    Some(if may_sort_its_queue(context, medium, unloaded) {
        format!(
            "To raise the limit: {advice}; this rate needs a queue depth of at least {depth} {product}."
        )
    } else {
        format!(
            "To raise the limit: {advice}; a queue depth of {depth} is enough for this rate {product}."
        )
    })
}

/// Whether the target may be a disk that serves random I/Os in another order than they came: its rate
/// grows with the queue, so that Little's law with the latency of one I/O gives too small a depth.
fn may_sort_its_queue(context: &EntryContext, medium: Medium, unloaded: f64) -> bool {
    let is_random = context
        .members
        .iter()
        .any(|member| matches!(member.job.pattern.access, Access::Random { .. }));
    is_random
        && match medium {
            Medium::Disk => true,
            Medium::Flash | Medium::Memory => false,
            _ => unloaded >= MAY_BE_A_DISK_NS,
        }
}

/// The latency of a closed loop: of a commit to the end of its flush, of other I/Os to their completion.
fn closed_latency(summary: &DirectionSummary) -> &LatencySummary {
    match &summary.response {
        Some(commit) if summary.lateness.is_none() && commit.n > 0 => commit,
        _ => &summary.clat,
    }
}

/// Latency without a queue, nanoseconds.
fn unloaded(summary: &LatencySummary) -> f64 {
    value(summary, UNLOADED)
        .or_else(|| value(summary, 1.0))
        .unwrap_or(summary.min) as f64
}

/// Little's law: I/Os in flight for this rate without waiting. The tolerance of 0.05 I/Os is the
/// width of a bucket.
fn enough(iops: f64, unloaded: f64) -> f64 {
    (iops * unloaded / 1e9 - 0.05).ceil().max(1.0)
}

fn concerns(finding: &Finding, entry: &Entry) -> bool {
    finding
        .about
        .as_ref()
        .is_none_or(|name| *name == entry.name)
}

/// What limits the rate, what would raise the limit, and which queue depth is enough.
fn limit(
    context: &EntryContext,
    main: Direction,
    limits: &[IoLimit],
    medium: Medium,
) -> Vec<String> {
    if context.members.iter().all(super::members::Member::is_null) {
        let iops = rate(context.figures.little.iops);
        return vec![format!(
            "This program is the limit: the null engine has no target, and {iops} per second is what the program can generate."
        )];
    }
    if let Some(sentence) = group_limit(context.figures, limits) {
        return vec![sentence];
    }
    if context
        .members
        .iter()
        .any(|member| is_open_loop(&member.job.pace))
    {
        return vec![open_loop(context.figures, main)];
    }
    if let Some(sentence) = generator(context.figures) {
        return vec![sentence];
    }
    queueing(context, main, medium)
}

fn group_limit(entry: &Entry, limits: &[IoLimit]) -> Option<String> {
    let got = |limit: &IoLimit| {
        let summary = &entry.directions[if limit.reads {
            Direction::Read
        } else {
            Direction::Write
        }];
        if limit.ios {
            summary.iops
        } else {
            summary.bandwidth
        }
    };
    let limit = limits
        .iter()
        .find(|limit| got(limit) >= AT_LIMIT * limit.per_second as f64)?;
    let figure = if limit.ios {
        format!("{} I/Os", count(limit.per_second))
    } else {
        bytes(limit.per_second)
    };
    Some(format!(
        "The control group of this process limits {} to {figure} per second; only a higher limit would raise the result.",
        limit.disk
    ))
}

/// Whether the target kept up with the planned rate.
fn open_loop(entry: &Entry, main: Direction) -> String {
    let summary = &entry.directions[main];
    let (asked, dropped) = (
        entry.offered.clone().unwrap_or_default(),
        entry.counts.not_sent,
    );
    // The response to a commit ends with its flush.
    let flush = if entry.sync.n >= summary.ios.div_ceil(2) {
        entry.sync.mean
    } else {
        0.0
    };
    let service = summary.clat.mean + flush;
    let waited = user_latency(summary).mean - service;
    if dropped == 0 && waited < service {
        return format!(
            "The planned rate is the limit ({asked}), and the target keeps up: {} of the response time is service time; raise the rate to find the target's limit.",
            duration(service),
        );
    }
    format!(
        "The target does not keep up with {asked}: on average {} of each response is waiting, and {} I/Os were never submitted; a lower rate or a higher iodepth than {} would help.",
        duration(waited.max(0.0)),
        count(dropped),
        entry.depth,
    )
}

fn generator(entry: &Entry) -> Option<String> {
    let ceiling = entry
        .ceiling_iops
        .filter(|ceiling| entry.little.iops >= NEAR_CEILING * ceiling)?;
    Some(format!(
        "This program is the limit, not the target: the same plan reaches {} I/Os per second on a target that answers at \
         once, and {} of that was used; more jobs, larger blocks or a cheaper engine would raise the limit.",
        rate(ceiling),
        percent(100.0 * entry.little.iops / ceiling),
    ))
}

/// Compares the mean latency with that without a queue to see whether I/Os wait.
fn queueing(context: &EntryContext, main: Direction, medium: Medium) -> Vec<String> {
    let (entry, little) = (context.figures, &context.figures.little);
    let latency = closed_latency(&entry.directions[main]);
    let unloaded = unloaded(latency);
    if unloaded <= 0.0 || little.mean_ns <= 0.0 {
        return Vec::new();
    }
    if little.queue_depth < 1.5 {
        let is_commit = entry.directions[main].response.is_some();
        let mean = if is_commit {
            latency.mean
        } else {
            little.mean_ns
        };
        return one_at_a_time(mean, unloaded);
    }
    if little.mean_ns > QUEUED * unloaded {
        let sorts = may_sort_its_queue(context, medium, unloaded);
        return waiting(entry, unloaded, enough(little.iops, unloaded), sorts);
    }
    vec![
        format!(
            "The queue depth is the limit, not the target: with {} in flight and {} each, at most {} per second are possible, and almost nothing waits (without a queue an I/O takes {}).",
            rate(little.in_flight.max(1.0).round()),
            duration(little.mean_ns),
            rate(little.in_flight * 1e9 / little.mean_ns),
            duration(unloaded),
        ),
        format!(
            "More I/Os in flight would raise the limit: at this latency {} per second need a depth of {}, and so on until the latency rises.",
            rate(little.iops * 2.0),
            rate((little.in_flight * 2.0).ceil()),
        ),
    ]
}

fn one_at_a_time(mean: f64, unloaded: f64) -> Vec<String> {
    vec![
        format!(
            "One I/O at a time is the limit: at {} each, at most {} per second are possible, whatever the device could do.",
            duration(mean),
            rate(1e9 / mean),
        ),
        format!(
            "More jobs or a deeper queue would raise the limit: as long as an I/O takes {}, N in flight give N times {} per second; a sweep over iodepth shows where that ends.",
            duration(unloaded),
            rate(1e9 / unloaded),
        ),
    ]
}

fn waiting(entry: &Entry, unloaded: f64, enough: f64, sorts: bool) -> Vec<String> {
    let little = &entry.little;
    let depth = if sorts {
        format!(
            "This rate needs a queue depth of at least {} ({} per second x {}); how much of the configured {} it needs is not known from one depth, because a disk serves more I/Os per second when it can choose among more: a sweep over iodepth shows it.",
            rate(enough),
            rate(little.iops),
            duration(unloaded),
            rate(little.queue_depth),
        )
    } else {
        format!(
            "A queue depth of {} is enough for this rate ({} per second x {}); the configured {} mostly adds waiting, so only a faster target would raise the limit.",
            rate(enough),
            rate(little.iops),
            duration(unloaded),
            rate(little.queue_depth),
        )
    };
    vec![
        format!(
            "The target is the limit: of the average {}, {} is waiting in its queue (without a queue an I/O takes {}).",
            duration(little.mean_ns),
            duration(little.mean_ns - unloaded),
            duration(unloaded),
        ),
        depth,
    ]
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
