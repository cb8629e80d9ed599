//! A member of an array that is slower than the others.

use fathom_model::format::{counted, duration};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::facts::{DeviceLoad, Facts};

/// A member is slow if it takes this many times as long as the median of the others.
const MIN_RATIO: f64 = 3.0;
/// I/Os that tell a mean.
const MIN_IOS: u64 = 100;
/// Members have the same load if their I/Os differ by less.
const SAME_LOAD_SHARE: f64 = 0.2;
/// Other members that make a fact of it.
const MIN_PEERS: usize = 2;

/// One member takes longer than the others at the same load.
pub(super) fn slow_member(facts: &Facts) -> Option<WhyFinding> {
    if !facts.waits() {
        return None;
    }
    let arrays = facts.devices.iter();
    arrays
        .filter(|array| array.facts.array.is_some() && array.ios() > 0)
        .find_map(|array| slow_member_of(facts, array))
}

fn slow_member_of(facts: &Facts, array: &DeviceLoad) -> Option<WhyFinding> {
    let members: Vec<&DeviceLoad> = array
        .facts
        .members
        .iter()
        .filter_map(|number| facts.device(*number))
        .collect();
    let direction = array.main_direction();
    let mean = |one: &DeviceLoad| one.mean_ns(Some(direction)).unwrap_or(0.0);
    let slow = *members.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let mut peers: Vec<&DeviceLoad> = members
        .into_iter()
        .filter(|one| one.number != slow.number)
        .collect();
    peers.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let usual = mean(peers.get(peers.len() / 2)?);
    let ios = |one: &DeviceLoad| one.grown.ios[direction];
    if ios(slow) < MIN_IOS || usual == 0.0 || mean(slow) < MIN_RATIO * usual {
        return None;
    }
    let has_same_load = peers
        .iter()
        .all(|one| (ios(one) as f64 / ios(slow) as f64 - 1.0).abs() <= SAME_LOAD_SHARE);
    let noun = ["read", "write"][direction.min(1)];
    let sentence = format!(
        "{} holds {} back: it needs {} per {noun}, the other {} {} at the same number of {noun}s.",
        slow.name(),
        array.name(),
        duration(mean(slow)),
        counted(peers.len() as u64, "member"),
        duration(usual),
    );
    let mut finding = WhyFinding::sure_if(
        has_same_load && peers.len() >= MIN_PEERS,
        WhyCause::ArrayMember,
        sentence,
        &format!(
            "reads of each member alone, at a time when nobody needs the array, such as `fathom run --name=member --filename=/dev/{} --rw=randread --bs=4k --direct=1 --readonly --time_based --runtime=10s`",
            slow.name()
        ),
    )
    .about("device", slow.name(), None)
    .about("device", array.name(), None)
    .figure("member_ns", mean(slow))
    .figure("peers_ns", usual)
    .figure("peers", peers.len() as f64)
    .because(slow.sentence());
    for peer in peers {
        finding = finding.because(peer.sentence());
    }
    if let Some(state) = array.facts.array.as_ref()
        && (state.degraded > 0 || state.action != "idle")
    {
        finding = finding.although(format!(
            "{} ({}) lacks {} and its state is {}: that makes I/Os slower as well.",
            array.name(),
            state.level,
            counted(state.degraded, "member"),
            state.action
        ));
    }
    Some(finding.advise(format!(
        "Look at {}: smartctl -a, its cable and slot, the kernel's log. Keep it in {} until a spare has taken its place.",
        slow.name(),
        array.name()
    )))
}
