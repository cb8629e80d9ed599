//! The queue: the depth, the target, or both. It is a limit only where nothing else is, and only other depths tell the side.

use fathom_model::{Certainty, DepthProbe, Diagnosis, LimitCause};

use super::{Evidence, fact, likely, planned_load};
use crate::figures::{count, duration, percent, rate};
use crate::summary_sentences::{closed_latency, concerns, value};

/// Whole intervals that a usual rate needs.
const MIN_INTERVALS_OF_USUAL_RATE: usize = 4;
/// By how many square roots of their number the I/Os of half of the intervals may differ from the usual ones under a ceiling.
const MAX_DEVIATION_OF_CEILING: f64 = 0.1;
/// I/Os at the edges of an interval.
const MIN_DEVIATION_IOS: f64 = 2.0;
/// Error of the number of I/Os that a target serves at once.
const MAX_ERROR_OF_BALANCE: f64 = 0.03;
/// What a probe of a tenth of a second may miss of a rate without variance: it ends with the wait for its last I/Os.
const MAX_ERROR_OF_PROBE: f64 = 0.02;
/// I/Os of other programs that leave the rate of a target without variance as it is.
const MAX_FOREIGN_PER_OWN_IO: f64 = 0.005;
/// I/Os whose mean is the time of an I/O alone.
const MIN_IOS_ALONE: u64 = 20;
/// A number of servers this far from a whole one is none.
const MIN_DISTANCE_FROM_WHOLE: f64 = 0.005;
/// A ceiling delays I/Os that are alone where the fastest one takes less than this share of the mean.
const MAX_MIN_OF_CEILING: f64 = 0.97;
/// The I/Os that a ceiling delays follow each other at equal times: nine in ten take at most this many times what one in ten takes, within
/// the resolution of the histogram.
const MAX_SPREAD_OF_CEILING: f64 = 1.02;
/// With more servers, the next whole number is too near.
const MAX_SERVERS_TOLD_APART: f64 = 20.0;
/// Below this growth of the rate at twice the depth, more I/Os in flight make the target slower.
const MAX_GROWTH_OF_FALLING_RATE: f64 = 0.9;
/// A worker that uses a smaller share of a CPU is not the limit itself.
const MAX_CPU_SHARE_OF_IDLE_WORKER: f64 = 0.85;
/// Up to this growth of the rate at twice the depth, the target is the limit: it is within the error of a probe.
const MAX_GROWTH_OF_TARGET_LIMIT: f64 = 1.1;
/// From this growth of the rate at twice the depth on, the depth is the limit. Twice is the most that is possible.
const MIN_GROWTH_OF_DEPTH_LIMIT: f64 = 1.6;
/// I/Os that a probe needs to count: the mean of 100 exponential service times has a standard error of a tenth.
const MIN_PROBE_IOS: u64 = 100;

/// A closed loop: the depth, the target, or both.
pub(super) fn closed_loop(evidence: &Evidence) -> Diagnosis {
    let (entry, little) = (evidence.entry(), &evidence.entry().little);
    let depth = evidence.effective_depth();
    let latency = closed_latency(&entry.directions[evidence.main]);
    let is_commit = entry.directions[evidence.main].response.is_some();
    let mean = if is_commit && depth < 2.0 {
        latency.mean
    } else {
        little.mean_ns
    };
    if mean <= 0.0 {
        return Diagnosis::default();
    }
    let mut diagnosis =
        by_probes(evidence, depth).unwrap_or_else(|| from_one_depth(evidence, depth, mean));
    if let Some((engine, ignored)) = evidence.ignored_depth() {
        diagnosis.sentences.insert(
            0,
            format!("{engine} ignores iodepth={ignored}: each job has 1 I/O in flight."),
        );
    }
    diagnosis
}

/// What one depth tells: nothing about the side of the knee.
fn from_one_depth(evidence: &Evidence, depth: f64, mean: f64) -> Diagnosis {
    let little = &evidence.entry().little;
    // A synchronous engine has one I/O in flight for each job, whatever iodepth says.
    let is_synchronous = evidence
        .members()
        .all(|member| member.job.engine.is_synchronous());
    let (sentence, settled_by) = if depth < 2.0 {
        let option = if is_synchronous { "numjobs" } else { "iodepth" };
        (
            format!(
                "One I/O at a time: {} per second at {} each. One depth does not tell what more in flight would reach; a run with \
                 {option}=2 and one with {option}=8 do.",
                rate(little.iops),
                duration(mean),
            ),
            format!("the same load with {option}=2 and {option}=8"),
        )
    } else {
        let jobs = evidence.entry().members.max(1);
        let of_jobs = if jobs > 1 {
            format!(" ({jobs} jobs of depth {})", rate(depth / f64::from(jobs)))
        } else {
            String::new()
        };
        let (option, each) = if is_synchronous {
            ("numjobs", depth)
        } else {
            ("iodepth", (depth / f64::from(jobs)).max(1.0))
        };
        let (half, double) = ((each / 2.0).ceil().max(1.0), each * 2.0);
        (
            format!(
                "With {} in flight{of_jobs} an I/O takes {}. One depth does not tell whether the queue depth or the target is the limit; a run \
                 with {option}={} and one with {option}={} do.",
                rate(depth),
                duration(mean),
                rate(half),
                rate(double),
            ),
            format!(
                "the same load with {option}={} and {option}={}",
                rate(half),
                rate(double)
            ),
        )
    };
    Diagnosis {
        sentences: vec![sentence],
        settled_by: Some(settled_by),
        ..Diagnosis::default()
    }
}

/// I/Os per second in a usual interval of the run: the median, which a stop or a stall of less than half of the run does not change, as
/// the probes were not disturbed by it either.
fn usual_rate(evidence: &Evidence) -> f64 {
    let counts = counts_of_whole_intervals(evidence);
    let series = &evidence.entry().series;
    let longest = series.iter().map(|interval| interval.length).max();
    match (longest, median(counts.clone())) {
        (Some(length), Some(ios)) if counts.len() >= MIN_INTERVALS_OF_USUAL_RATE => {
            ios / length.as_secs_f64().max(1e-9)
        }
        _ => evidence.entry().little.iops,
    }
}

/// The probes that have I/Os enough to count.
fn counted_probes<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = &'a DepthProbe> {
    let counted = |probe: &&DepthProbe| probe.ios >= MIN_PROBE_IOS && probe.iops > 0.0;
    evidence.probes.iter().filter(counted)
}

/// The probe at about twice the depth.
pub(super) fn deeper_probe<'a>(evidence: &Evidence<'a>, depth: f64) -> Option<&'a DepthProbe> {
    counted_probes(evidence).find(|probe| f64::from(probe.depth) >= 1.5 * depth)
}

/// The figures of the run and of its probes as a phrase.
fn depths_as_text(evidence: &Evidence, depth: f64, usual: f64, deeper: &DepthProbe) -> String {
    let mut probes = counted_probes(evidence);
    let alone = probes.find(|probe| probe.depth == 1 && depth > 1.0);
    let alone_text = alone.map_or(String::new(), |probe| {
        format!("; alone, an I/O takes {}", duration(probe.mean_ns))
    });
    format!(
        "{} in flight reach {} per second at {} each, {} reach {} at {}{alone_text}",
        rate(depth),
        rate(usual),
        duration(evidence.entry().little.mean_ns),
        deeper.depth,
        rate(deeper.iops),
        duration(deeper.mean_ns),
    )
}

/// By which share the rate would be higher without the first cause: with twice the depth, or with a target of twice the servers. Where as
/// many I/Os are in flight as the target serves at once, neither gains anything alone.
pub(super) fn gain_of_first_cause(evidence: &Evidence, cause: LimitCause) -> f64 {
    let depth = evidence.effective_depth();
    let Some(deeper) = deeper_probe(evidence, depth) else {
        return 1.0;
    };
    let usual = usual_rate(evidence).max(1e-9);
    let alone = ios_alone(evidence, depth).filter(|_| depth > 1.0);
    let served_at_once = alone.map_or(depth, |probe| usual * probe.mean_ns / 1e9);
    let error = alone.map_or(0.0, |probe| 2.0 / (probe.ios as f64).max(1.0).sqrt());
    let is_balanced = (served_at_once / depth - 1.0).abs() <= error.max(MAX_ERROR_OF_BALANCE);
    match cause {
        LimitCause::QueueDepth => deeper.iops / usual - 1.0,
        LimitCause::Target if is_balanced && (depth < 2.0 || alone.is_some()) => 0.0,
        _ => 1.0,
    }
}

/// What other depths of the same load tell.
fn by_probes(evidence: &Evidence, depth: f64) -> Option<Diagnosis> {
    let deeper = deeper_probe(evidence, depth)?;
    let usual = usual_rate(evidence);
    let growth = deeper.iops / usual.max(1e-9);
    let both = depths_as_text(evidence, depth, usual, deeper);
    let mut diagnosis = if growth >= MIN_GROWTH_OF_DEPTH_LIMIT {
        fact(
            LimitCause::QueueDepth,
            format!("The queue depth is the limit: {both}."),
        )
    } else if growth < MAX_GROWTH_OF_FALLING_RATE {
        fact(
            LimitCause::TooDeep,
            format!("The target is the limit, and a deeper queue makes it slower: {both}."),
        )
    } else if growth <= MAX_GROWTH_OF_TARGET_LIMIT {
        ceiling(evidence, depth, usual, deeper).unwrap_or_else(|| {
            fact(
                LimitCause::Target,
                format!("The target is the limit, a deeper queue only adds waiting: {both}."),
            )
        })
    } else {
        fact(
            LimitCause::Knee,
            format!(
                "This depth is near the knee, more in flight gain {}: {both}.",
                percent(100.0 * (growth - 1.0))
            ),
        )
    };
    let error = error_of_probe(deeper) * growth;
    let is_settled = match diagnosis.cause {
        LimitCause::QueueDepth => growth - error > MAX_GROWTH_OF_TARGET_LIMIT,
        LimitCause::Knee => {
            growth - error > MAX_GROWTH_OF_TARGET_LIMIT
                && growth + error < MIN_GROWTH_OF_DEPTH_LIMIT
        }
        _ => growth + error < MIN_GROWTH_OF_DEPTH_LIMIT,
    };
    if !is_settled {
        make_likely(&mut diagnosis);
    }
    if diagnosis.cause != LimitCause::QueueDepth {
        name_busy_worker(evidence, &mut diagnosis, &both);
    }
    diagnosis.evidence_for = probes_as_evidence(evidence);
    Some(diagnosis)
}

/// Relative error of the rate of a probe: twice the standard error of a count of the half of its I/Os that is not at its edges, or the I/Os
/// of one depth that complete together.
fn error_of_probe(probe: &DepthProbe) -> f64 {
    let ios = (probe.ios as f64).max(1.0);
    (2.0 / (ios / 2.0).sqrt()).max(f64::from(probe.depth) / ios)
}

fn make_likely(diagnosis: &mut Diagnosis) {
    diagnosis.certainty = Certainty::Likely;
    diagnosis.settled_by = Some("the same load with a longer runtime".to_owned());
}

/// A worker that is busy itself is a rival of the target: both complete no more with more in flight.
fn name_busy_worker(evidence: &Evidence, diagnosis: &mut Diagnosis, both: &str) {
    let is_busy = evidence
        .members()
        .any(|member| member.cpu_share() >= MAX_CPU_SHARE_OF_IDLE_WORKER);
    if !is_busy {
        return;
    }
    diagnosis.certainty = Certainty::Likely;
    diagnosis.evidence_against = vec!["a worker used most of a CPU".to_owned()];
    diagnosis.settled_by = Some("the same load with numjobs=2".to_owned());
    diagnosis.sentences = vec![format!(
        "More in flight gain little, but a worker used most of a CPU, so that this program may be the limit: {both}. A run with numjobs=2 \
         tells."
    )];
}

fn probes_as_evidence(evidence: &Evidence) -> Vec<String> {
    counted_probes(evidence)
        .map(|probe| {
            format!(
                "depth {}: {} I/Os, {} per second, {} each",
                probe.depth,
                count(probe.ios),
                rate(probe.iops),
                duration(probe.mean_ns)
            )
        })
        .collect()
}

/// A ceiling of a volume, a provider or a controller, where the rate has the shape of one: a bucket that ran dry, a rate without any
/// variance, or one that is no whole number of I/Os at a time although it does not vary. A medium with `k` servers and equal service
/// times completes `k` in the time of one.
fn ceiling(evidence: &Evidence, depth: f64, usual: f64, deeper: &DepthProbe) -> Option<Diagnosis> {
    let both = || depths_as_text(evidence, depth, usual, deeper);
    let shape = evidence.found.iter().find(|finding| {
        matches!(
            finding.code,
            "SMOOTH_CEILING" | "BURST_ENDED" | "RATE_LIMITED"
        ) && concerns(finding, evidence.entry())
    });
    let alone = ios_alone(evidence, depth);
    let servers = alone.map_or(1.0, |probe| usual * probe.mean_ns / 1e9);
    // Alone, the I/Os of a medium that does not vary all take the same time; through a ceiling, those that find a token are faster.
    let varies_alone = alone.is_some_and(|probe| {
        probe.p10_ns > 0.0
            && probe.p90_ns <= MAX_SPREAD_OF_CEILING * probe.p10_ns
            && probe.min_ns < MAX_MIN_OF_CEILING * probe.p10_ns
    });
    let is_between =
        varies_alone || (servers - servers.round()).abs() > MIN_DISTANCE_FROM_WHOLE * servers;
    let is_even = evidence.foreign_per_own_io <= MAX_FOREIGN_PER_OWN_IO
        && (deeper.iops / usual - 1.0).abs() <= MAX_ERROR_OF_PROBE
        && is_rate_even(evidence);
    if shape.is_none() && !(is_between && is_even && servers < MAX_SERVERS_TOLD_APART) {
        return None;
    }
    Some(likely(
        LimitCause::Ceiling,
        format!(
            "A ceiling of about {} per second is probably the limit (of the volume, the provider or a controller), a deeper queue only adds \
             waiting: {}.",
            rate(usual),
            both()
        ),
        "`fathom limits`, or the settings of the volume",
    ))
}

/// The figures at depth 1: of the probe, or of the run itself.
fn ios_alone(evidence: &Evidence, depth: f64) -> Option<DepthProbe> {
    if depth > 1.0 {
        let mut probes = evidence.probes.iter();
        return probes
            .find(|probe| probe.depth == 1 && probe.ios >= MIN_IOS_ALONE)
            .copied();
    }
    let entry = evidence.entry();
    let clat = &entry.directions[evidence.main].clat;
    Some(DepthProbe {
        depth: 1,
        ios: clat.n,
        iops: entry.little.iops,
        // The median, which a stop of this program does not change.
        mean_ns: value(clat, 50.0).map_or(clat.mean, |median| median as f64),
        min_ns: clat.min as f64,
        p10_ns: value(clat, 10.0).unwrap_or_default() as f64,
        p90_ns: value(clat, 90.0).unwrap_or_default() as f64,
    })
}

/// Whether the whole intervals differ by less than a rate that is reached rather than set. Independent completions vary by the square root
/// of their number, and half of the intervals by two thirds of that.
fn is_rate_even(evidence: &Evidence) -> bool {
    let counts = counts_of_whole_intervals(evidence);
    let Some(usual) = median(counts.clone()) else {
        return false;
    };
    let distances = counts.iter().map(|count| (count - usual).abs()).collect();
    let allowed = (MAX_DEVIATION_OF_CEILING * usual.sqrt()).max(MIN_DEVIATION_IOS);
    counts.len() >= MIN_INTERVALS_OF_USUAL_RATE
        && median(distances).is_some_and(|distance| distance <= allowed)
}

/// I/Os of each interval of full length.
fn counts_of_whole_intervals(evidence: &Evidence) -> Vec<f64> {
    let series = &evidence.entry().series;
    let longest = series.iter().map(|interval| interval.length).max();
    series
        .iter()
        .filter(|interval| Some(interval.length) == longest)
        .map(|interval| {
            let ios: u64 = interval.directions.iter().map(|(_, d)| d.ios).sum();
            ios as f64
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The side of a planned rate that was not reached, from the same rate at twice the depth.
pub(super) fn probed_rate(evidence: &Evidence) -> Option<Diagnosis> {
    let depth = evidence.effective_depth();
    let deeper = deeper_probe(evidence, depth)?;
    let usual = usual_rate(evidence);
    let growth = deeper.iops / usual.max(1e-9);
    let both = depths_as_text(evidence, depth, usual, deeper);
    let planned = planned_load(evidence.entry());
    // Where the depth is the limit, twice the depth gives twice the rate, or the planned one.
    let (from, to) = evidence.context.span();
    let due =
        evidence.entry().counts.planned as f64 / to.saturating_sub(from).as_secs_f64().max(1e-9);
    let between = f64::midpoint(1.0, (due / usual.max(1e-9)).clamp(1.0, 2.0));
    let mut diagnosis = if growth <= between {
        fact(
            LimitCause::Target,
            format!(
                "The target does not reach {planned}, a deeper queue only adds waiting: {both}."
            ),
        )
    } else {
        fact(
            LimitCause::QueueDepth,
            format!("The queue depth is too small for {planned}: {both}."),
        )
    };
    if (growth - between).abs() < error_of_probe(deeper) {
        make_likely(&mut diagnosis);
    }
    diagnosis.evidence_for = probes_as_evidence(evidence);
    Some(diagnosis)
}
