//! What takes a share of the time of a run: this program or the target stood still, or another program used the target.

use fathom_model::{Certainty, DepthProbe, Diagnosis, LimitCause, MergedInterval, Nanos, TimeSpan};

use super::ceiling::ios_alone;
use super::queue::{
    MIN_GROWTH_OF_DEPTH_LIMIT, counts_of_whole_intervals, deeper_probe, gain_of_twice_the_depth,
    median, usual_rate,
};
use super::target_parts;
use super::{Evidence, likely, service_ns};
use crate::array_members::{MIN_RATIO_OF_SLOW_MEMBER, SlowMember, find_slow_member};
use crate::summary_sentences::{concerns, user_latency};

/// What gains less than this where it is absent is no cause.
pub(super) const MIN_GAIN: f64 = 0.05;
/// Share of the waiting time of an open loop that a backlog must explain to be its cause.
const MIN_SHARE_OF_WAITING: f64 = 0.5;
/// Growth of all I/Os of a device at twice the depth up to which it is used up.
const MAX_GROWTH_OF_USED_UP_TARGET: f64 = 1.1;
/// A program that loses less than this share of what the load gains at twice the depth has a rate of its own.
const MIN_LOSS_SHARE_OF_SHARED_QUEUE: f64 = 0.5;
/// A load that completes this share of its planned I/Os keeps up, but for those in flight at the edges.
const MIN_SHARE_OF_KEPT_UP_PLAN: f64 = 0.98;
/// I/Os that tell whether a load keeps up.
const MIN_IOS_OF_KEPT_UP_PLAN: u64 = 100;
/// Writes that take more than this times as long as one alone wait for each other.
const MAX_RESPONSE_OF_IDLE_TARGET: f64 = 1.2;
/// Where more in flight wait in the writes, these take more than this times as long at twice the depth.
const MIN_GROWTH_OF_WAITING_WRITES: f64 = 1.5;
/// The median of the best quarter of independent counts is so many of their standard deviations above their mean.
const STANDARD_DEVIATIONS_OF_BEST_QUARTER: f64 = 1.15;
/// And so many times as far as above the lowest count of that quarter, which is 0.67 standard deviations above the mean.
const SPREADS_OF_BEST_QUARTER: f64 = 2.4;
/// The fastest of many I/Os takes a smaller share of the usual time where the times vary.
const MIN_TIME_SHARE_OF_EQUAL_TIMES: f64 = 0.8;
/// A run is slower than its earlier ones where their median is higher by this share; runs on a disk that is shared differ by a tenth.
const MIN_GAIN_OF_EARLIER_RUNS: f64 = 0.25;
/// A run that is slower than its earlier ones reaches at most this share of the slowest of them.
const MAX_RATE_SHARE_OF_SLOWEST_EARLIER_RUN: f64 = 0.9;
/// A disturbance that takes this share of what was lost since earlier runs explains it.
const MIN_SHARE_OF_EXPLAINED_LOSS: f64 = 0.5;
/// I/Os with one in flight that tell how long a slow member takes.
const MIN_IOS_OF_ARRAY_ALONE: u64 = 5;
/// The standard deviation of turns with and without a slow member, as a share of their mean.
const STANDARD_DEVIATION_OF_TURNS: f64 = 0.5;
/// The queue of one of several equal members is by chance not so many times as long as those of the others.
const MAX_RATIO_OF_EQUAL_MEMBERS: f64 = 5.0;
/// Intervals that show how heat lowers the rate.
const MIN_INTERVALS_OF_HEAT: usize = 12;
/// Shorter stops of this program leave the rate of a closed loop as it is.
const MIN_STOP: Nanos = Nanos::from_millis(100);

/// What disturbs a run.
pub(super) struct Disturbance {
    cause: LimitCause,
    /// By which share the rate would be higher without it.
    gain: f64,
    sentence: String,
}

impl Disturbance {
    /// The sentence of this disturbance where it is the first cause.
    fn as_first_cause(&self) -> String {
        let claim = match self.cause {
            LimitCause::Heat => "The heat of the target is probably the limit: ",
            LimitCause::SlowMember => "A slow member of the array is probably the limit: ",
            LimitCause::SlowerThanBefore => {
                "The target is probably the limit because it is slower than before: "
            }
            _ => return self.sentence.clone(),
        };
        let mut letters = self.sentence.chars();
        let first = letters.next().into_iter().flat_map(char::to_lowercase);
        format!("{claim}{}{}", first.collect::<String>(), letters.as_str())
    }

    /// What settles whether it is the cause.
    fn settled_by(&self) -> &'static str {
        match self.cause {
            LimitCause::Heat => "the same run after the device has cooled down",
            LimitCause::SlowMember => "the same reads of each member alone",
            LimitCause::SlowerThanBefore => {
                "the same load on a drive of the same kind beside it, and the health of this one (`fathom devices`)"
            }
            _ => "the same run without it",
        }
    }
}

/// What disturbs the run of an entry, and how much.
pub(super) fn disturbances(evidence: &Evidence) -> Vec<Disturbance> {
    let (from, to) = evidence.context.span();
    let whole = to.saturating_sub(from);
    let mut all = Vec::new();
    let mut add_lost = |cause, what: &str, spans: &[TimeSpan]| {
        let lost = total(spans);
        let rest = whole.saturating_sub(lost).as_secs_f64();
        let gain = lost.as_secs_f64() / rest.max(1e-9);
        all.push(Disturbance {
            cause,
            gain,
            sentence: format!(
                "{what} for {} of {} ({}).",
                evidence.figures.duration("lost_ns", lost.get() as f64),
                evidence.figures.duration("run_ns", whole.get() as f64),
                evidence.figures.percent(
                    "lost_share",
                    lost.as_secs_f64() / whole.as_secs_f64().max(1e-9)
                ),
            ),
        });
    };
    add_lost(
        LimitCause::HostCpu,
        "This program did not run",
        &stops(evidence),
    );
    add_lost(
        LimitCause::TargetStall,
        "The target completed nothing",
        &stalls(evidence),
    );
    all.extend(neighbour(evidence).map(|sentence| Disturbance {
        cause: LimitCause::Neighbour,
        gain: evidence.foreign_per_own_io,
        sentence,
    }));
    all.extend(flush(evidence));
    all.extend(heat(evidence));
    all.extend(slow_member(evidence));
    all.extend(slower_than_before(evidence, &all));
    all.retain(|one| one.gain >= MIN_GAIN);
    all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    all
}

/// A target that does less than in each earlier run of the same load, where no other disturbance explains half of that: as a drive that
/// fails slowly (Lu et al., Perseus, FAST 2023).
fn slower_than_before(evidence: &Evidence, others: &[Disturbance]) -> Option<Disturbance> {
    let earlier = evidence.earlier.filter(|_| !evidence.is_open_loop())?;
    let iops = evidence.entry().directions[evidence.main].iops;
    let gain = earlier.median_iops / iops.max(1e-9) - 1.0;
    let is_explained = others
        .iter()
        .any(|one| one.gain >= MIN_SHARE_OF_EXPLAINED_LOSS * gain);
    let is_slower = gain >= MIN_GAIN_OF_EARLIER_RUNS
        && iops < MAX_RATE_SHARE_OF_SLOWEST_EARLIER_RUN * earlier.least_iops;
    (is_slower && !is_explained).then(|| Disturbance {
        cause: LimitCause::SlowerThanBefore,
        gain,
        sentence: format!(
            "The same load did {} per second in the median of {} earlier runs on this device, {} at least, and {} now.",
            evidence.figures.rate("earlier_iops", earlier.median_iops),
            evidence.figures.count("earlier_runs", earlier.count.into()),
            evidence.figures.rate("least_earlier_iops", earlier.least_iops),
            evidence.figures.rate("iops", iops),
        ),
    })
}

/// The share of the time of the slots of the queue in which they wait for a sync.
pub(super) fn flush_share(evidence: &Evidence) -> f64 {
    let (from, to) = evidence.context.span();
    let sync = &evidence.entry().sync;
    let slots_ns = to.saturating_sub(from).get() as f64 * evidence.effective_depth();
    (sync.mean * sync.n as f64 / slots_ns.max(1.0)).min(1.0)
}

/// The syncs between the writes. Without them the slots of the queue would write in that time, unless the writes wait for each other
/// already.
fn flush(evidence: &Evidence) -> Option<Disturbance> {
    let share = flush_share(evidence);
    let alone = ios_alone(evidence, evidence.effective_depth());
    // One at a time never waits for another one.
    let is_waiting = alone.filter(|alone| alone.depth < evidence.effective_depth() as u32);
    let is_waiting = is_waiting.is_some_and(|alone| {
        let error = 2.0 / (alone.ios as f64).max(1.0).sqrt();
        evidence.entry().little.mean_ns > (MAX_RESPONSE_OF_IDLE_TARGET + error) * alone.mean_ns
    });
    let is_waiting = is_waiting || wait_in_writes_only(evidence);
    let sync = &evidence.entry().sync;
    (share > 0.0 && !is_waiting).then(|| Disturbance {
        cause: LimitCause::Flush,
        gain: share / (1.0 - share).max(1e-9),
        sentence: format!(
            "{} syncs took {} each, which is {} of the time of the queue.",
            evidence.figures.count("syncs", sync.n),
            evidence.figures.duration("sync_ns", sync.mean),
            evidence.figures.percent("sync_share", share),
        ),
    })
}

/// Whether twice the depth gains nothing because its writes wait for each other: then the slots that write in place of a sync gain
/// nothing either. Where the syncs are what waits, the writes take as long as before.
fn wait_in_writes_only(evidence: &Evidence) -> bool {
    let gains_nothing = gain_of_twice_the_depth(evidence).is_some_and(|gain| gain < MIN_GAIN);
    let mean_ns = evidence.entry().little.mean_ns;
    deeper_probe(evidence, evidence.effective_depth()).is_some_and(|probe| {
        gains_nothing && probe.mean_ns > MIN_GROWTH_OF_WAITING_WRITES * mean_ns
    })
}

/// The share of the rate of its best quarter that a run loses because its target was hot; `None` where the target reported no heat, or no
/// interval shows the rate without it.
pub(super) fn share_lost_to_heat(evidence: &Evidence) -> Option<f64> {
    evidence.parts.throttled?;
    let mut counts = counts_of_whole_intervals(evidence);
    // Standstills have a share of their own.
    counts.retain(|ios| *ios > 0.0);
    if counts.len() < MIN_INTERVALS_OF_HEAT {
        return None;
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.sort_by(|a, b| b.total_cmp(a));
    counts.truncate(counts.len() / 4);
    let (best, least) = (median(counts.clone())?, counts.last().copied()?);
    // Counts vary by their root, or less.
    let by_spread = SPREADS_OF_BEST_QUARTER * (best - least);
    let by_chance = (STANDARD_DEVIATIONS_OF_BEST_QUARTER * best.sqrt()).min(by_spread);
    let cool = best - by_chance;
    let lost = 1.0 - mean / cool.max(1e-9);
    (lost / (1.0 - lost).max(1e-9) >= MIN_GAIN).then_some(lost)
}

/// How long a device was hot, as a phrase. Devices count whole seconds.
fn throttled_time(evidence: &Evidence, seconds: u64) -> String {
    match seconds {
        0 => "for less than a second".to_owned(),
        _ => {
            let time = evidence
                .figures
                .duration("throttled_ns", seconds as f64 * 1e9);
            format!("for {time}")
        }
    }
}

/// A target that slowed itself down because it was hot, and how much that took of the rate.
fn heat(evidence: &Evidence) -> Option<Disturbance> {
    let lost = share_lost_to_heat(evidence)?;
    let (device, seconds) = evidence.parts.throttled?;
    let mean = evidence.entry().little.iops;
    Some(Disturbance {
        cause: LimitCause::Heat,
        gain: lost / (1.0 - lost).max(1e-9),
        sentence: format!(
            "{device} reported that it was hot {} since the run began; the run did about {} per second in its best quarter, and {} on \
             average.",
            throttled_time(evidence, seconds),
            evidence
                .figures
                .rate("cool_iops", mean / (1.0 - lost).max(1e-9)),
            evidence.figures.rate("iops", mean),
        ),
    })
}

/// A member of an array that is slower than the others, and what the run would gain if it were as fast.
fn slow_member(evidence: &Evidence) -> Option<Disturbance> {
    let members = &evidence.parts.members;
    let SlowMember {
        slowest,
        others,
        usual_ns,
    } = find_slow_member(members)?;
    // Without it, an I/O takes what the others take, once or for the reads and the writes of a parity.
    let without_ns =
        target_parts::requests_in_turn(evidence) * turn_of_equal_members(evidence, usual_ns);
    let transfer_ns = target_parts::transfer_ns(evidence);
    let mut gain = evidence.entry().little.mean_ns / (without_ns + transfer_ns).max(1.0);
    // Queues of equal members differ as well, by chance and for long: then the others wait too, and are as busy.
    let alone = ios_alone(evidence, evidence.effective_depth());
    let turns = target_parts::requests_in_turn(evidence);
    let others_wait =
        alone.is_none_or(|alone| turns * usual_ns > MAX_RESPONSE_OF_IDLE_TARGET * alone.mean_ns);
    if others_wait && slowest.mean_ns < MAX_RATIO_OF_EQUAL_MEMBERS * usual_ns {
        let busiest = others.iter().map(|one| one.busy_share).fold(0.0, f64::max);
        gain = gain.min(slowest.busy_share / busiest.max(1e-9));
    }
    // In its queue requests wait: a member as fast as the others serves them so many times as fast, not so many times as long as they took.
    gain = gain.min(slowness_without_queue(evidence).unwrap_or(f64::INFINITY));
    Some(Disturbance {
        cause: LimitCause::SlowMember,
        gain: gain - 1.0,
        sentence: format!(
            "The member {} of the array takes {} for a request, and the others {}.",
            slowest.name,
            evidence.figures.duration("slow_member_ns", slowest.mean_ns),
            evidence.figures.duration("other_members_ns", usual_ns),
        ),
    })
}

/// The mean time of a turn of an I/O that needs several members at once whose requests take so long each: the longest of `k` exponential
/// times is the sum of 1/1 to 1/k times their mean.
fn turn_of_equal_members(evidence: &Evidence, usual_ns: f64) -> f64 {
    let fastest = evidence.entry().directions[evidence.main].clat.min as f64;
    let turns = target_parts::requests_in_turn(evidence);
    let varies = members_alone(evidence).map_or(
        fastest < MIN_TIME_SHARE_OF_EQUAL_TIMES * turns * usual_ns,
        |alone| vary(evidence, &alone),
    );
    if !varies {
        return usual_ns;
    }
    let needed = target_parts::members_in_turn(evidence) as u32;
    (1..=needed).map(|one| usual_ns / f64::from(one)).sum()
}

/// The I/Os of an array with one in flight, also if there are few of them.
fn members_alone(evidence: &Evidence) -> Option<DepthProbe> {
    let depth = evidence.effective_depth();
    if depth <= 1.0 {
        let mut alone = ios_alone(evidence, depth)?;
        alone.mean_ns = evidence.entry().little.mean_ns;
        return Some(alone);
    }
    let mut probes = evidence.probes.iter();
    let has_ios = |probe: &&DepthProbe| probe.depth == 1 && probe.ios >= MIN_IOS_OF_ARRAY_ALONE;
    probes.find(has_ios).copied()
}

/// Whether the times of I/Os that are alone vary although all need the same members: most need no slow one, so that the fastest ones are equal.
fn vary(evidence: &Evidence, alone: &DepthProbe) -> bool {
    let of_run = evidence.entry().directions[evidence.main].clat.min as f64;
    alone.min_ns.min(of_run) < MIN_TIME_SHARE_OF_EQUAL_TIMES * alone.p10_ns
}

/// How many times as long as the others the slow member takes for a request that waits for none: each turn of an I/O ends with the slowest of
/// the members that it needs, and with one in flight nothing else takes time. `None` where that was not measured, or shows no slow member
/// because the others have queues of their own under the load.
pub(super) fn slowness_without_queue(evidence: &Evidence) -> Option<f64> {
    let members = &evidence.parts.members;
    let usual_ns = find_slow_member(members)?.usual_ns;
    let turns = target_parts::requests_in_turn(evidence);
    let alone = members_alone(evidence)?;
    // Under the load the others may have queues as well; the fastest ones of equal I/Os that are alone need no slow member.
    let usual_ns = match vary(evidence, &alone) {
        true => usual_ns,
        false => usual_ns.min(alone.p10_ns / turns),
    };
    let error = STANDARD_DEVIATION_OF_TURNS / (alone.ios as f64).max(1.0).sqrt();
    let members_ns = alone.mean_ns * (1.0 + error) - target_parts::transfer_ns(evidence);
    let turn_ns = members_ns / turns;
    let share = target_parts::members_in_turn(evidence) / members.len() as f64;
    let slowness = (turn_ns / usual_ns.max(1.0) - (1.0 - share)) / share;
    (slowness >= MIN_RATIO_OF_SLOW_MEMBER).then_some(slowness)
}

/// Says that a target was hot where no interval of the run shows what it does when it is not.
pub(super) fn add_heat_without_rate(evidence: &Evidence, diagnosis: &mut Diagnosis) {
    let Some((device, seconds)) = evidence.parts.throttled else {
        return;
    };
    if share_lost_to_heat(evidence).is_some() || diagnosis.cause == LimitCause::NotKnown {
        return;
    }
    if diagnosis.certainty == Certainty::Fact {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some("the same run after the device has cooled down".to_owned());
    }
    diagnosis.sentences.push(format!(
        "{device} reported that it was hot {} since the run began; the run does not show its rate without that.",
        throttled_time(evidence, seconds),
    ));
}

/// Adds another program that uses the target to a cause of the plan.
pub(super) fn add_neighbour(evidence: &Evidence, diagnosis: &mut Diagnosis) {
    if let Some(sentence) = neighbour(evidence) {
        make_likely_beside(diagnosis);
        diagnosis.sentences.push(sentence);
    }
}

/// Another program may take more or less of the target at another time.
fn make_likely_beside(diagnosis: &mut Diagnosis) {
    if diagnosis.certainty == Certainty::Fact {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some("the same run without the other program".to_owned());
    }
}

/// What says that another program uses the target.
fn neighbour(evidence: &Evidence) -> Option<String> {
    let foreign = evidence.foreign_per_own_io;
    (foreign >= MIN_GAIN).then(|| {
        format!(
            "The device did {} other I/Os for each of this run: of another program, or of the file system.",
            evidence.figures.rate("foreign_per_own_io", foreign)
        )
    })
}

/// What another program takes of a target, by other depths of the load.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NeighbourEffect {
    /// The target does more in all with more in flight: it is not used up, and the other program takes nothing.
    Nothing,
    /// What it does at a rate of its own.
    OwnRate,
    /// It keeps I/Os in flight as well, and each has its share of the target by its depth.
    Share,
}

/// What the other program takes, from the I/Os of the device at the depth of the run and at twice that depth.
fn neighbour_effect(evidence: &Evidence) -> NeighbourEffect {
    let usual = usual_rate(evidence);
    let foreign = usual * evidence.foreign_per_own_io;
    let Some(deeper) = deeper_probe(evidence, evidence.effective_depth()) else {
        return NeighbourEffect::Share;
    };
    let growth_in_all = (deeper.iops + deeper.foreign_iops) / (usual + foreign).max(1e-9);
    // In a queue that is used up, N + M in flight become 2 N + M, and the other program keeps this share of its rate.
    let ratio = evidence.foreign_per_own_io;
    let kept_in_queue = (1.0 + ratio) / (2.0 + ratio);
    let kept = deeper.foreign_iops / foreign.max(1e-9);
    let is_used_up = kept < f64::midpoint(1.0, kept_in_queue);
    let is_doubled = deeper.iops >= MIN_GROWTH_OF_DEPTH_LIMIT * usual;
    if growth_in_all > MAX_GROWTH_OF_USED_UP_TARGET || is_doubled && !is_used_up {
        NeighbourEffect::Nothing
    } else if foreign - deeper.foreign_iops < MIN_LOSS_SHARE_OF_SHARED_QUEUE * (deeper.iops - usual)
        || deeper.iops <= MAX_GROWTH_OF_USED_UP_TARGET * usual
    {
        NeighbourEffect::OwnRate
    } else {
        NeighbourEffect::Share
    }
}

/// Whether the target does no more in all at twice the depth, and another program has its own rate of it. What the load gains then is
/// what waits for that program.
pub(super) fn is_used_up_beside_own_rate(evidence: &Evidence) -> bool {
    evidence.foreign_per_own_io >= MIN_GAIN
        && neighbour_effect(evidence) == NeighbourEffect::OwnRate
}

/// Whether a disturbance comes before the first cause.
fn comes_first(
    evidence: &Evidence,
    first: LimitCause,
    gain_of_first: f64,
    one: &Disturbance,
) -> bool {
    // That the target is slower than it was is news, and that it has a limit is none.
    let is_of_target = is_of_queue(first) || first == LimitCause::Ceiling;
    if one.cause == LimitCause::SlowerThanBefore && is_of_target {
        return true;
    }
    if one.cause != LimitCause::Neighbour {
        return one.gain > gain_of_first;
    }
    // Without another depth, what it takes is not known, and a load that pauses leaves the target to others.
    if matches!(first, LimitCause::NotKnown | LimitCause::ThinkTime) {
        return false;
    }
    match neighbour_effect(evidence) {
        // A target of twice the servers gains more.
        NeighbourEffect::Nothing | NeighbourEffect::OwnRate => false,
        NeighbourEffect::Share if is_of_queue(first) => {
            let (without_other, with_twice_the_servers) = gains_of_shared_queue(evidence);
            let with_twice_the_depth = gain_of_twice_the_depth(evidence).unwrap_or(0.0);
            without_other
                >= with_twice_the_servers
                    .max(with_twice_the_depth)
                    .max(MIN_GAIN)
        }
        // Without it, the load gains between nothing and all of its I/Os: the half is compared.
        NeighbourEffect::Share => one.gain / 2.0 > gain_of_first.max(MIN_GAIN),
    }
}

/// Whether a cause is the depth or the target.
fn is_of_queue(cause: LimitCause) -> bool {
    matches!(
        cause,
        LimitCause::QueueDepth | LimitCause::Target | LimitCause::Knee | LimitCause::TooDeep
    )
}

/// What the load gains without another program that keeps I/Os in the same queue, and with twice the servers. Of N + M in flight, c are in
/// service at a time: the load has N / (N + M) of them, and alone it would have N of them at most.
fn gains_of_shared_queue(evidence: &Evidence) -> (f64, f64) {
    let (depth, foreign) = (evidence.effective_depth(), evidence.foreign_per_own_io);
    let in_all = usual_rate(evidence) * (1.0 + foreign);
    // Where fewer in flight complete less in all, none of them waits, so that their time tells how many are in service.
    let unqueued = evidence.probes.iter().find(|probe| {
        f64::from(probe.depth) < depth
            && (probe.iops + probe.foreign_iops) * MAX_GROWTH_OF_USED_UP_TARGET < in_all
    });
    let served = unqueued.map_or(1.0, |probe| in_all * probe.mean_ns / 1e9);
    let gain = depth * (1.0 + foreign) / served.max(1.0) - 1.0;
    (foreign.min(gain), gain.min(1.0))
}

/// The figures of a sentence that names another limit, where what disturbs the run comes first.
fn figures_without_claim(sentence: String) -> String {
    match sentence.split_once(": ") {
        Some((claim, figures)) if claim.contains("limit") => format!("Otherwise {figures}"),
        _ => sentence,
    }
}

/// Adds what disturbs a run to its first cause, or puts it first where it takes more than is gained without the first cause.
pub(super) fn add_disturbances(
    evidence: &Evidence,
    diagnosis: &mut Diagnosis,
    gain_of_first: f64,
    disturbances: &[Disturbance],
) {
    let mut gain_of_first = gain_of_first;
    for one in disturbances {
        let is_of_target = one.cause == LimitCause::Neighbour;
        if is_of_target && diagnosis.cause == LimitCause::ControlGroup {
            continue;
        }
        if diagnosis.cause != one.cause
            && comes_first(evidence, diagnosis.cause, gain_of_first, one)
        {
            let others = std::mem::take(diagnosis);
            *diagnosis = likely(one.cause, one.as_first_cause(), one.settled_by());
            let sentences = others.sentences.into_iter();
            diagnosis.sentences.extend(match others.cause {
                LimitCause::NotKnown => sentences.collect(),
                _ => sentences.map(figures_without_claim).collect::<Vec<_>>(),
            });
            diagnosis.evidence_for = others.evidence_for;
            gain_of_first = one.gain;
            continue;
        }
        // The probes compare different targets where another program takes more or less meanwhile.
        if is_of_target {
            make_likely_beside(diagnosis);
        }
        // How much a control group takes is not known.
        if diagnosis.cause == LimitCause::ControlGroup && diagnosis.certainty == Certainty::Fact {
            diagnosis.certainty = Certainty::Likely;
            diagnosis.settled_by = Some("the same run without that".to_owned());
        }
        diagnosis.sentences.push(one.sentence.clone());
        diagnosis.evidence_against.push(one.sentence.clone());
    }
}

/// The cause of the waiting of an open loop that did not keep up, where a backlog after a standstill explains it: of `r` I/Os per second,
/// those of a standstill of `t` seconds wait `r t^2 / 2` seconds together, and longer until the backlog is worked off.
pub(super) fn of_open_loop(evidence: &Evidence) -> Option<Diagnosis> {
    if !evidence.is_open_loop() {
        return None;
    }
    let entry = evidence.entry();
    let summary = user_latency(&entry.directions[evidence.main]);
    let waited_s = (summary.mean - service_ns(entry, evidence.main)) / 1e9 * summary.n as f64;
    let (from, to) = evidence.context.span();
    let per_second = summary.n as f64 / to.saturating_sub(from).as_secs_f64().max(1e-9);
    let explained = |spans: &[TimeSpan]| {
        if kept_up_before(evidence, spans) {
            return 1.0;
        }
        let squares = spans.iter().map(|span| length(span).as_secs_f64().powi(2));
        squares.sum::<f64>() * per_second / 2.0 / waited_s.max(1e-9)
    };
    let causes = [
        (
            LimitCause::HostCpu,
            stops(evidence),
            "this program did not run",
        ),
        (
            LimitCause::TargetStall,
            stalls(evidence),
            "the target completed nothing",
        ),
    ];
    let (cause, spans, what) = causes
        .into_iter()
        .map(|(cause, spans, what)| (cause, explained(&spans), spans, what))
        .filter(|(_, explained, ..)| *explained >= MIN_SHARE_OF_WAITING)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(cause, _, spans, what)| (cause, spans, what))?;
    Some(likely(
        cause,
        format!(
            "I/Os waited {} on average before they were sent, most of it because {what} for {} of {}.",
            evidence
                .figures
                .duration("waited_ns", waited_s * 1e9 / summary.n.max(1) as f64),
            evidence
                .figures
                .duration("lost_ns", total(&spans).get() as f64),
            evidence
                .figures
                .duration("run_ns", to.saturating_sub(from).get() as f64),
        ),
        "the same run without that",
    ))
}

/// Whether the load kept up with its plan until the first standstill: what waits later waits because of it.
fn kept_up_before(evidence: &Evidence, spans: &[TimeSpan]) -> bool {
    let Some(standstill) = spans.iter().map(|span| span.from).min() else {
        return false;
    };
    let entry = evidence.entry();
    let (from, to) = evidence.context.span();
    let is_before = |interval: &&MergedInterval| interval.start + interval.length <= standstill;
    let (mut ios, mut time_s) = (0, 0.0);
    for interval in entry.series.iter().filter(is_before) {
        ios += interval.directions.iter().map(|(_, d)| d.ios).sum::<u64>();
        time_s += interval.length.as_secs_f64();
    }
    let per_second = entry.counts.planned as f64 / to.saturating_sub(from).as_secs_f64().max(1e-9);
    let in_flight = evidence.effective_depth();
    ios >= MIN_IOS_OF_KEPT_UP_PLAN
        && ios as f64 + in_flight >= MIN_SHARE_OF_KEPT_UP_PLAN * per_second * time_s
}

/// When this program did not run.
pub(super) fn stops(evidence: &Evidence) -> Vec<TimeSpan> {
    let (from, to) = evidence.context.span();
    evidence
        .stalls
        .iter()
        .filter(|stall| stall.lasted >= MIN_STOP || evidence.is_open_loop())
        .map(|stall| TimeSpan {
            from: stall.at.max(from),
            to: (stall.at + stall.lasted).min(to),
        })
        .filter(|span| span.from < span.to)
        .collect()
}

/// When the target completed nothing.
pub(super) fn stalls(evidence: &Evidence) -> Vec<TimeSpan> {
    let found = evidence.found.iter();
    found
        .filter(|finding| finding.code == "TARGET_STALLED" && concerns(finding, evidence.entry()))
        .flat_map(|finding| finding.when.iter().copied())
        .collect()
}

/// When this program did not run or the target completed nothing, without overlaps.
pub(super) fn standstills(evidence: &Evidence) -> Vec<TimeSpan> {
    let mut all = [stops(evidence), stalls(evidence)].concat();
    all.sort_by_key(|span| span.from);
    let mut merged: Vec<TimeSpan> = Vec::new();
    for span in all {
        match merged.last_mut() {
            Some(last) if span.from <= last.to => last.to = last.to.max(span.to),
            _ => merged.push(span),
        }
    }
    merged
}

fn length(span: &TimeSpan) -> Nanos {
    span.to.saturating_sub(span.from)
}

pub(super) fn total(spans: &[TimeSpan]) -> Nanos {
    spans
        .iter()
        .fold(Nanos::ZERO, |sum, span| sum + length(span))
}
