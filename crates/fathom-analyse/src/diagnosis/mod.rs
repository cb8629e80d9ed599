//! The one diagnosis: what limits the rate of an entry, as a fact only where the evidence excludes the rivals.
//!
//! A run at one queue depth has N in flight, a rate X and a mean latency R, and N = X x R holds on both sides of the knee (Little, 1961;
//! Lazowska et al., *Quantitative System Performance*, 1984, chapter 5). It does not tell whether the depth or the target is the
//! limit. The fastest I/Os of a saturated run do not tell it either: behind a single server, a token bucket or any target without
//! variance all I/Os wait alike. Only other depths of the same load tell: [`DepthProbe`].

mod ceiling;
mod disturbance;
mod figure_log;
mod queue;
mod shares;
mod target_parts;

use fathom_model::{
    Certainty, DepthProbe, Diagnosis, Direction, EarlierRuns, Entry, Finding, IoLimit, LimitCause,
    Stall, Weight,
};

use crate::catalogue::explain;
use crate::detectors::{EntryContext, host_busy};
use crate::job_summary::is_open_loop;
use crate::members::Member;
use crate::summary_sentences::{concerns, user_latency};

use self::disturbance::disturbances;
pub(crate) use self::figure_log::FigureLog;
use self::queue::{closed_loop, probed_rate};
pub(crate) use self::target_parts::{TargetParts, are_split};

/// Above this share of the generator's maximum rate, its limit and the target's cannot be distinguished.
pub(crate) const NEAR_CEILING_SHARE: f64 = 0.85;
/// Share of a limit of a control group from which on it is reached: the kernel's throttling is exact to a few percent.
const REACHED_LIMIT_SHARE: f64 = 0.97;
/// From this share of a limit on, nothing else holds the load.
const HELD_LIMIT_SHARE: f64 = 0.995;
/// From this share of a limit on, a load whose service times vary loses I/Os to it.
const NEAR_LIMIT_SHARE: f64 = 0.85;
/// From this share of a limit on, an even rate is that of the limit.
const MIN_SHARE_OF_EVEN_RATE: f64 = 0.8;
/// What is above this share of a limit is not held by it, but for the error of a probe.
const MAX_LIMIT_SHARE: f64 = 1.03;
/// A load that keeps less of its queue depth in flight is not limited by the depth alone.
const FILLED_QUEUE_SHARE: f64 = 0.9;
/// What settles whether a control group is the limit.
const OUTSIDE_OF_GROUP: &str = "the same load outside of the control group";
/// Share of unsent I/Os of an open loop up to which the target keeps up: the last I/O of a run is due when the run ends.
const MAX_UNSENT_SHARE: f64 = 0.005;
/// From this share of the service time on, the wait before an I/O is sent may matter as much as the rate.
const MAX_WAITED_SHARE: f64 = 0.1;
/// With more in flight on average, many I/Os of a planned rate meet another one in the target, and one rate does not tell whether they wait
/// for it.
const MAX_IN_FLIGHT_ALONE: f64 = 0.5;
/// Where the fastest I/O takes this share of the mean, waiting is at most the rest.
const MIN_EVEN_SHARE: f64 = 0.95;
/// With more of the queue depth in flight, the I/Os take more time than the pauses.
const MAX_IN_FLIGHT_SHARE_OF_PAUSES: f64 = 0.5;
/// Stolen CPU time below this share cannot explain more than a tenth of the time, so that it is no cause.
const MIN_STEAL_PERCENT: f64 = 10.0;
/// Stolen time that gains less than this, where a worker is busy all the time, comes after the worker itself.
const MIN_GAIN_OF_STOLEN_TIME: f64 = 0.9;
/// A worker that needs a CPU for a smaller share of its time waits for its target, not for a CPU.
const MIN_CPU_NEED_SHARE: f64 = 0.5;

/// What the evidence of one entry says.
pub(crate) struct Evidence<'a> {
    pub(crate) context: &'a EntryContext<'a>,
    /// The direction with most I/Os.
    pub(crate) main: Direction,
    /// Limits of control groups.
    pub(crate) limits: &'a [IoLimit],
    pub(crate) found: &'a [Finding],
    /// Share of CPU time that the hypervisor took, percent.
    pub(crate) steal_percent: Option<f64>,
    /// Times in which this program did not run.
    pub(crate) stalls: &'a [Stall],
    /// I/Os of other programs on the device for each one of this run; 0 where that is not known.
    pub(crate) foreign_per_own_io: f64,
    /// What is known of the way to the target.
    pub(crate) parts: TargetParts<'a>,
    /// Other depths of this load.
    pub(crate) probes: &'a [DepthProbe],
    /// One request at a time, and half of one, where its I/Os are split.
    pub(crate) size_probes: &'a [DepthProbe],
    /// Earlier runs of this load on this device.
    pub(crate) earlier: Option<EarlierRuns>,
    /// The figures that the sentences say.
    pub(crate) figures: FigureLog,
}

impl Evidence<'_> {
    fn entry(&self) -> &Entry {
        self.context.figures
    }

    fn members(&self) -> impl Iterator<Item = &Member<'_>> {
        self.context.members.iter()
    }

    fn is_open_loop(&self) -> bool {
        self.members().any(|member| is_open_loop(&member.job.pace))
    }

    /// I/Os that the jobs keep in flight: one for each job of a synchronous engine, whatever iodepth says.
    fn effective_depth(&self) -> f64 {
        self.members()
            .map(|member| match member.job.engine.is_synchronous() {
                true => 1.0,
                false => f64::from(member.job.queue.depth),
            })
            .sum()
    }

    /// The iodepth of a synchronous engine, which has no effect.
    fn ignored_depth(&self) -> Option<(&str, u32)> {
        self.members()
            .find(|member| member.job.engine.is_synchronous() && member.job.queue.depth > 1)
            .map(|member| (member.job.engine.kind.name(), member.job.queue.depth))
    }
}

/// The cause of an entry's rate, and what else takes a share of it. Hypotheses that the plan or a set limit decide come first; the queue comes last, because it is a
/// limit only where nothing else is.
pub(crate) fn diagnose(evidence: &Evidence) -> Diagnosis {
    let mut diagnosis = first_cause(evidence);
    match diagnosis.cause {
        LimitCause::HostCpu => {}
        // What limits by the plan is not limited further by what disturbs it. Another program may lengthen the response time.
        LimitCause::PlannedRate => {
            disturbance::add_neighbour(evidence, &mut diagnosis);
        }
        _ => {
            let gain = queue::gain_of_first_cause(evidence, diagnosis.cause);
            disturbance::add_disturbances(evidence, &mut diagnosis, gain, &disturbances(evidence));
            disturbance::add_heat_without_rate(evidence, &mut diagnosis);
            target_parts::add_state_of_array(evidence, &mut diagnosis);
        }
    }
    state_certainty(&mut diagnosis);
    diagnosis.figures = evidence.figures.take();
    shares::add(evidence, &mut diagnosis);
    diagnosis
}

/// A likely cause is not stated as a fact, also where something made it likely after its sentence was written.
fn state_certainty(diagnosis: &mut Diagnosis) {
    if diagnosis.certainty == Certainty::Likely {
        // What one depth does not tell is not claimed.
        let claims = diagnosis.sentences.iter_mut();
        for sentence in claims.filter(|sentence| !sentence.contains(" does not tell whether ")) {
            *sentence = sentence
                .replace(" is the limit", " is probably the limit")
                .replace(" are the limit", " are probably the limit");
        }
    }
}

fn first_cause(evidence: &Evidence) -> Diagnosis {
    null_engine(evidence)
        .or_else(|| kept_up_rate(evidence))
        .or_else(|| control_group(evidence))
        .or_else(|| think_time(evidence))
        .or_else(|| generator(evidence))
        .or_else(|| disturbance::of_open_loop(evidence))
        .or_else(|| host_cpu(evidence))
        .or_else(|| missed_rate(evidence))
        .unwrap_or_else(|| closed_loop(evidence))
}

fn fact(cause: LimitCause, sentence: String) -> Diagnosis {
    Diagnosis {
        cause,
        certainty: Certainty::Fact,
        sentences: vec![sentence],
        ..Diagnosis::default()
    }
}

fn likely(cause: LimitCause, sentence: String, settled_by: &str) -> Diagnosis {
    Diagnosis {
        certainty: Certainty::Likely,
        settled_by: Some(settled_by.to_owned()),
        ..fact(cause, sentence)
    }
}

/// The null engine has no target, so only the plan or this program limits it.
fn null_engine(evidence: &Evidence) -> Option<Diagnosis> {
    if !evidence.members().all(Member::is_null) || evidence.is_open_loop() {
        return None;
    }
    let iops = evidence.figures.rate("iops", evidence.entry().little.iops);
    Some(fact(
        LimitCause::Program,
        format!(
            "This program is the limit: the null engine has no target, and {iops} per second is what the program can generate."
        ),
    ))
}

/// Service time of an I/O of an open loop: of a commit to the end of its flush.
fn service_ns(entry: &Entry, main: Direction) -> f64 {
    let summary = &entry.directions[main];
    let is_commit = entry.sync.n >= summary.ios.div_ceil(2) && entry.sync.n > 0;
    summary.clat.mean + if is_commit { entry.sync.mean } else { 0.0 }
}

/// The planned load as a phrase.
fn planned_load(entry: &Entry) -> String {
    match &entry.offered {
        Some(offered) if !offered.is_empty() => offered.clone(),
        _ => "the times of the trace".to_owned(),
    }
}

/// The share of the planned I/Os of an open loop that were never sent.
fn unsent_share(entry: &Entry) -> f64 {
    entry.counts.not_sent as f64 / entry.counts.planned.max(1) as f64
}

/// An open loop whose target keeps up is limited by its plan.
fn kept_up_rate(evidence: &Evidence) -> Option<Diagnosis> {
    if !evidence.is_open_loop() {
        return None;
    }
    let (entry, main) = (evidence.entry(), evidence.main);
    let (unsent, planned) = (entry.counts.not_sent, entry.counts.planned);
    let service = service_ns(entry, main);
    let waited = user_latency(&entry.directions[main]).mean - service;
    if (unsent > 1 && unsent_share(entry) > MAX_UNSENT_SHARE) || waited >= service.max(1.0) {
        return None;
    }
    let sent = match unsent {
        0 => format!(
            "all {} I/Os were sent",
            evidence.figures.count("planned_ios", planned)
        ),
        _ => format!(
            "{} of {} I/Os were sent, the others were due when the run ended",
            evidence
                .figures
                .count("sent_ios", planned.saturating_sub(unsent)),
            evidence.figures.count("planned_ios", planned)
        ),
    };
    let target = if evidence.members().all(Member::is_null) {
        "this program"
    } else {
        "the target"
    };
    let mut diagnosis = fact(
        LimitCause::PlannedRate,
        format!(
            "The planned load is the limit ({}), and {target} keeps up: {sent}, and {} of the response time is service time.",
            planned_load(entry),
            evidence.figures.duration("service_ns", service),
        ),
    );
    let in_flight = entry.little.in_flight;
    // The first one found an empty queue, so that none waited for longer than it took more than the fastest.
    let clat = &entry.directions[main].clat;
    let is_even = clat.min as f64 >= MIN_EVEN_SHARE * clat.mean;
    if in_flight > MAX_IN_FLIGHT_ALONE && !is_even {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some("the same load at half the rate".to_owned());
        diagnosis.evidence_against = vec![format!(
            "{} are in flight on average, so that some of that time may be waiting for others in the target",
            evidence.figures.rate("in_flight", in_flight)
        )];
    }
    if target_parts::transfer_share(evidence) > MAX_WAITED_SHARE {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some("the same load with another block size".to_owned());
    }
    let share_in_flight = in_flight / evidence.effective_depth().max(1.0);
    if waited > MAX_WAITED_SHARE * service || share_in_flight >= FILLED_QUEUE_SHARE {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some(format!("the same load with iodepth={}", entry.depth * 2));
    }
    Some(diagnosis)
}

/// A limit of a control group is the cause where the rate is that of the limit.
fn control_group(evidence: &Evidence) -> Option<Diagnosis> {
    let reached = |limit: &IoLimit| {
        let direction = if limit.reads {
            Direction::Read
        } else {
            Direction::Write
        };
        let summary = &evidence.entry().directions[direction];
        // The usual rate, which a stop of this program does not lower.
        let usual_share = queue::usual_rate(evidence) / evidence.entry().little.iops.max(1e-9);
        let figure = if limit.ios {
            summary.iops
        } else {
            summary.bandwidth
        };
        figure * usual_share.max(1.0)
    };
    let is_reached =
        |limit: &&IoLimit| reached(limit) >= REACHED_LIMIT_SHARE * limit.per_second as f64;
    let Some(limit) = evidence.limits.iter().find(is_reached) else {
        return nearly_reached_limit(evidence);
    };
    let kind = if limit.reads { "reads" } else { "writes" };
    let (figure, share) = if limit.ios {
        let allowed = evidence.figures.count("limit_iops", limit.per_second);
        let unit = format!("{allowed} {kind} per second");
        (unit, reached(limit) / limit.per_second as f64)
    } else {
        let allowed = evidence
            .figures
            .bytes("limit_bytes_per_s", limit.per_second);
        let unit = format!("{allowed} of {kind} per second");
        (unit, reached(limit) / limit.per_second as f64)
    };
    if let Some(balanced) = balanced_limits(evidence, || {
        format!(
            "A control group of this process allows {figure} on {}",
            limit.disk
        )
    }) {
        return Some(balanced);
    }
    let is_held = share >= HELD_LIMIT_SHARE;
    let sentence = format!(
        "A control group of this process is {}the limit: it allows {figure} on {}, and the run reached {} of that.",
        if is_held { "" } else { "probably " },
        limit.disk,
        evidence.figures.percent("share_of_limit", share),
    );
    // What the target would do without the limit was not measured: it may be little more.
    Some(likely(LimitCause::ControlGroup, sentence, OUTSIDE_OF_GROUP))
}

/// A limit that is reached where the queue depth allows hardly more than the run does: neither gains anything alone.
fn balanced_limits(evidence: &Evidence, limit: impl FnOnce() -> String) -> Option<Diagnosis> {
    let bound = queue::bound_of_depth(evidence);
    if bound - 1.0 >= disturbance::MIN_GAIN {
        return None;
    }
    Some(Diagnosis {
        sentences: vec![format!(
            "{}, and {} in flight reach {} per second at most: neither a higher limit nor more in flight alone gains {}.",
            limit(),
            evidence.figures.rate("depth", evidence.effective_depth()),
            evidence
                .figures
                .rate("bound_iops", bound * queue::usual_rate(evidence)),
            evidence.figures.percent("min_gain", disturbance::MIN_GAIN),
        )],
        settled_by: Some(format!(
            "the same load without that limit and with iodepth={}",
            evidence.entry().depth * 2
        )),
        ..Diagnosis::default()
    })
}

/// A limit of I/Os that the load stays below only because its own rate varies: with twice the depth, it is reached.
fn nearly_reached_limit(evidence: &Evidence) -> Option<Diagnosis> {
    let depth = evidence.effective_depth();
    let deeper = queue::deeper_probe(evidence, depth)?;
    let iops = evidence.entry().little.iops;
    let is_of_main =
        |limit: &&IoLimit| limit.ios && limit.reads == (evidence.main == Direction::Read);
    let limit = evidence.limits.iter().filter(is_of_main).find(|limit| {
        let allowed = limit.per_second as f64;
        (NEAR_LIMIT_SHARE * allowed..allowed).contains(&iops)
            && (REACHED_LIMIT_SHARE * allowed..=MAX_LIMIT_SHARE * allowed).contains(&deeper.iops)
    })?;
    if queue::bound_of_depth(evidence) - 1.0 < disturbance::MIN_GAIN {
        // Then the depth keeps it below the limit.
        return None;
    }
    Some(likely(
        LimitCause::ControlGroup,
        format!(
            "A control group of this process is probably the limit: it allows {} per second on {}, the run reached {} of that, and {} in \
             flight reach {}.",
            evidence.figures.count("limit_iops", limit.per_second),
            limit.disk,
            evidence
                .figures
                .percent("share_of_limit", iops / limit.per_second as f64),
            evidence.figures.count("deeper_depth", deeper.depth.into()),
            evidence.figures.rate("deeper_iops", deeper.iops),
        ),
        OUTSIDE_OF_GROUP,
    ))
}

/// A limit that is not far above a rate with the shape of a ceiling is that ceiling: I/Os that arrive late leave some of it unused.
fn control_group_near_even_rate(evidence: &Evidence) -> Option<Diagnosis> {
    let iops = queue::usual_rate(evidence);
    let is_of_main =
        |limit: &&IoLimit| limit.ios && limit.reads == (evidence.main == Direction::Read);
    let limit = evidence.limits.iter().filter(is_of_main).find(|limit| {
        let allowed = limit.per_second as f64;
        (MIN_SHARE_OF_EVEN_RATE * allowed..allowed).contains(&iops)
    })?;
    Some(likely(
        LimitCause::ControlGroup,
        format!(
            "A control group of this process is probably the limit: it allows {} per second on {}, and the run reached {} of that at a rate that \
             does not vary.",
            evidence.figures.count("limit_iops", limit.per_second),
            limit.disk,
            evidence
                .figures
                .percent("share_of_limit", iops / limit.per_second as f64),
        ),
        OUTSIDE_OF_GROUP,
    ))
}

/// Planned pauses are the limit while the queue stands empty because of them.
fn think_time(evidence: &Evidence) -> Option<Diagnosis> {
    let think = evidence
        .members()
        .find_map(|member| member.job.pace.think.as_ref())?;
    let (little, depth) = (&evidence.entry().little, evidence.effective_depth());
    let flushed = disturbance::flush_share(evidence) * depth;
    if little.in_flight + flushed >= FILLED_QUEUE_SHARE * depth {
        return None;
    }
    let mut diagnosis = fact(
        LimitCause::ThinkTime,
        format!(
            "The planned pauses are the limit (thinktime={}): on average {} of {} I/Os are in flight, because the jobs pause.",
            evidence
                .figures
                .duration("think_ns", think.time.get() as f64),
            evidence.figures.rate("in_flight", little.in_flight),
            evidence.figures.rate("depth", depth),
        ),
    );
    let takes_longer = little.mean_ns > think.time.get() as f64;
    let is_flushed = disturbance::flush_share(evidence) >= disturbance::MIN_GAIN;
    if takes_longer || is_flushed || little.in_flight > MAX_IN_FLIGHT_SHARE_OF_PAUSES * depth {
        diagnosis.certainty = Certainty::Likely;
        diagnosis.settled_by = Some("the same load without thinktime".to_owned());
    }
    Some(diagnosis)
}

/// This program is near the rate that it reaches without a target.
fn generator(evidence: &Evidence) -> Option<Diagnosis> {
    let entry = evidence.entry();
    let ceiling = entry
        .ceiling_iops
        .filter(|ceiling| entry.little.iops >= NEAR_CEILING_SHARE * ceiling)?;
    Some(likely(
        LimitCause::Program,
        format!(
            "This program is probably the limit: the same plan reaches {} I/Os per second on a target that answers at once, and {} of \
             that was used; with numjobs=2 the rate rises if that is so.",
            evidence.figures.rate("program_iops", ceiling),
            evidence
                .figures
                .percent("share_of_program", entry.little.iops / ceiling),
        ),
        "the same load with numjobs=2",
    ))
}

/// A finding shows that the workers did not get the CPU that they needed.
fn host_cpu(evidence: &Evidence) -> Option<Diagnosis> {
    let is_cause = |finding: &&Finding| {
        finding.weight > Weight::Note
            && (finding.code == "CPU_SLOWED"
                || explain(finding.code).is_some_and(|kind| kind.host_limits))
            && concerns(finding, evidence.entry())
            && match finding.code {
                // How much time this took is known, so that it is weighed against the other causes.
                "GENERATOR_STALL" => false,
                "STEAL" => {
                    evidence.steal_percent.unwrap_or(0.0) >= MIN_STEAL_PERCENT
                        && needs_cpu(evidence)
                        && gains_more_cpu(evidence)
                }
                "CPU_SLOWED" => queue::has_busy_worker(evidence),
                "HOST_BUSY" => host_busy::delayed(evidence.members()).is_some(),
                _ => true,
            }
    };
    let finding = evidence.found.iter().find(is_cause)?;
    if finding.code == "STEAL" {
        let stolen = evidence.steal_percent.unwrap_or(0.0) / 100.0;
        // Half of the CPU time for each I/O would gain more than the stolen time does.
        if stolen / (1.0 - stolen).max(1e-9) < MIN_GAIN_OF_STOLEN_TIME {
            let used = match queue::has_busy_worker(evidence) {
                true => "used all CPU time that it got",
                false => {
                    "would gain more from half of its CPU time for each I/O than from twice the depth"
                }
            };
            return Some(likely(
                LimitCause::Program,
                format!(
                    "This host is probably the limit, not the target: this program {used}, and {}.",
                    loss_of_cpu(evidence, finding)
                ),
                "the same load with numjobs=2 on a machine with more CPUs",
            ));
        }
    }
    Some(likely(
        LimitCause::HostCpu,
        format!(
            "This host, not the target, is probably the limit: {}.",
            loss_of_cpu(evidence, finding)
        ),
        "the same run on a quiet host",
    ))
}

/// What took the CPU time of this host, as a phrase with the number of the finding that says more.
fn loss_of_cpu(evidence: &Evidence, finding: &Finding) -> String {
    let waited = || {
        let member = host_busy::delayed(evidence.members())?;
        let share = host_busy::waited_share(member) / 100.0;
        Some(format!(
            ", and a worker waited for a CPU for {} of its time",
            evidence.figures.percent("waited_share", share)
        ))
    };
    let what = match finding.code {
        "STEAL" => format!(
            "the hypervisor took {} of its CPU time",
            evidence
                .figures
                .percent("steal_share", evidence.steal_percent.unwrap_or(0.0) / 100.0)
        ),
        "CPU_THROTTLED" => {
            "a limit of the control group of this process held its CPUs back".to_owned()
        }
        "CPU_SLOWED" => "its CPUs became slower during the run".to_owned(),
        "HOST_BUSY" => format!(
            "other programs used its CPUs{}",
            waited().unwrap_or_default()
        ),
        "WORKER_WAITED" => format!(
            "workers of this program waited for a CPU{}",
            waited().unwrap_or_default()
        ),
        _ => "its CPUs did not run this program all the time".to_owned(),
    };
    format!("{what} (finding {} says more)", finding.id)
}

/// Whether the CPU time of an I/O, with what was stolen meanwhile, takes more of the time of its place in the queue than twice the depth
/// gains. A worker that is busy all the time leaves no other limit.
fn gains_more_cpu(evidence: &Evidence) -> bool {
    if evidence.is_open_loop() || queue::has_busy_worker(evidence) {
        return true;
    }
    let (depth, usual) = (evidence.effective_depth(), queue::usual_rate(evidence));
    let available = (1.0 - evidence.steal_percent.unwrap_or(0.0) / 100.0).max(0.1);
    let half_ns = ceiling::cpu_ns_per_io(evidence) / available / 2.0;
    let rest_ns = (depth * 1e9 / usual.max(1e-9) - half_ns).max(1.0);
    let of_depth = queue::gain_of_twice_the_depth(evidence).unwrap_or(0.0);
    half_ns / rest_ns >= of_depth.max(disturbance::MIN_GAIN)
}

/// Whether a worker needed a CPU, or waited for one, for much of its time. One that waits for its target instead is not
/// limited by stolen CPU time.
fn needs_cpu(evidence: &Evidence) -> bool {
    let mut members = evidence.members();
    let available = 1.0 - evidence.steal_percent.unwrap_or(0.0) / 100.0;
    members.any(|member| {
        let run_time = member.run_time().as_secs_f64();
        let waited = member.seen.usage.waited.as_secs_f64();
        run_time > 0.0 && member.cpu_share() + waited / run_time >= MIN_CPU_NEED_SHARE * available
    })
}

/// An open loop that was not kept up with. Its queue is full, so that the target or the depth is the limit.
fn missed_rate(evidence: &Evidence) -> Option<Diagnosis> {
    if !evidence.is_open_loop() {
        return None;
    }
    let (entry, main) = (evidence.entry(), evidence.main);
    let service = service_ns(entry, main);
    let waited = (user_latency(&entry.directions[main]).mean - service).max(0.0);
    let unsent = match entry.counts.not_sent {
        0 => String::new(),
        unsent => format!(
            ", and {} of {} I/Os were never sent",
            evidence.figures.count("unsent_ios", unsent),
            evidence.figures.count("planned_ios", entry.counts.planned)
        ),
    };
    if let Some(diagnosis) = probed_rate(evidence) {
        return Some(diagnosis);
    }
    Some(Diagnosis {
        sentences: vec![format!(
            "Not reached: {} of {}; an I/O waits {} on average before it is sent{unsent}. One run does not tell whether the target or \
             iodepth={} is the limit; a run with twice the iodepth does.",
            evidence.figures.rate("iops", entry.little.iops),
            planned_load(entry),
            evidence.figures.duration("waited_ns", waited),
            evidence.figures.count("depth", entry.depth.into()),
        )],
        settled_by: Some(format!("the same load with iodepth={}", entry.depth * 2)),
        ..Diagnosis::default()
    })
}
