//! Why a target is the limit: the link to it, the array that it is, the requests that its I/Os become, or its garbage collection.

use fathom_model::{ArrayFacts, Certainty, DepthProbe, Diagnosis, Direction, LimitCause, Link};

use super::ceiling::takes_equal_times;
use super::queue::{
    bound_of_depth, counts_of_whole_intervals, gain_of_twice_the_depth, median, usual_rate,
};
use super::{Evidence, disturbance};
use crate::array_members::ArrayMember;
use crate::figures::{percent, rate};

/// A link carries this share of its rate as data: packet headers and commands take the rest.
const MIN_SHARE_OF_FULL_LINK: f64 = 0.9;
/// Requests for each I/O from which on it is split.
const MIN_REQUESTS_OF_SPLIT_IO: f64 = 1.5;
/// Whole I/Os come before the target where they gain at least this share of what twice the target does.
const MIN_SHARE_OF_GAIN_OF_TARGET: f64 = 0.9;
/// I/Os that a probe of one size needs.
const MIN_IOS_OF_SIZE: u64 = 2;
/// A drive that has begun to collect garbage ends a run at most at this share of the rate with which it began.
const MAX_RATE_SHARE_OF_COLLECTION: f64 = 0.9;
/// By which share a drive that does not collect would be faster over the run, from which on that comes before the drive itself.
const MIN_GAIN_OF_FRESH_DRIVE: f64 = 0.5;
/// The best of several intervals is by chance less than this many standard errors of a count above the others.
const STANDARD_ERRORS_OF_FALL: f64 = 5.0;
/// Intervals that show how the rate falls.
const MIN_INTERVALS_OF_FALL: usize = 12;

/// What settles whether a drive was slowed by garbage collection.
const UNTIL_STEADY: &str = "the same load with a longer runtime, until its rate is steady";

/// The time of the bytes of a request is not known where its error is a larger share of the time of the request.
const MAX_ERROR_OF_BYTES: f64 = 0.5;

/// What settles whether the number of requests is the limit.
const ONE_REQUEST: &str =
    "the same load with a block size of one request, or a larger max_sectors_kb";

/// What is known of the way to a target.
pub(crate) struct TargetParts<'a> {
    /// The narrowest link.
    pub(crate) link: Option<&'a Link>,
    /// The array that it is.
    pub(crate) array: Option<&'a ArrayFacts>,
    /// Requests that the device got for each I/O.
    pub(crate) requests_per_io: f64,
    /// The members of that array, where they are known.
    pub(crate) members: Vec<ArrayMember<'a>>,
    /// The device that its thermal management slowed down, and for how many seconds.
    pub(crate) throttled: Option<(&'a str, u64)>,
}

/// Says why the target is the limit where that is known. None of it is a fact: what the target does otherwise was not measured.
pub(super) fn refine(evidence: &Evidence, diagnosis: &mut Diagnosis) {
    let reason = match diagnosis.cause {
        LimitCause::Ceiling | LimitCause::Target | LimitCause::TooDeep | LimitCause::Knee => {
            full_link(evidence)
                .or_else(|| {
                    // Where no I/O waits for another one, its response is all of its time.
                    let is_alone = diagnosis.cause == LimitCause::Knee
                        || evidence.effective_depth() < 2.0
                        || bound_of_depth(evidence) - 1.0 < disturbance::MIN_GAIN;
                    link_of_response(evidence).filter(|_| is_alone)
                })
                .or_else(|| raid_write_penalty(evidence))
                .or_else(|| splitting(evidence, diagnosis.cause))
                .or_else(|| garbage_collection(evidence))
        }
        // Each write waits for the reads before it: without them, it takes half of the time, as much as twice the depth gains.
        LimitCause::QueueDepth => link_of_response(evidence)
            .or_else(|| raid_write_penalty(evidence))
            .or_else(|| {
                gain_of_whole_ios(evidence)?;
                splitting(evidence, diagnosis.cause)
            })
            .or_else(|| garbage_collection(evidence)),
        // Without parity such a write takes half of the time at least, so that neither twice the depth nor twice the target gains more.
        LimitCause::NotKnown if !is_split(evidence) => raid_write_penalty(evidence),
        _ => None,
    };
    if let Some(gain) = gain_of_whole_ios(evidence).filter(|_| is_split(evidence)) {
        let text = format!(
            "each I/O is {} requests; from the times of one request and of half of one, a single request for all of its bytes would gain {}",
            rate(evidence.parts.requests_per_io),
            percent(100.0 * gain)
        );
        match &reason {
            Some((LimitCause::Splitting, ..)) => diagnosis.evidence_for.push(text),
            _ => diagnosis.evidence_against.push(text),
        }
    }
    let is_open = is_split(evidence) && gain_of_whole_ios(evidence).is_none();
    if is_open && diagnosis.certainty == Certainty::Fact {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some(ONE_REQUEST.to_owned());
    }
    let Some((cause, sentence, settled_by)) = reason else {
        if is_slowed(evidence) && diagnosis.certainty == Certainty::Fact {
            diagnosis.certainty = Certainty::Likely;
            diagnosis.settled_by = Some(UNTIL_STEADY.to_owned());
        }
        return;
    };
    diagnosis.cause = cause;
    diagnosis.certainty = Certainty::Likely;
    if let Some(first) = diagnosis.sentences.first_mut() {
        *first = without_claim(first);
    }
    diagnosis.sentences.insert(0, sentence);
    diagnosis.settled_by = Some(settled_by.to_owned());
}

/// What a sentence that names the limit says beside that: the sentence before it names a part of the target.
fn without_claim(sentence: &str) -> String {
    let claims = [
        "The target is the limit, and ",
        "The target, or a ceiling of its volume, is the limit, ",
        "The target is the limit, ",
        "The target is probably the limit, ",
    ];
    let rest = claims.iter().find_map(|claim| sentence.strip_prefix(claim));
    // Two limits at once would contradict each other.
    let is_of_other = ["The queue depth is ", "A ceiling of about "]
        .iter()
        .any(|claim| sentence.starts_with(claim));
    let rest = rest.or_else(|| {
        let (_, figures) = sentence.split_once(": ").filter(|_| is_of_other)?;
        Some(figures)
    });
    let Some(rest) = rest else {
        return sentence.to_owned();
    };
    let mut letters = rest.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

type Reason = (LimitCause, String, &'static str);

/// The bytes of the run fill the narrowest link.
fn full_link(evidence: &Evidence) -> Option<Reason> {
    let link = evidence.parts.link?;
    let directions = evidence.entry().directions.iter();
    // In the usual intervals, without what a stop lost.
    let usual_share = usual_rate(evidence) / evidence.entry().little.iops.max(1e-9);
    let bandwidth: f64 =
        directions.map(|(_, one)| one.bandwidth).sum::<f64>() * usual_share.max(1.0);
    let share = bandwidth / link.now.bytes_per_s as f64;
    (MIN_SHARE_OF_FULL_LINK..=1.0 + disturbance::MIN_GAIN)
        .contains(&share)
        .then(|| {
            (
                LimitCause::Link,
                format!(
                    "The link is probably the limit: it carries {}/s, and the run moved {} of that.",
                    evidence.figures.bytes("link_bytes_per_s", link.now.bytes_per_s),
                    evidence.figures.percent("share_of_link", share)
                ),
                "the same load with another block size: the bytes per second stay the same",
            )
        })
}

/// The share of the mean service time in which the bytes of an I/O cross the narrowest link.
pub(super) fn transfer_share(evidence: &Evidence) -> f64 {
    let mean_ns = evidence.entry().directions[evidence.main].clat.mean;
    transfer_ns(evidence) / mean_ns.max(1.0)
}

/// The time in which the bytes of an I/O cross the narrowest link; 0 where none is known.
pub(super) fn transfer_ns(evidence: &Evidence) -> f64 {
    let summary = &evidence.entry().directions[evidence.main];
    let size = summary.bytes as f64 / summary.ios.max(1) as f64;
    let link = evidence.parts.link;
    link.map_or(0.0, |link| size * 1e9 / link.now.bytes_per_s as f64)
}

/// The link takes so much of the response that without it more is gained than with twice the depth.
fn link_of_response(evidence: &Evidence) -> Option<Reason> {
    let share = transfer_share(evidence);
    let of_depth = gain_of_twice_the_depth(evidence).unwrap_or(1.0);
    let gain = share / (1.0 - share).max(1e-9);
    (share > 0.0 && gain >= of_depth.max(disturbance::MIN_GAIN)).then(|| {
        (
            LimitCause::Link,
            format!(
                "The link is probably the limit: the bytes of an I/O need {} of its time to cross it.",
                evidence.figures.percent("share_on_link", share.min(1.0))
            ),
            "the same load with another block size",
        )
    })
}

/// I/Os of the members of an array with parity for each write of a part of a stripe, at most.
fn ios_per_write(array: &ArrayFacts) -> Option<u32> {
    match array.kind.as_str() {
        "raid4" | "raid5" => Some(4),
        "raid6" => Some(6),
        _ => None,
    }
}

/// Requests to members that follow each other for an I/O: a write of a part of a stripe with parity reads before it writes.
pub(super) fn requests_in_turn(evidence: &Evidence) -> f64 {
    let has_parity = evidence.parts.array.and_then(ios_per_write).is_some();
    match evidence.main == Direction::Write && has_parity {
        true => 2.0,
        false => 1.0,
    }
}

/// Members of an array that each turn of an I/O needs at once.
pub(super) fn members_in_turn(evidence: &Evidence) -> f64 {
    let array = evidence.parts.array;
    let kind = array.map_or("", |array| array.kind.as_str());
    match kind {
        _ if evidence.main != Direction::Write => 1.0,
        "raid1" => array.map_or(1.0, |array| f64::from(array.members)),
        "raid4" | "raid5" | "raid10" => 2.0,
        "raid6" => 3.0,
        _ => 1.0,
    }
}

/// By which share the rate of such writes would be higher without parity, if N in flight reach so many times the rate of the run at most: a
/// write takes half of the time without the reads before it, less if a member is slow that fewer writes need then, and a used-up target does
/// one I/O in place of several.
pub(super) fn gain_without_parity(evidence: &Evidence, bound: f64) -> f64 {
    let ios_per_write = evidence.parts.array.and_then(ios_per_write).unwrap_or(1);
    let slowness = disturbance::slowness_without_queue(evidence).unwrap_or(1.0);
    let members = evidence
        .parts
        .array
        .map_or(1.0, |array| f64::from(array.members));
    // The mean time of a turn that needs so many of the members, in times of the usual ones.
    let turn = |needed: f64| 1.0 + (slowness - 1.0) * needed / members.max(1.0);
    let times = 2.0 * turn(members_in_turn(evidence)) / turn(1.0);
    (times * bound - 1.0).clamp(0.0, f64::from(ios_per_write - 1))
}

/// Writes that change a part of a stripe with parity: data and parities are read, then written.
fn raid_write_penalty(evidence: &Evidence) -> Option<Reason> {
    let array = evidence.parts.array?;
    let ios_per_write = ios_per_write(array)?;
    let summary = &evidence.entry().directions[evidence.main];
    let size = summary.bytes as f64 / summary.ios.max(1) as f64;
    let is_part = array.chunk.is_none_or(|chunk| size <= chunk.get() as f64);
    (evidence.main == Direction::Write && is_part).then(|| {
        (
            LimitCause::RaidWritePenalty,
            format!(
                "The target is probably the limit because of its parity: {} of {} members does up to {} I/Os for each write of {}.",
                array.kind,
                evidence.figures.count("members", array.members.into()),
                evidence.figures.count("ios_per_write", ios_per_write.into()),
                evidence.figures.bytes("write_bytes", size as u64)
            ),
            "the same load with full stripes",
        )
    })
}

/// Says that an array lacks members or rebuilds one: its other members read more for each I/O, and for the rebuild. How much that takes of the
/// run is not known, so that no cause beside it is a fact.
pub(super) fn add_state_of_array(evidence: &Evidence, diagnosis: &mut Diagnosis) {
    let Some(array) = evidence.parts.array else {
        return;
    };
    let is_of_target = matches!(
        diagnosis.cause,
        LimitCause::QueueDepth
            | LimitCause::Knee
            | LimitCause::Target
            | LimitCause::TooDeep
            | LimitCause::Ceiling
            | LimitCause::RaidWritePenalty
            | LimitCause::SlowMember
    );
    let missing = array.degraded.filter(|missing| *missing > 0);
    let missing = missing.map(|missing| {
        format!(
            "members without their data: {} of {}",
            evidence.figures.count("degraded_members", missing.into()),
            evidence.figures.count("members", array.members.into())
        )
    });
    let action = array.sync.as_ref().filter(|action| *action != "frozen");
    let action = action.map(|action| format!("a {action} is in progress"));
    let state: Vec<String> = missing.into_iter().chain(action).collect();
    if state.is_empty() || !is_of_target {
        return;
    }
    if diagnosis.certainty == Certainty::Fact {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by =
            Some("the same run when the array has all of its members and is idle".to_owned());
    }
    let sentence = format!(
        "The array makes I/Os beside those of the run, which take an unknown part of it: {}.",
        state.join(", and ")
    );
    diagnosis.sentences.push(sentence.clone());
    diagnosis.evidence_against.push(sentence);
}

/// Whether the kernel splits the I/Os.
pub(super) fn is_split(evidence: &Evidence) -> bool {
    are_split(evidence.parts.requests_per_io)
}

/// Whether so many requests for each I/O are those of split ones.
pub(crate) fn are_split(requests_per_io: f64) -> bool {
    requests_per_io >= MIN_REQUESTS_OF_SPLIT_IO
}

/// By which share the rate would be higher if each I/O were one request, at most within the error of the probes. A request takes a time of its
/// own and one for each of its bytes: the times of one request and of half of one tell both. A used-up target gains what its servers do
/// less, and no depth more than N / R0. `None` where they were not measured.
fn gain_of_whole_ios(evidence: &Evidence) -> Option<f64> {
    let counted = |probe: &&DepthProbe| probe.ios >= MIN_IOS_OF_SIZE;
    let mut probes = evidence.size_probes.iter().filter(counted);
    let (whole, half) = (probes.next()?, probes.next()?);
    if half.block >= whole.block {
        return None;
    }
    let error_ns = |probe: &DepthProbe| match takes_equal_times(probe) {
        true => 0.0,
        // As of times whose standard deviation is their mean.
        false => probe.mean_ns / (probe.ios as f64).sqrt(),
    };
    let error = error_ns(whole).hypot(error_ns(half));
    let difference = whole.mean_ns - half.mean_ns - error;
    let parts = whole.block as f64 / (whole.block - half.block) as f64;
    if error * parts > MAX_ERROR_OF_BYTES * whole.mean_ns {
        return None;
    }
    let of_bytes = (difference * parts).clamp(0.0, whole.mean_ns);
    let of_request = whole.mean_ns - of_bytes;
    let requests = evidence.parts.requests_per_io;
    let of_io = (of_request + requests * of_bytes).max(1.0);
    let of_depth = evidence.effective_depth() * 1e9 / of_io / usual_rate(evidence).max(1e-9);
    Some((requests * whole.mean_ns / of_io).min(of_depth) - 1.0)
}

/// What whole I/Os must gain to come before another cause.
fn needed_gain(evidence: &Evidence, cause: LimitCause) -> f64 {
    // With servers enough, all requests of an I/O are served at once.
    let request_ns = evidence.size_probes.first().map(|probe| probe.mean_ns);
    let bound = request_ns.map_or(f64::INFINITY, |request_ns| {
        evidence.effective_depth() * 1e9 / request_ns.max(1.0) / usual_rate(evidence).max(1e-9)
    });
    let of_target = (bound - 1.0).clamp(0.0, 1.0) * MIN_SHARE_OF_GAIN_OF_TARGET;
    let needed = match (cause, gain_of_twice_the_depth(evidence)) {
        (LimitCause::QueueDepth | LimitCause::Knee, Some(gain)) => gain,
        _ => of_target,
    };
    needed.max(disturbance::MIN_GAIN)
}

/// The device gets several requests for each I/O, and not their bytes take the time.
fn splitting(evidence: &Evidence, cause: LimitCause) -> Option<Reason> {
    let requests = evidence.parts.requests_per_io;
    let gains = gain_of_whole_ios(evidence).is_none_or(|gain| gain >= needed_gain(evidence, cause));
    (is_split(evidence) && gains).then(|| {
        (
            LimitCause::Splitting,
            format!(
                "The target is probably the limit because the kernel splits each I/O: it gets {} requests for each.",
                evidence.figures.rate("requests_per_io", requests)
            ),
            ONE_REQUEST,
        )
    })
}

/// The best rate of the first quarter of a run that writes, and the usual one of the last quarter, if it fell by more than chance.
fn fallen_rate(evidence: &Evidence) -> Option<(f64, f64)> {
    let counts = counts_of_whole_intervals(evidence);
    // Heat slows a drive down as well.
    let is_throttled = evidence.parts.throttled.is_some();
    if evidence.main != Direction::Write || is_throttled || counts.len() < MIN_INTERVALS_OF_FALL {
        return None;
    }
    let quarter = counts.len() / 4;
    let first = counts[..quarter].iter().copied().fold(0.0, f64::max);
    let last = median(counts[counts.len() - quarter..].to_vec())?;
    let best = first - STANDARD_ERRORS_OF_FALL * last.sqrt();
    (last <= MAX_RATE_SHARE_OF_COLLECTION * best).then_some((best, last))
}

/// Whether the target became slower while it was written.
fn is_slowed(evidence: &Evidence) -> bool {
    fallen_rate(evidence).is_some()
}

/// Writes whose rate falls during the run and stays low: the drive has run out of erased blocks.
fn garbage_collection(evidence: &Evidence) -> Option<Reason> {
    let (best, last) = fallen_rate(evidence)?;
    let counts = counts_of_whole_intervals(evidence);
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    (best >= (1.0 + MIN_GAIN_OF_FRESH_DRIVE) * mean).then(|| {
        (
            LimitCause::GarbageCollection,
            format!(
                "The target is probably the limit because it collects garbage: of the best rate of the first quarter of the run, the last one has {}.",
                evidence.figures.percent("last_of_best_rate", last / best)
            ),
            UNTIL_STEADY,
        )
    })
}
