//! One entry of the result: a job, or the clones of a group combined.

use fathom_model::{
    Accounting, Damage, Direction, DirectionSummary, Entry, Histogram, JobError, LatencyKinds,
    LatencySummary, Nanos, PerDirection, Personality, Recording, Unified, Usage, VerifyCounts,
};

use crate::damage::sentence;
use crate::direction::{counts, direction_summary};
use crate::errno;
use crate::job_summary::{engine, entry_summary, offered};
use crate::latency::merged;
use crate::levels::{depth_percents, latency_ranges};
use crate::little::little;
use crate::members::Member;
use crate::pace::{search, steady};
use crate::samples::Tally;
use crate::series::series;

/// The options of the entry. fio shows those of the last member of a group.
fn shown_options(members: &[Member], recording: &Recording) -> Vec<(String, Option<String>)> {
    let shown = match recording.plan.personality {
        Personality::Fio => members.last(),
        Personality::Fathom => members.first(),
    };
    shown.map_or_else(Vec::new, |member| member.job.options.clone())
}

/// All figures of the members together. There is at least one member.
pub(crate) fn entry(members: &[Member], recording: &Recording) -> Entry {
    let Member { job, seen } = members[0];
    let accounting = &job.accounting;
    let directions = PerDirection::from_fn(|d| direction_summary(members, &[d]));
    let ranges = latency_ranges(&merged(all_clat(members)));
    let (usage, cpu_time) = (usage(members), members.iter().map(Member::cpu_time).sum());
    let (error, error_text) = first_error(members).unwrap_or_default();
    // Pattern, sizes and depth are those of other programs: nobody chose them.
    let is_observed = members.iter().any(Member::is_observed);
    Entry {
        name: job.name.clone(),
        group: job.group,
        description: job.description.clone(),
        options: shown_options(members, recording),
        members: members.len() as u32,
        tid: seen.tid,
        workload: entry_summary(members),
        rw: if is_observed {
            String::new()
        } else {
            job.pattern.rw().to_owned()
        },
        block_sizes: PerDirection::from_fn(|d| match &job.pattern.block_size[d] {
            _ if is_observed => (0, 0),
            sizes => (sizes.min(), sizes.max()),
        }),
        engine: engine(&members[0]).to_owned(),
        depth: if !is_observed && members.iter().any(Member::does_io) {
            job.queue.depth
        } else {
            0
        },
        error,
        error_text,
        errors_continued: continued(members),
        elapsed_s: recording.elapsed.get().div_ceil(1_000_000_000),
        started_unix_ms: (recording.started_unix_ns + seen.launched.get()) / 1_000_000,
        mixed: mixed(members, &directions),
        show_directions: accounting.unified != Unified::Mixed,
        sync: sync(members),
        fsyncs: fsyncs(members, recording.plan.personality),
        job_runtime: members.iter().map(Member::run_time).sum(),
        user_percent: percent_of(usage.user, cpu_time),
        system_percent: percent_of(usage.system, cpu_time),
        switches: usage.switches,
        major_faults: usage.major_faults,
        minor_faults: usage.minor_faults,
        depth_levels: depth_percents(&added(members, |m| m.seen.depth_levels)),
        submit_levels: depth_percents(&added(members, |m| m.seen.submit_levels)),
        complete_levels: depth_percents(&added(members, |m| m.seen.complete_levels)),
        latency_ns: ranges.ns,
        latency_us: ranges.us,
        latency_ms: ranges.ms,
        little: little(members, &directions),
        ceiling_iops: ceiling(members, recording.host.cpus),
        latency_kinds: shows(accounting),
        verify: verify(members),
        steady: steady(members),
        latency: search(members),
        damages: damages(members).cloned().collect(),
        damage_lines: damages(members)
            .take(MAX_LISTED)
            .map(|one| sentence(one, recording.started_unix_ns))
            .collect(),
        counts: counts(members, &Direction::ALL),
        offered: offered(members),
        notes: notes(members),
        summary: Vec::new(),
        diagnosis: None,
        series: series(members, recording.plan.interval),
        observed: members.iter().find_map(|m| m.seen.observed.clone()),
        directions,
    }
}

fn all_clat<'a>(members: &'a [Member]) -> impl Iterator<Item = &'a Histogram> {
    members
        .iter()
        .flat_map(|m| m.seen.directions.iter().map(|(_, d)| &d.clat))
}

/// The first error that ended a member or after which it continued: errno and message.
fn first_error(members: &[Member]) -> Option<(i32, String)> {
    let stopped = members.iter().find_map(|m| m.seen.error.as_ref());
    let describe_error = |e: &JobError| {
        (
            e.errno,
            format!("{}: {}", errno::message(e.errno), e.operation),
        )
    };
    let passed = || {
        members
            .iter()
            .filter(|m| m.seen.errors_continued > 0)
            .find_map(Member::first_errno)
    };
    stopped
        .map(describe_error)
        .or_else(|| passed().map(|code| (code, errno::message(code))))
}

/// The number of ignored errors and the errno of the first one, if the user requested to continue
/// after errors.
fn continued(members: &[Member]) -> Option<(u64, i32)> {
    let policy = &members[0].job.errors;
    let requested = policy.continue_read || policy.continue_write || policy.continue_verify;
    let total = members.iter().map(|m| m.seen.errors_continued).sum();
    requested.then(|| (total, first_error(members).map_or(0, |e| e.0)))
}

/// All directions combined. For `both`, the samples of the directions are added as in fio.
fn mixed(
    members: &[Member],
    directions: &PerDirection<DirectionSummary>,
) -> Option<DirectionSummary> {
    match members[0].job.accounting.unified {
        Unified::Separate => None,
        Unified::Mixed => Some(direction_summary(members, &Direction::ALL)),
        Unified::Both => {
            let mut all = direction_summary(members, &Direction::ALL);
            all.bw_samples = Tally::sum(directions.iter().map(|(_, d)| &d.bw_samples)).samples();
            all.iops_samples =
                Tally::sum(directions.iter().map(|(_, d)| &d.iops_samples)).samples();
            Some(all)
        }
    }
}

fn sync(members: &[Member]) -> LatencySummary {
    let accounting = &members[0].job.accounting;
    let wanted = accounting.clat_percentiles || accounting.lat_percentiles;
    LatencySummary::of(
        &merged(members.iter().map(|m| &m.seen.sync)),
        if wanted { &accounting.percentiles } else { &[] },
    )
}

/// fio's count of syncs leaves out fdatasync and sync_file_range.
fn fsyncs(members: &[Member], personality: Personality) -> Option<u64> {
    let counts = |member: &Member| member.job.sync.fsyncs_of(member.seen.sync.count());
    let replays = members.iter().any(|m| m.job.pace.replay.is_some());
    (personality == Personality::Fio && !replays).then(|| members.iter().map(counts).sum())
}

fn usage(members: &[Member]) -> Usage {
    members.iter().fold(Usage::default(), |sum, m| Usage {
        user: sum.user + m.seen.usage.user,
        system: sum.system + m.seen.usage.system,
        switches: sum.switches + m.seen.usage.switches,
        major_faults: sum.major_faults + m.seen.usage.major_faults,
        minor_faults: sum.minor_faults + m.seen.usage.minor_faults,
        waited: sum.waited + m.seen.usage.waited,
    })
}

/// `part` of `whole` in percent.
pub(crate) fn percent_of(part: Nanos, whole: Nanos) -> f64 {
    if whole.is_zero() {
        0.0
    } else {
        part.get() as f64 * 100.0 / whole.get() as f64
    }
}

fn added(members: &[Member], levels: fn(&Member) -> [u64; 7]) -> [u64; 7] {
    let mut sum = [0; 7];
    for member in members {
        sum.iter_mut()
            .zip(levels(member))
            .for_each(|(mine, theirs)| *mine += theirs);
    }
    sum
}

fn shows(accounting: &Accounting) -> LatencyKinds {
    let kept = !accounting.reduced;
    LatencyKinds {
        slat: kept && accounting.slat,
        clat: kept && accounting.clat,
        lat: kept && accounting.lat,
        slat_percentiles: kept && accounting.slat_percentiles,
        clat_percentiles: kept && accounting.clat_percentiles,
        lat_percentiles: kept && accounting.lat_percentiles,
    }
}

fn verify(members: &[Member]) -> Option<VerifyCounts> {
    members.iter().any(|m| m.job.verify.is_some()).then(|| {
        members.iter().fold(VerifyCounts::default(), |mut sum, m| {
            sum.add(&m.seen.verify);
            sum
        })
    })
}

/// Limit of listed wrong blocks.
const MAX_LISTED: usize = 10;

fn damages<'a>(members: &'a [Member]) -> impl Iterator<Item = &'a Damage> {
    members.iter().flat_map(|m| &m.seen.damages)
}

fn notes(members: &[Member]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in members.iter().flat_map(|m| &m.seen.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// The maximum rate of the members together; at most as many as there are CPUs run at once.
fn ceiling(members: &[Member], cpus: u32) -> Option<f64> {
    let one = members.iter().find_map(|member| member.seen.ceiling_iops)?;
    Some(one * (members.len() as f64).min(f64::from(cpus.max(1))))
}
