//! The queue: the depth, the target, or both. It is a limit only where nothing else is, and only other depths tell the side.

use fathom_model::{Certainty, DepthProbe, Diagnosis, Direction, LimitCause};

use super::ceiling::{
    MIN_INTERVALS_OF_USUAL_RATE, RateShape, ceiling, error_of_served, ios_alone, is_at_ceiling,
    jitter_ns, measurement_of_limits, of_run, rate_shape, served_at_once, takes_equal_times,
    time_alone,
};
use super::disturbance::{
    MIN_GAIN, flush_share, is_used_up_beside_own_rate, share_lost_to_heat, stalls, standstills,
    stops, total,
};
use super::target_parts;
use super::{
    Evidence, REACHED_LIMIT_SHARE, balanced_limits, control_group_near_even_rate, fact, likely,
    planned_load,
};
use crate::figures::{count, duration, rate};
use crate::members::Member;
use crate::summary_sentences::closed_latency;

/// Error of the number of I/Os that a target serves at once.
const MAX_ERROR_OF_BALANCE: f64 = 0.03;
/// Below this growth of the rate at twice the depth, more I/Os in flight make the target slower.
const MAX_GROWTH_OF_FALLING_RATE: f64 = 0.9;
/// A target gains at most this many times what twice the depth gains where about as many I/Os are in flight as it serves at once.
const MAX_GAIN_OF_BALANCED_TARGET: f64 = 1.5;
/// A small gain of twice the depth is no chance from so many standard errors of its probe on: of balanced loads, one in fifteen has it.
const STANDARD_ERRORS_OF_SMALL_GAIN: f64 = 2.0;
/// The rate of a run is that of at least this share of its time, also where this program and the target stood still for longer.
const MIN_SHARE_OF_MOVING_TIME: f64 = 0.05;
/// A worker that uses a smaller share of a CPU is not the limit itself.
const MAX_CPU_SHARE_OF_IDLE_WORKER: f64 = 0.85;
/// Up to this growth of the rate at twice the depth, the target is the limit: it is within the error of a probe.
const MAX_GROWTH_OF_TARGET_LIMIT: f64 = 1.1;
/// Above this growth, the depth may gain something as well.
const MAX_GROWTH_OF_TARGET_AS_FACT: f64 = 1.05;
/// An interval whose I/Os differ by a larger share from those of the median is no usual one.
const MAX_DISTANCE_OF_USUAL_INTERVAL: f64 = 0.1;
/// One in ten writes that takes a smaller share of the mean time did not wait for the medium: of exponential times, one in ten takes 10.5 %,
/// and of a mix of two of them whose longer one is ten times the other and takes as much of the time, 6.3 %.
const MAX_TIME_SHARE_OF_BUFFERED_WRITE: f64 = 0.05;
/// Without a link, an I/O alone is at most so many times as fast: what is left of its time is the difference of two measured ones.
const MAX_GAIN_WITHOUT_LINK: f64 = 20.0;
/// The mean time of I/Os that wait for none is at most so many times what they vary above the fastest one.
const JITTERS_OF_EQUAL_TIMES: f64 = 2.0;
/// Where one write at a time reaches this share of the rate, more in flight gain nothing.
const MIN_RATE_SHARE_OF_BUFFERED: f64 = 0.9;
/// With more in flight, writes take at least this share of the time.
const MIN_RESPONSE_SHARE_OF_DEEPER: f64 = 0.8;
/// A probe whose queue was filled to a smaller share did not need its depth.
const FILLED_PROBE_SHARE: f64 = 0.9;
/// From this growth of the rate at twice the depth on, the depth is the limit. Twice is the most that is possible.
pub(super) const MIN_GROWTH_OF_DEPTH_LIMIT: f64 = 1.6;
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
    if diagnosis.cause == LimitCause::Ceiling
        && let Some(limited) = control_group_near_even_rate(evidence)
    {
        diagnosis = limited;
    }
    target_parts::refine(evidence, &mut diagnosis);
    if diagnosis.cause == LimitCause::Ceiling
        && let Some(balanced) = balanced_limits(evidence, || {
            let usual = evidence.figures.rate("iops", usual_rate(evidence));
            format!("The rate may be that of a ceiling of {usual} per second")
        })
    {
        diagnosis = balanced;
    }
    if let Some((engine, ignored)) = evidence.ignored_depth() {
        diagnosis.sentences.insert(
            0,
            format!("{engine} ignores iodepth={ignored}: each job has one I/O in flight."),
        );
    }
    diagnosis
}

/// What one depth tells: nothing about the side of the knee.
fn from_one_depth(evidence: &Evidence, depth: f64, mean: f64) -> Diagnosis {
    if let Some(diagnosis) = from_even_rate(evidence, depth, mean) {
        return diagnosis;
    }
    let little = &evidence.entry().little;
    let (option, half, double) = other_depths(evidence, depth);
    let (sentence, settled_by) = if depth < 2.0 {
        (
            format!(
                "One I/O at a time: {} per second at {} each. One depth does not tell what more in flight would reach; a run with \
                 {option}=2 and one with {option}=8 do.",
                evidence.figures.rate("iops", little.iops),
                evidence.figures.duration("mean_ns", mean),
            ),
            format!("the same load with {option}=2 and {option}=8"),
        )
    } else {
        let jobs = evidence.entry().members.max(1);
        let of_jobs = if jobs > 1 {
            let of_each = evidence
                .figures
                .rate("depth_of_job", depth / f64::from(jobs));
            let jobs = evidence.figures.count("jobs", jobs.into());
            format!(" ({jobs} jobs of depth {of_each})")
        } else {
            String::new()
        };
        (
            format!(
                "With {} in flight{of_jobs} an I/O takes {}. One depth does not tell whether the queue depth or the target is the limit; a run \
                 with {option}={half} and one with {option}={double} do.",
                evidence.figures.rate("depth", depth),
                evidence.figures.duration("mean_ns", mean),
            ),
            format!("the same load with {option}={half} and {option}={double}"),
        )
    };
    Diagnosis {
        sentences: vec![sentence],
        settled_by: Some(settled_by),
        ..Diagnosis::default()
    }
}

/// The option that sets the depth of the load, with its values for half and for twice the depth. A synchronous engine has one I/O in flight
/// for each job, whatever iodepth says.
fn other_depths(evidence: &Evidence, depth: f64) -> (&'static str, String, String) {
    let is_synchronous = evidence
        .members()
        .all(|member| member.job.engine.is_synchronous());
    let jobs = f64::from(evidence.entry().members.max(1));
    let (option, each) = if is_synchronous {
        ("numjobs", depth)
    } else {
        ("iodepth", (depth / jobs).max(1.0))
    };
    let half = (each / 2.0).ceil().max(1.0);
    (
        option,
        evidence.figures.rate("half_depth", half),
        evidence.figures.rate("double_depth", each * 2.0),
    )
}

/// What one depth tells of a target that takes the same time for each I/O: how many it has in service, from the first I/O, which found an
/// empty queue.
fn from_even_rate(evidence: &Evidence, depth: f64, mean: f64) -> Option<Diagnosis> {
    let usual = usual_rate(evidence);
    let served = served_at_once(evidence, depth, usual)?;
    let shape = rate_shape(evidence, depth, usual, None);
    let figures = format!(
        "{} in flight reach {} per second at {} each",
        evidence.figures.rate("depth", depth),
        evidence.figures.rate("iops", usual),
        evidence.figures.duration("mean_ns", mean)
    );
    // What waits for a sync is not in service.
    let served_and_synced = served + flush_share(evidence) * depth;
    // None waits where all take as long as the first one, as far as the times of this host tell.
    let fastest_ns = time_alone(evidence, depth).min_ns;
    let is_filled = depth >= 2.0
        && (served_and_synced >= depth * (1.0 - error_of_served(evidence))
            || mean - fastest_ns <= JITTERS_OF_EQUAL_TIMES * jitter_ns(evidence));
    if matches!(shape, RateShape::Ceiling) && !is_filled {
        let figures = format!(", because the rate does not vary, as one that is set: {figures}");
        return Some(ceiling(evidence, usual, &figures));
    }
    if depth < 2.0 {
        return None;
    }
    if is_filled && target_parts::is_split(evidence) {
        // Its requests are served, not its I/Os.
        return None;
    }
    let (cause, sentence) = if is_filled {
        (
            LimitCause::QueueDepth,
            format!(
                "The queue depth is probably the limit: {figures}, which is the time of the first one, that found an empty queue: none waits \
                 for another one."
            ),
        )
    } else {
        (
            LimitCause::Target,
            format!(
                "The target is probably the limit: {figures}, and the first one, which found an empty queue, took {}, so that {} in \
                 service at a time.",
                evidence
                    .figures
                    .duration("first_ns", served / usual.max(1e-9) * 1e9),
                match evidence
                    .figures
                    .rate("served_at_once", served.round().max(1.0))
                {
                    one if served < 1.5 => format!("{one} is"),
                    several => format!("{several} are"),
                },
            ),
        )
    };
    let (option, _, double) = other_depths(evidence, depth);
    let settled_by = format!("the same load with {option}={double}");
    Some(likely(cause, sentence, &settled_by))
}

/// I/Os per second in the usual intervals of the run: those near the median, which a stop or a stall does not change, as the
/// probes were not disturbed by it either.
pub(super) fn usual_rate(evidence: &Evidence) -> f64 {
    let mut counts = counts_of_whole_intervals(evidence);
    let intervals = counts.len();
    if median(counts.clone()) == Some(0.0) {
        // A standstill of more than half of the run is no usual rate either.
        counts.retain(|ios| *ios > 0.0);
    }
    let series = &evidence.entry().series;
    let longest = series.iter().map(|interval| interval.length).max();
    let (Some(length), Some(middle)) = (longest, median(counts.clone())) else {
        return rate_without_standstills(evidence);
    };
    if counts.len() < MIN_INTERVALS_OF_USUAL_RATE {
        return rate_without_standstills(evidence);
    }
    // I/Os of one depth may complete together at an edge, and independent ones vary by the root of their number: the mean of all such
    // intervals is more exact than one of them.
    let distance = (evidence.effective_depth() + 1.0).max(3.0 * middle.sqrt());
    let distance = distance.min(MAX_DISTANCE_OF_USUAL_INTERVAL * middle);
    let usual: Vec<f64> = counts
        .iter()
        .copied()
        .filter(|ios| (ios - middle).abs() <= distance)
        .collect();
    if usual.len() == intervals {
        return evidence.entry().little.iops;
    }
    usual.iter().sum::<f64>() / usual.len().max(1) as f64 / length.as_secs_f64().max(1e-9)
}

/// I/Os per second of the time in which neither this program nor the target stood still, where too few intervals show the usual rate.
fn rate_without_standstills(evidence: &Evidence) -> f64 {
    let (from, to) = evidence.context.span();
    let whole = to.saturating_sub(from).as_secs_f64();
    let lost = total(&stops(evidence)) + total(&stalls(evidence));
    let rest = (whole - lost.as_secs_f64()).max(MIN_SHARE_OF_MOVING_TIME * whole);
    evidence.entry().little.iops * whole / rest.max(1e-9)
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

/// The probe at about half the depth.
fn shallower_probe<'a>(evidence: &Evidence<'a>, depth: f64) -> Option<&'a DepthProbe> {
    counted_probes(evidence).find(|probe| (0.4..1.0).contains(&(f64::from(probe.depth) / depth)))
}

/// How many times the rate twice the depth reaches. Fewer in flight never complete more: where half of the depth did, after a pause, a
/// buffer took what the probes wrote, and they compare only with each other.
fn growth_at_twice_the_depth(evidence: &Evidence, deeper: &DepthProbe) -> f64 {
    let usual = usual_rate(evidence).max(1e-9);
    let shallower = shallower_probe(evidence, evidence.effective_depth());
    let buffered = shallower.filter(|probe| {
        evidence.main != Direction::Read
            && probe.iops > (MAX_GROWTH_OF_TARGET_LIMIT + error_of_probe(probe, 2.0)) * usual
    });
    deeper.iops / buffered.map_or(usual, |probe| probe.iops)
}

/// By which share the rate would be higher with twice the depth; `None` where that was not measured.
pub(super) fn gain_of_twice_the_depth(evidence: &Evidence) -> Option<f64> {
    let deeper = deeper_probe(evidence, evidence.effective_depth())?;
    Some(growth_at_twice_the_depth(evidence, deeper) - 1.0)
}

/// The figures of the run and of its probes as a phrase.
fn depths_as_text(evidence: &Evidence, depth: f64, usual: f64, deeper: &DepthProbe) -> String {
    let mut probes = counted_probes(evidence);
    let alone = probes.find(|probe| probe.depth == 1 && depth > 1.0);
    let alone_text = alone.map_or(String::new(), |probe| {
        let mean = evidence.figures.duration("alone_ns", probe.mean_ns);
        format!("; alone, an I/O takes {mean}")
    });
    format!(
        "{} in flight reach {} per second at {} each, {} reach {} at {}{alone_text}",
        evidence.figures.rate("depth", depth),
        evidence.figures.rate("iops", usual),
        evidence
            .figures
            .duration("mean_ns", evidence.entry().little.mean_ns),
        evidence.figures.count("deeper_depth", deeper.depth.into()),
        evidence.figures.rate("deeper_iops", deeper.iops),
        evidence.figures.duration("deeper_ns", deeper.mean_ns),
    )
}

/// By which share the rate would be higher without the first cause.
pub(super) fn gain_of_first_cause(evidence: &Evidence, cause: LimitCause) -> f64 {
    let gain = gain_by_probes(evidence, cause);
    let is_of_target = matches!(
        cause,
        LimitCause::Ceiling
            | LimitCause::ControlGroup
            | LimitCause::Knee
            | LimitCause::Target
            | LimitCause::TooDeep
    );
    match share_lost_to_heat(evidence) {
        Some(lost) if is_of_target => gain.min(gain_without_heat(evidence, lost)),
        _ => gain,
    }
}

/// By which share the rate could be higher than that of the time without heat, at most: the fastest I/Os are of that time too.
fn gain_without_heat(evidence: &Evidence, lost: f64) -> f64 {
    let min_ns = evidence.entry().directions[evidence.main].clat.min as f64;
    let cool = evidence.entry().little.iops / (1.0 - lost).max(1e-9);
    (evidence.effective_depth() * 1e9 / min_ns.max(1.0) / cool.max(1e-9) - 1.0).max(0.0)
}

/// By which share the rate would be higher with twice the depth, or with a target of twice the servers. Where as many I/Os are in flight as
/// the target serves at once, neither gains anything alone.
fn gain_by_probes(evidence: &Evidence, cause: LimitCause) -> f64 {
    let depth = evidence.effective_depth();
    if cause == LimitCause::ThinkTime {
        // Without the pauses, the queue is full.
        let used = evidence.entry().little.in_flight + flush_share(evidence) * depth;
        return depth / used.max(1e-9) - 1.0;
    }
    if cause == LimitCause::Link {
        // An I/O whose bytes need no time on it is as much faster, and so are N of them.
        let alone_ns = time_alone(evidence, depth).mean_ns;
        let without_ns = alone_ns - target_parts::transfer_ns(evidence);
        let faster = alone_ns / without_ns.max(alone_ns / MAX_GAIN_WITHOUT_LINK);
        return (bound_of_depth(evidence) * faster - 1.0).clamp(0.0, 1.0);
    }
    if matches!(cause, LimitCause::Ceiling | LimitCause::ControlGroup) {
        // Without the limit, the target or the depth is the next one. What the depth allows is known.
        return (bound_of_depth(evidence) - 1.0).clamp(0.0, 1.0);
    }
    if cause == LimitCause::RaidWritePenalty {
        return target_parts::gain_without_parity(evidence, bound_of_depth(evidence));
    }
    let Some(deeper) = deeper_probe(evidence, depth) else {
        return 1.0;
    };
    let usual = usual_rate(evidence).max(1e-9);
    let alone = ios_alone(evidence, depth).filter(|_| depth > 1.0);
    let served_at_once = alone.map_or(depth, |probe| usual * probe.mean_ns / 1e9);
    let error = alone.map_or(0.0, |probe| 2.0 / (probe.ios as f64).max(1.0).sqrt());
    // Half of the depth that reaches half of the rate is served at once as well, and so is the whole.
    let is_half_served = shallower_probe(evidence, depth).is_some_and(|probe| {
        let in_proportion = usual * f64::from(probe.depth) / depth;
        probe.iops <= (1.0 + error_of_probe(probe, 1.0)) * in_proportion
    });
    let is_balanced = (served_at_once / depth - 1.0).abs() <= error.max(MAX_ERROR_OF_BALANCE);
    match cause {
        LimitCause::QueueDepth => growth_at_twice_the_depth(evidence, deeper) - 1.0,
        LimitCause::Target if is_half_served && alone.is_none() && depth >= 2.0 => 0.0,
        LimitCause::Target if is_balanced && (depth < 2.0 || alone.is_some()) => 0.0,
        // Without another program that does its I/Os at a rate of its own, less is gained than with a target of twice the servers.
        LimitCause::Target if evidence.foreign_per_own_io > 0.0 => {
            1.0 + evidence.foreign_per_own_io
        }
        // N in flight that take R0 each alone are N / R0 per second at most, whatever the number of servers.
        _ => (bound_of_depth(evidence) - 1.0).clamp(0.0, 1.0),
    }
}

/// How many times the rate of the run its queue depth allows at most: N / R0, the asymptotic bound of a closed loop. Infinite where the time
/// R0 of an I/O that meets no other one is not known.
pub(super) fn bound_of_depth(evidence: &Evidence) -> f64 {
    let (depth, usual) = (evidence.effective_depth(), usual_rate(evidence));
    let has_pauses = |member: &Member<'_>| member.job.pace.think.is_some();
    if evidence.is_open_loop() || evidence.members().any(has_pauses) {
        return f64::INFINITY;
    }
    let alone = time_alone(evidence, depth);
    // Where one I/O at a time reaches the limit already, all but the fastest ones wait for it: also those of the run itself.
    let is_delayed =
        depth < 2.0 || alone.ios < MIN_PROBE_IOS || alone.iops >= REACHED_LIMIT_SHARE * usual;
    let (time_ns, error) = if is_delayed {
        (alone.min_ns, 0.0)
    } else if takes_equal_times(&alone) {
        (alone.mean_ns, 0.0)
    } else {
        (alone.mean_ns, 2.0 / (alone.ios as f64).sqrt())
    };
    // What waits for a sync has no place in the target.
    let writing = depth * (1.0 - flush_share(evidence));
    writing * 1e9 / time_ns.max(1.0) / usual.max(1e-9) * (1.0 + error)
}

/// A target that writes at the same rate with one in flight, because its buffer takes them.
fn buffered_target(evidence: &Evidence, depth: f64) -> Option<Diagnosis> {
    if evidence.main != Direction::Read && depth < 2.0 {
        return full_buffer(evidence);
    }
    let usual = usual_rate(evidence);
    let alone = counted_probes(evidence)
        .find(|probe| evidence.main != Direction::Read && probe.depth == 1 && depth > 1.0)?;
    let deeper = deeper_probe(evidence, depth)?;
    // A rate that does not vary is judged by its shape, and a queue of the device can be short.
    let is_reached = alone.iops >= MIN_RATE_SHARE_OF_BUFFERED * usual && !takes_equal_times(alone);
    is_reached.then(|| {
        let both = depths_as_text(evidence, depth, usual, deeper);
        let mut diagnosis = likely(
            LimitCause::Target,
            format!(
                "The target is probably the limit, because one write at a time reaches {} per second as well: {both}.",
                evidence.figures.rate("alone_iops", alone.iops)
            ),
            "the same load with a longer runtime",
        );
        diagnosis.evidence_for = probes_as_evidence(evidence);
        diagnosis
    })
}

/// A target whose buffer takes some writes at once and lets the others wait until it has room: it, and not the one write in flight, has most
/// of the time. A second one in flight finds the room that the pause before its probe made.
fn full_buffer(evidence: &Evidence) -> Option<Diagnosis> {
    let run = of_run(evidence);
    // At the usual rate, which a stop or a slow time of the target does not change.
    let mean_ns = evidence.effective_depth() * 1e9 / usual_rate(evidence).max(1e-9);
    let (option, _, double) = other_depths(evidence, 1.0);
    (run.p10_ns < MAX_TIME_SHARE_OF_BUFFERED_WRITE * mean_ns).then(|| {
        likely(
            LimitCause::Target,
            format!(
                "The target is probably the limit: one in ten writes takes {} or less and the mean is {}, as where a buffer takes some at \
                 once and the others wait until it has room.",
                evidence.figures.duration("p10_ns", run.p10_ns),
                evidence.figures.duration("mean_ns", mean_ns)
            ),
            &format!("the same load with {option}={double} and a longer runtime"),
        )
    })
}

/// What other depths of the same load tell.
fn by_probes(evidence: &Evidence, depth: f64) -> Option<Diagnosis> {
    if let Some(diagnosis) = buffered_target(evidence, depth) {
        return Some(diagnosis);
    }
    let deeper = deeper_probe(evidence, depth).filter(|deeper| {
        // With more in flight none takes less time, unless the target did something else meanwhile, as one that collects garbage does.
        evidence.main == Direction::Read
            || deeper.mean_ns >= MIN_RESPONSE_SHARE_OF_DEEPER * of_run(evidence).mean_ns
    })?;
    let usual = usual_rate(evidence);
    let growth = growth_at_twice_the_depth(evidence, deeper);
    let both = depths_as_text(evidence, depth, usual, deeper);
    let mut diagnosis = by_growth(evidence, deeper, growth, &both);
    let error = error_of_probe(deeper, 2.0) * growth;
    let is_settled = match diagnosis.cause {
        LimitCause::Target => growth <= MAX_GROWTH_OF_TARGET_AS_FACT,
        LimitCause::TooDeep => growth + error < MAX_GROWTH_OF_FALLING_RATE,
        LimitCause::QueueDepth => growth - error > MAX_GROWTH_OF_TARGET_LIMIT,
        LimitCause::Knee => {
            evidence.main == Direction::Read
                && growth - error > MAX_GROWTH_OF_TARGET_LIMIT
                && growth + error < MIN_GROWTH_OF_DEPTH_LIMIT
        }
        _ => growth + error < MIN_GROWTH_OF_DEPTH_LIMIT,
    };
    if !is_settled && diagnosis.certainty == Certainty::Fact {
        make_likely(&mut diagnosis);
    }
    if diagnosis.cause != LimitCause::QueueDepth {
        name_busy_worker(evidence, &mut diagnosis, &both);
    }
    diagnosis.evidence_for = probes_as_evidence(evidence);
    Some(diagnosis)
}

/// The cause by what twice the depth gains, before the error of the probe; `both` has the figures.
fn by_growth(evidence: &Evidence, deeper: &DepthProbe, growth: f64, both: &str) -> Diagnosis {
    let (depth, usual) = (evidence.effective_depth(), usual_rate(evidence));
    let used_up = gain_of_used_up_target(evidence, deeper, growth);
    if growth >= MIN_GROWTH_OF_DEPTH_LIMIT {
        fact(
            LimitCause::QueueDepth,
            format!("The queue depth is the limit: {both}."),
        )
    } else if growth < MAX_GROWTH_OF_FALLING_RATE {
        fact(
            LimitCause::TooDeep,
            format!("The target is the limit, and a deeper queue makes it slower: {both}."),
        )
    } else if used_up.is_some()
        && is_at_ceiling(evidence, depth, deeper)
        && bound_of_depth(evidence) > growth
    {
        ceiling(
            evidence,
            deeper.iops,
            &format!(
                ", because twice the depth completes I/Os more evenly than a target whose service times vary: {both}"
            ),
        )
    } else if let Some(gain) = used_up.filter(|_| !gains_more_than_target(evidence, deeper, growth))
    {
        target_or_ceiling(
            evidence,
            rate_shape(evidence, depth, usual, Some(deeper)),
            // Below a ceiling that only twice the depth reaches, the rate of the run is not that of the ceiling.
            if growth >= 1.0 + MIN_GAIN {
                deeper.iops
            } else {
                usual
            },
            "is the limit",
            &format!(", {gain}: {both}"),
        )
    } else {
        fact(
            LimitCause::Knee,
            format!(
                "This depth is near the knee, more in flight gain {}: {both}.",
                evidence.figures.percent("gain_of_depth", growth - 1.0)
            ),
        )
    }
}

/// What twice the depth gains where the target is the limit, as a phrase; `None` where it is not the limit.
fn gain_of_used_up_target(evidence: &Evidence, deeper: &DepthProbe, growth: f64) -> Option<String> {
    if growth < 1.0 + MIN_GAIN {
        Some("a deeper queue only adds waiting".to_owned())
    } else if growth <= MAX_GROWTH_OF_TARGET_LIMIT {
        let gain = evidence.figures.percent("gain_of_depth", growth - 1.0);
        Some(format!("a deeper queue gains little ({gain})"))
    } else if is_used_up_beside_own_rate(evidence) {
        Some("more in flight do not raise what it does for all programs together".to_owned())
    } else {
        let error = error_of_probe(deeper, 1.0);
        (growth - error * growth <= MAX_GROWTH_OF_TARGET_LIMIT).then(|| {
            format!(
                "what a deeper queue gains is within the error of its short measurement ({})",
                evidence.figures.percent("error_of_probe", error)
            )
        })
    }
}

/// Whether twice the depth gains something, and about as much as a target of any number of servers would: N in flight that take R0 each alone
/// are N / R0 per second at most.
fn gains_more_than_target(evidence: &Evidence, deeper: &DepthProbe, growth: f64) -> bool {
    let depth = evidence.effective_depth();
    let Some(alone) = ios_alone(evidence, depth) else {
        return false;
    };
    let writing = depth * (1.0 - flush_share(evidence));
    let bound = writing * 1e9 / alone.mean_ns.max(1.0) / usual_rate(evidence).max(1e-9);
    let certain = growth * (1.0 - error_of_probe(deeper, STANDARD_ERRORS_OF_SMALL_GAIN));
    certain > 1.0
        && growth >= 1.0 + MIN_GAIN
        && bound - 1.0 < MAX_GAIN_OF_BALANCED_TARGET * (growth - 1.0)
}

/// The diagnosis of a rate that twice the depth does not raise; `relation` says what the target has to do with it, and `figures` what was
/// measured.
fn target_or_ceiling(
    evidence: &Evidence,
    shape: RateShape,
    usual: f64,
    relation: &str,
    figures: &str,
) -> Diagnosis {
    let text = |or: &str| format!("The target{or} {relation}{figures}.");
    match shape {
        RateShape::Ceiling => ceiling(evidence, usual, figures),
        RateShape::Even => likely(
            LimitCause::Target,
            text(", or a ceiling of its volume,"),
            &measurement_of_limits(evidence),
        ),
        RateShape::OfTarget => fact(LimitCause::Target, text("")),
    }
}

/// Relative error of the rate of a probe: so many standard errors of a count of the half of its I/Os that is not at its edges, or the I/Os
/// of one depth that complete together.
pub(super) fn error_of_probe(probe: &DepthProbe, standard_errors: f64) -> f64 {
    let ios = (probe.ios as f64).max(1.0);
    (standard_errors / (ios / 2.0).sqrt()).max(f64::from(probe.depth) / ios)
}

fn make_likely(diagnosis: &mut Diagnosis) {
    diagnosis.certainty = Certainty::Likely;
    diagnosis.settled_by = Some("the same load with a longer runtime".to_owned());
}

/// Whether a worker used most of the CPU time that the hypervisor left it while the load went on.
pub(super) fn has_busy_worker(evidence: &Evidence) -> bool {
    let (from, to) = evidence.context.span();
    let whole = to.saturating_sub(from).as_secs_f64().max(1e-9);
    let stood_still = total(&standstills(evidence)).as_secs_f64() / whole;
    let stolen = evidence.steal_percent.unwrap_or(0.0) / 100.0;
    let available = (1.0 - stolen - stood_still).max(MIN_SHARE_OF_MOVING_TIME);
    evidence
        .members()
        .any(|member| member.cpu_share() >= MAX_CPU_SHARE_OF_IDLE_WORKER * available)
}

/// A worker that is busy itself is a rival of the target: both complete no more with more in flight.
fn name_busy_worker(evidence: &Evidence, diagnosis: &mut Diagnosis, both: &str) {
    if !has_busy_worker(evidence) {
        return;
    }
    diagnosis.cause = LimitCause::Program;
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

/// I/Os of each interval of full length.
pub(super) fn counts_of_whole_intervals(evidence: &Evidence) -> Vec<f64> {
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

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The side of a planned rate that was not reached, from the same rate at other depths.
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
    let shallower = shallower_probe(evidence, depth);
    // A probe begins without a backlog, so that its queue is not full where the planned rate is near that of the target.
    let is_filled =
        deeper.iops * deeper.mean_ns / 1e9 >= FILLED_PROBE_SHARE * f64::from(deeper.depth);
    let sufficient =
        shallower.filter(|probe| probe.iops * MAX_GROWTH_OF_TARGET_LIMIT >= usual && !is_filled);
    let relation = format!("does not reach {planned}");
    let shape = || rate_shape(evidence, depth, usual, Some(deeper));
    let mut diagnosis = if let Some(probe) = sufficient {
        let figures = format!(
            ", and half of the depth suffices for its rate: {} in flight reach {} per second, {} reach {}",
            evidence.figures.rate("depth", depth),
            evidence.figures.rate("iops", usual),
            evidence.figures.count("half_depth", probe.depth.into()),
            evidence.figures.rate("half_iops", probe.iops)
        );
        target_or_ceiling(evidence, shape(), usual, &relation, &figures)
    } else if growth <= between {
        let figures = format!(", a deeper queue only adds waiting: {both}");
        target_or_ceiling(evidence, shape(), usual, &relation, &figures)
    } else {
        fact(
            LimitCause::QueueDepth,
            format!("The queue depth is too small for {planned}: {both}."),
        )
    };
    let is_settled =
        sufficient.is_none() && (growth - between).abs() >= error_of_probe(deeper, 2.0);
    if !is_settled && diagnosis.certainty == Certainty::Fact {
        make_likely(&mut diagnosis);
    }
    diagnosis.evidence_for = probes_as_evidence(evidence);
    target_parts::refine(evidence, &mut diagnosis);
    Some(diagnosis)
}
