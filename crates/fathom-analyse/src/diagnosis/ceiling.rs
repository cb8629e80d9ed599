//! A rate that is set rather than reached: a ceiling of a volume, a provider or a controller.

use fathom_model::format::shell_word;
use fathom_model::{DepthProbe, Diagnosis, Direction, LimitCause};

use super::disturbance::flush_share;
use super::queue::{counts_of_whole_intervals, error_of_probe, median, usual_rate};
use super::target_parts::transfer_ns;
use super::{Evidence, likely};
use crate::summary_sentences::{concerns, value};

/// Whole intervals that an even rate needs.
pub(super) const MIN_INTERVALS_OF_USUAL_RATE: usize = 4;
/// By how many square roots of their number the I/Os of half of the intervals may differ from the usual ones under a ceiling.
const MAX_DEVIATION_OF_CEILING: f64 = 0.1;
/// Below this share of the variance of independent completions, a ceiling may hold a part of the rate.
const MIN_VARIANCE_SHARE_OF_TARGET: f64 = 0.5;
/// Below this share, it does hold the rate of a target whose service times vary: with 20 intervals, such a target has it once in 100 runs.
const MAX_VARIANCE_SHARE_OF_CEILING: f64 = 0.15;
/// Below this dispersion a ceiling holds a probe of a target whose service times vary: what is in service at the edges of its intervals
/// varies. Independent completions of a dozen intervals have it once in 300 probes.
const MAX_DISPERSION_AT_CEILING: f64 = 0.22;
/// A buffer that takes the I/Os makes one at a time this share of the rate.
const MIN_RATE_SHARE_OF_BUFFERED: f64 = 0.8;
/// Nine in ten I/Os alone take at least this many times what one in ten takes where the service times vary much.
const MIN_SPREAD_OF_VARYING_TARGET: f64 = 5.0;
/// The median distance from the median is this share of the standard deviation of a normal distribution.
const MEDIAN_DISTANCE_PER_DEVIATION: f64 = 0.6745;
/// A rate of up to this many servers that is a whole number of them by chance is rare.
const MAX_SERVERS_AS_FACT: f64 = 4.5;
/// From this many I/Os in an interval on, their number shows whether the rate varies. Of fewer, only equal service times show it.
const MIN_IOS_OF_EVEN_INTERVAL: f64 = 25.0;
/// I/Os at the edges of an interval.
const MIN_DEVIATION_IOS: f64 = 2.0;
/// What a probe of a tenth of a second may miss of a rate without variance: it ends with the wait for its last I/Os.
const MAX_ERROR_OF_PROBE: f64 = 0.02;
/// I/Os of other programs that leave the rate of a target without variance as it is.
const MAX_FOREIGN_PER_OWN_IO: f64 = 0.005;
/// I/Os of other programs for each of the run up to which a finding of a ceiling is about the run. More of them at an even rate make the rest
/// even as well.
const MAX_FOREIGN_OF_FOUND_CEILING: f64 = 0.1;
/// I/Os whose mean is the time of an I/O alone.
const MIN_IOS_ALONE: u64 = 20;
/// A number of servers this far from a whole one is none.
const MIN_DISTANCE_FROM_WHOLE: f64 = 0.005;
/// A ceiling delays I/Os that are alone where the fastest one takes less than this share of the mean.
const MAX_MIN_OF_CEILING: f64 = 0.97;
/// A ceiling delays I/Os that are alone on a real host, whose times vary by what its CPUs do, where the fastest one takes less than this
/// share of what one in ten takes.
const MAX_MIN_OF_REAL_CEILING: f64 = 0.8;
/// On a real host nine in ten I/Os that a ceiling delays take at most this many times what one in ten takes.
const MAX_SPREAD_OF_REAL_CEILING: f64 = 1.25;
/// Interrupts, wake-ups and other threads of the kernel add to the CPU time of a worker for an I/O: together they take at most this many
/// times as long.
const MAX_PATH_PER_CPU_TIME: f64 = 3.0;
/// The path to the device takes at most so many times what the times of I/Os vary, and at most this share of the time of an I/O alone: a path
/// that is long varies as well. A file system in user space, measured: 52 us where the times vary by 65 us, and 109 us where they vary by 33 us.
const PATH_PER_JITTER: f64 = 4.0;
const MAX_PATH_SHARE: f64 = 0.2;
/// How many servers the target has is no fact where the time before them may be that of more than this part of one.
const MAX_UNKNOWN_SERVERS_OF_FACT: f64 = 0.02;
/// The I/Os that a ceiling delays follow each other at equal times: nine in ten take at most this many times what one in ten takes, within
/// the resolution of the histogram.
const MAX_SPREAD_OF_CEILING: f64 = 1.02;

/// What the shape of a rate that does not grow with the depth tells.
pub(super) enum RateShape {
    /// It is that of a ceiling.
    Ceiling,
    /// It varies so little that it may be that of a ceiling or of a target that takes the same time for each I/O.
    Even,
    /// It varies as that of a target whose I/Os take different times, or is that of a whole number of servers.
    OfTarget,
}

/// The shape of the rate: a bucket that ran dry, a rate without any variance, or one that is no whole number of I/Os at a time although
/// it does not vary. A medium with `k` servers and equal service times completes `k` in the time of one.
pub(super) fn rate_shape(
    evidence: &Evidence,
    depth: f64,
    usual: f64,
    deeper: Option<&DepthProbe>,
) -> RateShape {
    let is_found = evidence.found.iter().any(|finding| {
        matches!(
            finding.code,
            "SMOOTH_CEILING" | "BURST_ENDED" | "RATE_LIMITED"
        ) && concerns(finding, evidence.entry())
    });
    if is_found && evidence.foreign_per_own_io <= MAX_FOREIGN_OF_FOUND_CEILING {
        return RateShape::Ceiling;
    }
    let stays = deeper.is_none_or(|deeper| {
        (deeper.iops / usual - 1.0).abs() <= error_of_probe(deeper, 2.0).max(MAX_ERROR_OF_PROBE)
    });
    let is_even =
        evidence.foreign_per_own_io <= MAX_FOREIGN_PER_OWN_IO && stays && is_rate_even(evidence);
    if !is_even {
        let varies_less_than =
            |most: f64| variance_share(evidence).is_some_and(|share| share < most);
        let is_set =
            varies_less_than(MAX_VARIANCE_SHARE_OF_CEILING) && has_varying_service(evidence, depth);
        return if is_set || deeper.is_some_and(|deeper| is_at_ceiling(evidence, depth, deeper)) {
            RateShape::Ceiling
        } else if varies_less_than(MIN_VARIANCE_SHARE_OF_TARGET) {
            RateShape::Even
        } else {
            RateShape::OfTarget
        };
    }
    let alone = time_alone(evidence, depth);
    // What waits for a sync is in no server.
    let synced = flush_share(evidence) * depth;
    let servers = usual * alone.mean_ns / 1e9 + synced;
    // The time of an I/O alone contains that on its link and in the kernel, and more of it where the hypervisor steals CPU time.
    let available = 1.0 - evidence.steal_percent.unwrap_or(0.0) / 100.0;
    let in_kernel = MAX_PATH_PER_CPU_TIME * cpu_ns_per_io(evidence);
    let of_path = (in_kernel / available.max(0.1)).max(path_ns(evidence, alone.mean_ns));
    let before_servers = of_path + transfer_ns(evidence);
    let least = usual * (alone.mean_ns - before_servers) / 1e9 + synced;
    let error = error_of_served(evidence) * servers;
    // What the syncs hold is not exact enough to tell.
    let is_whole = synced > 0.0 || (servers + error).floor() >= (least - error).max(1.0);
    // What a buffer takes is faster than what the target can write, so that its time tells no number of servers.
    let is_buffered = evidence.main != Direction::Read
        && !takes_equal_times(&alone)
        && alone.iops >= MIN_RATE_SHARE_OF_BUFFERED * usual;
    // Of N I/Os in turn at c servers some take one turn more than others, unless c divides N.
    let is_uneven_with = |count: u32| {
        let turns = depth / f64::from(count.max(1));
        turns > 1.0 && (turns - turns.round()).abs() > MIN_DISTANCE_FROM_WHOLE
    };
    let mut possible = (least - error).ceil() as u32..=(servers + error).floor() as u32;
    let is_even_in_turns =
        synced == 0.0 && takes_equal_times(&of_run(evidence)) && possible.all(is_uneven_with);
    let is_set = depth > 1.0 && has_varying_service(evidence, depth);
    if (is_delayed_alone(&alone) || is_set || !is_whole || is_even_in_turns) && !is_buffered {
        RateShape::Ceiling
    } else if servers > MAX_SERVERS_AS_FACT || servers - least > MAX_UNKNOWN_SERVERS_OF_FACT {
        RateShape::Even
    } else {
        RateShape::OfTarget
    }
}

/// The longest time that an I/O may spend outside of a target that takes the same time for each, by how much the times of the run vary.
fn path_ns(evidence: &Evidence, alone_ns: f64) -> f64 {
    (PATH_PER_JITTER * jitter_ns(evidence)).min(MAX_PATH_SHARE * alone_ns)
}

/// How much most times of I/Os differ from their median on either side. Where the target takes the same time for each, that is of the host;
/// on an exact machine it is nothing.
pub(super) fn jitter_ns(evidence: &Evidence) -> f64 {
    let clat = &evidence.entry().directions[evidence.main].clat;
    let percentile = |percent| value(clat, percent).map(|ns| ns as f64);
    match (percentile(1.0), percentile(50.0), percentile(99.0)) {
        (Some(low), Some(median), Some(high)) => (median - low).min(high - median),
        _ => 0.0,
    }
}

/// Whether I/Os that are alone wait. Those of a medium that does not vary all take the same time; through a ceiling, the ones that find a
/// token are faster.
fn is_delayed_alone(alone: &DepthProbe) -> bool {
    let is_exact = takes_equal_times(alone) && alone.min_ns < MAX_MIN_OF_CEILING * alone.p10_ns;
    let is_near = alone.p10_ns > 0.0
        && alone.p90_ns <= MAX_SPREAD_OF_REAL_CEILING * alone.p10_ns
        && alone.min_ns < MAX_MIN_OF_REAL_CEILING * alone.p10_ns;
    is_exact || is_near
}

/// Whether the service times of a target vary so much that its rate does as well, and no other program completes a part of it.
fn has_varying_service(evidence: &Evidence, depth: f64) -> bool {
    // Of writes, only those of a probe find an empty buffer.
    let is_known = evidence.main == Direction::Read || depth > 1.0;
    is_known
        && evidence.foreign_per_own_io <= MAX_FOREIGN_PER_OWN_IO
        && ios_alone(evidence, depth)
            .is_some_and(|alone| alone.p90_ns >= MIN_SPREAD_OF_VARYING_TARGET * alone.p10_ns)
}

/// Whether a ceiling holds the load at twice the depth, where its own rate is still that of the target for a part of the time. Writes can be
/// as even because a buffer takes them.
pub(super) fn is_at_ceiling(evidence: &Evidence, depth: f64, deeper: &DepthProbe) -> bool {
    let is_even = deeper
        .dispersion
        .is_some_and(|dispersion| dispersion < MAX_DISPERSION_AT_CEILING);
    is_even && evidence.main == Direction::Read && has_varying_service(evidence, depth)
}

/// CPU time of the workers for each I/O.
pub(super) fn cpu_ns_per_io(evidence: &Evidence) -> f64 {
    let used = evidence
        .members()
        .map(|member| (member.seen.usage.user + member.seen.usage.system).get() as f64);
    let ios: u64 = evidence.entry().directions.iter().map(|(_, d)| d.ios).sum();
    used.sum::<f64>() / ios.max(1) as f64
}

/// Whether most I/Os of a probe take the same time.
pub(super) fn takes_equal_times(probe: &DepthProbe) -> bool {
    probe.p10_ns > 0.0 && probe.p90_ns <= MAX_SPREAD_OF_CEILING * probe.p10_ns
}

/// Relative error of the number of I/Os in service: the run ends with the I/Os of one depth.
pub(super) fn error_of_served(evidence: &Evidence) -> f64 {
    let ios: f64 = counts_of_whole_intervals(evidence).iter().sum();
    MIN_DISTANCE_FROM_WHOLE + evidence.effective_depth() / ios.max(1.0)
}

/// The usual I/Os of an interval, and how far half of the intervals are from them. `None` with too few intervals.
fn usual_and_distance(evidence: &Evidence) -> Option<(f64, f64)> {
    let counts = counts_of_whole_intervals(evidence);
    if counts.len() < MIN_INTERVALS_OF_USUAL_RATE {
        return None;
    }
    let usual = median(counts.clone())?;
    let distance = median(counts.iter().map(|count| (count - usual).abs()).collect())?;
    Some((usual, distance))
}

/// The variance of the I/Os of the intervals as a share of that of independent completions, which is their number. `None` with too few.
fn variance_share(evidence: &Evidence) -> Option<f64> {
    let (usual, distance) = usual_and_distance(evidence).filter(|(usual, _)| *usual > 0.0)?;
    Some((distance / MEDIAN_DISTANCE_PER_DEVIATION).powi(2) / usual)
}

/// The diagnosis of a rate with the shape of a ceiling; `figures` say what was measured.
pub(super) fn ceiling(evidence: &Evidence, usual: f64, figures: &str) -> Diagnosis {
    likely(
        LimitCause::Ceiling,
        format!(
            "A ceiling of about {} per second is probably the limit (of the volume, the provider or a controller){figures}.",
            evidence.figures.rate("ceiling_iops", usual),
        ),
        &measurement_of_limits(evidence),
    )
}

/// What settles whether the volume has a ceiling.
pub(super) fn measurement_of_limits(evidence: &Evidence) -> String {
    let path = evidence
        .members()
        .find_map(|member| member.job.files.paths.first());
    match path {
        Some(path) => format!(
            "`fathom limits {}`, or the settings of the volume",
            shell_word(&path.display().to_string())
        ),
        None => "the settings of the volume".to_owned(),
    }
}

/// The time of an I/O that none of the same load delays: that of a probe, or the shortest one of the run, whose first I/O finds an empty
/// queue.
pub(super) fn time_alone(evidence: &Evidence, depth: f64) -> DepthProbe {
    ios_alone(evidence, depth).unwrap_or_else(|| {
        let min_ns = evidence.entry().directions[evidence.main].clat.min as f64;
        DepthProbe {
            depth: 1,
            ios: 1,
            mean_ns: min_ns,
            min_ns,
            ..DepthProbe::default()
        }
    })
}

/// How many I/Os the target has in service at a time, where its rate does not vary: by Little's law, the rate times the time of an I/O
/// that does not wait. `None` where the rate varies.
pub(super) fn served_at_once(evidence: &Evidence, depth: f64, usual: f64) -> Option<f64> {
    is_rate_even(evidence).then(|| usual * time_alone(evidence, depth).min_ns / 1e9)
}

/// The figures at depth 1: of the probe, or of the run itself.
pub(super) fn ios_alone(evidence: &Evidence, depth: f64) -> Option<DepthProbe> {
    if depth > 1.0 {
        let mut probes = evidence.probes.iter();
        return probes
            .find(|probe| probe.depth == 1 && probe.ios >= MIN_IOS_ALONE)
            .copied();
    }
    Some(of_run(evidence))
}

/// The figures of the run itself.
pub(super) fn of_run(evidence: &Evidence) -> DepthProbe {
    let entry = evidence.entry();
    let clat = &entry.directions[evidence.main].clat;
    DepthProbe {
        depth: evidence.effective_depth() as u32,
        ios: clat.n,
        iops: usual_rate(evidence),
        // The median, which a stop of this program does not change.
        mean_ns: value(clat, 50.0).map_or(clat.mean, |median| median as f64),
        min_ns: clat.min as f64,
        p10_ns: value(clat, 10.0).unwrap_or_default() as f64,
        p90_ns: value(clat, 90.0).unwrap_or_default() as f64,
        ..DepthProbe::default()
    }
}

/// Whether the whole intervals differ by less than a rate that is reached rather than set. Independent completions vary by the square root
/// of their number, and half of the intervals by two thirds of that.
fn is_rate_even(evidence: &Evidence) -> bool {
    usual_and_distance(evidence).is_some_and(|(usual, distance)| {
        // Of few I/Os in an interval, independent ones vary hardly more.
        (usual >= MIN_IOS_OF_EVEN_INTERVAL || takes_equal_times(&of_run(evidence)))
            && distance <= (MAX_DEVIATION_OF_CEILING * usual.sqrt()).max(MIN_DEVIATION_IOS)
    })
}
