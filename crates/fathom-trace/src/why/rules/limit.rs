//! Rates that are set: limits of control groups, base rates of volumes.

use fathom_model::format::{bytes, percent, rate};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::evidence::{WhyGroup, WhyLimit, is_in_group};
use super::super::facts::{BUSY_SHARE, DeviceLoad, Facts, MIN_WAIT_SHARE, Waiter, share};

/// Share of a limit from which on it is reached: the kernel's throttling is exact to a few percent.
const REACHED_SHARE: f64 = 0.97;
/// What is above is not held by the limit.
const MAX_REACHED_SHARE: f64 = 1.05;
/// What was observed for less tells no rate.
const MIN_SECONDS: f64 = 1.0;
/// Intervals between looks that a constant rate needs.
const MIN_INTERVALS: usize = 4;
/// A rate is constant if its intervals differ by less: a medium varies more.
const MAX_VARIATION: f64 = 0.03;
/// A rate is that of a volume if it differs by less.
const MAX_DIFFERENCE: f64 = 0.05;
/// A rate before that is larger by this was a burst.
const MIN_BURST: f64 = 1.5;

struct Reached<'a> {
    group: &'a str,
    limit: WhyLimit,
    share: f64,
}

/// A control group whose processes reach its limit.
pub(super) fn control_group(facts: &Facts) -> Option<WhyFinding> {
    let reached = reached_limit(facts)?;
    let (group, limit) = (reached.group, reached.limit);
    let device = facts.device(limit.device)?;
    let waiter = facts
        .waiters
        .iter()
        .find(|waiter| is_in_group(&waiter.group, group));
    let pressure = group_pressure(facts, group);
    let waits = waiter.is_some() || pressure.is_some_and(|share| share >= MIN_WAIT_SHARE);
    let is_free = device.busy() < BUSY_SHARE;
    let noun = if limit.reads { "reads" } else { "writes" };
    let allowed = if limit.ios {
        format!("{} {noun}", rate(limit.per_second as f64))
    } else {
        format!("{} of {noun}", bytes(limit.per_second))
    };
    let who = waiter.map_or_else(
        || "its processes used".to_owned(),
        |waiter| format!("{} waits and used", waiter.title()),
    );
    let sentence = format!(
        "Control group {group} is throttled: it may do {allowed} per second on {}, and {who} {} of that; {} itself is {} busy.",
        device.name(),
        percent(100.0 * reached.share),
        device.name(),
        percent(100.0 * device.busy()),
    );
    let mut finding = WhyFinding::sure_if(
        waits && is_free,
        WhyCause::ControlGroup,
        sentence,
        "the same load outside of the control group",
    )
    .about("group", group, None)
    .about("device", device.name(), None)
    .figure("limit_per_s", limit.per_second as f64)
    .figure("reached_share", reached.share)
    .figure("device_busy_share", device.busy());
    if let Some(Waiter { name, pid, .. }) = waiter {
        finding = finding.about("waits", name, Some(*pid));
    }
    if let Some(pressure) = pressure {
        finding = finding.because(format!(
            "Tasks of the group waited {} of the time for I/O.",
            percent(100.0 * pressure)
        ));
    }
    if !waits {
        finding = finding.although("Nothing of the group was seen waiting.".to_owned());
    }
    if !is_free {
        finding = finding.although(format!("{} is busy as well.", device.name()));
    }
    Some(finding.advise(format!(
        "Raise the limit of {group} for {} (io.max, blkio.throttle, or IOReadIOPSMax= and the like of its unit) if the host has room.",
        device.name()
    )))
}

/// The limit that is reached most exactly.
fn reached_limit<'a>(facts: &Facts<'a>) -> Option<Reached<'a>> {
    if facts.seconds < MIN_SECONDS {
        return None;
    }
    let evidence = facts.evidence;
    let is_asked = |group: &str| {
        let scope = &evidence.scope;
        let of_scope = |waiter: &Waiter| is_in_group(&waiter.group, group);
        !scope.is_of_processes()
            || scope
                .group
                .as_deref()
                .is_some_and(|own| is_in_group(own, group))
            || facts.waiters.iter().any(of_scope)
            || scope.pids.iter().any(|pid| {
                let process = evidence.after.processes.get(pid);
                process.is_some_and(|process| is_in_group(&process.group, group))
            })
    };
    let groups = evidence
        .after
        .groups
        .iter()
        .filter(|(name, _)| is_asked(name));
    let all = groups.flat_map(|(name, group)| {
        let before = evidence.before.groups.get(name);
        group.limits.iter().map(move |limit| {
            let used =
                transferred(group, limit) - before.map_or(0.0, |one| transferred(one, limit));
            Reached {
                group: name.as_str(),
                limit: *limit,
                share: used / facts.seconds / (limit.per_second.max(1) as f64),
            }
        })
    });
    all.filter(|one| (REACHED_SHARE..=MAX_REACHED_SHARE).contains(&one.share))
        .min_by(|a, b| (a.share - 1.0).abs().total_cmp(&(b.share - 1.0).abs()))
}

fn transferred(group: &WhyGroup, limit: &WhyLimit) -> f64 {
    let at = usize::from(!limit.reads) + if limit.ios { 0 } else { 2 };
    group
        .transferred
        .get(&limit.device)
        .map_or(0.0, |counts| counts[at] as f64)
}

fn group_pressure(facts: &Facts, group: &str) -> Option<f64> {
    let of = |groups: &std::collections::BTreeMap<String, WhyGroup>| groups.get(group)?.pressure.io;
    let evidence = facts.evidence;
    share(
        of(&evidence.before.groups),
        of(&evidence.after.groups),
        facts.seconds,
    )
}

/// A volume whose rate is constant at the base rate of its size.
pub(super) fn burst_credits(facts: &Facts) -> Option<WhyFinding> {
    if !facts.waits() {
        return None;
    }
    let is_busy = |one: &&DeviceLoad| one.busy() >= BUSY_SHARE && one.in_flight() >= 1.0;
    facts
        .devices
        .iter()
        .filter(is_busy)
        .find_map(|load| base_rate(facts, load))
}

fn base_rate(facts: &Facts, load: &DeviceLoad) -> Option<WhyFinding> {
    let rates = rates(facts, load);
    let last = rates.get(rates.len().checked_sub(MIN_INTERVALS)?..)?;
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    let spread = last.iter().copied().fold(f64::MIN, f64::max)
        - last.iter().copied().fold(f64::MAX, f64::min);
    let volume = load.facts.volumes.iter().find(|volume| {
        (mean / volume.base_iops - 1.0).abs() <= MAX_DIFFERENCE && volume.burst_iops > mean
    })?;
    if spread > MAX_VARIATION * mean {
        return None;
    }
    let sentence = format!(
        "{} probably has no burst credits left: it completes a constant {} I/Os per second with {:.1} in flight, the base rate of {} ({} per second); with credits it reaches {}.",
        load.name(),
        rate(mean),
        load.in_flight(),
        volume.name,
        rate(volume.base_iops),
        rate(volume.burst_iops),
    );
    let mut finding = WhyFinding::likely(
        WhyCause::BurstCredits,
        sentence,
        "the provider's metric of the credits (BurstBalance of EBS)",
    )
    .about("device", load.name(), None)
    .about("volume", &volume.name, None)
    .figure("iops", mean)
    .figure("in_flight", load.in_flight())
    .figure("base_iops", volume.base_iops)
    .figure("burst_iops", volume.burst_iops)
    .because(format!(
        "The rate of {} intervals differs by {} at most.",
        last.len(),
        percent(100.0 * spread / mean)
    ));
    let first = rates.first().copied().unwrap_or(mean);
    if first >= MIN_BURST * mean {
        finding = finding.because(format!(
            "It fell from {} I/Os per second while it was watched.",
            rate(first)
        ));
    }
    Some(finding.advise("Spread the load over time, or take a volume with a larger base rate."))
}

/// I/Os per second of each interval between two looks.
fn rates(facts: &Facts, load: &DeviceLoad) -> Vec<f64> {
    let looks = facts.evidence.looks.windows(2);
    looks
        .filter_map(|pair| {
            let grown = pair[1]
                .disks
                .get(&load.number)?
                .since(pair[0].disks.get(&load.number)?);
            let seconds = (pair[1].time_ns - pair[0].time_ns) as f64 / 1e9;
            (seconds > 0.0).then(|| grown.ios.iter().sum::<u64>() as f64 / seconds)
        })
        .collect()
}
