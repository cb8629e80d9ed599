//! Threads that did not run during the whole observation.

use fathom_model::Certainty;

use super::super::answer::{StuckThread, WhyCause, WhyFinding};
use super::super::evidence::{WaitingThread, WhyEvidence, WhyMount};
use super::super::facts::{Facts, title};

/// Where a thread waits for the server of a FUSE file system.
const FUSE_PLACES: [&str; 2] = ["request_wait_answer", "fuse_"];
/// Where a thread waits for a server of NFS.
const NFS_PLACES: [&str; 2] = ["rpc_wait_bit_killable", "nfs_"];
/// What was observed for less is no hang.
const MIN_SECONDS: f64 = 1.0;

/// Threads that wait in every look and never ran in between.
pub(in super::super) fn threads(facts: &Facts) -> Vec<StuckThread> {
    let evidence = facts.evidence;
    waiting_throughout(facts)
        .map(|thread| StuckThread {
            pid: thread.pid,
            name: thread.name.clone(),
            seconds: facts.seconds,
            call: thread.call,
            file: thread.file.clone(),
            mount: mount_of(evidence, thread).map(|mount| mount.at.clone()),
        })
        .collect()
}

fn waiting_throughout<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a WaitingThread> {
    let evidence = facts.evidence;
    let looks = &evidence.looks;
    let is_long = facts.seconds >= MIN_SECONDS && looks.len() >= 2;
    let last = looks.last().filter(|_| is_long);
    let is_stuck = move |thread: &&WaitingThread| {
        looks.iter().all(|look| {
            look.waiting.iter().any(|other| {
                other.thread == thread.thread
                    && other.switches.is_some()
                    && other.switches == thread.switches
            })
        })
    };
    let wanted =
        move |thread: &&WaitingThread| evidence.scope.has_process(thread.pid, &thread.group);
    last.into_iter()
        .flat_map(|look| look.waiting.iter())
        .filter(wanted)
        .filter(is_stuck)
}

/// The mount with the longest path that the file of a thread is below.
fn mount_of<'a>(evidence: &'a WhyEvidence, thread: &WaitingThread) -> Option<&'a WhyMount> {
    let file = thread.file.as_deref()?;
    let is_below = |mount: &&WhyMount| {
        let rest = file.strip_prefix(mount.at.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mounts = evidence.mounts.iter().filter(is_below);
    mounts.max_by_key(|mount| mount.at.len())
}

/// The cause where threads are stuck.
pub(super) fn hang(facts: &Facts, stuck: &[StuckThread]) -> Option<WhyFinding> {
    if stuck.is_empty() {
        return None;
    }
    file_system(facts).or_else(|| device(facts, stuck))
}

fn file_system(facts: &Facts) -> Option<WhyFinding> {
    let evidence = facts.evidence;
    let of_thread = |thread: &'_ WaitingThread| {
        let by_file = mount_of(evidence, thread).filter(|mount| mount.is_served());
        let waits_for_server = thread.is_in(&FUSE_PLACES) || thread.is_in(&NFS_PLACES);
        let by_queue = || waiting_mount(evidence).filter(|_| waits_for_server);
        let mount = by_file.or_else(by_queue)?;
        Some((mount.clone(), waits_for_server, by_file.is_some()))
    };
    let (thread, (mount, waits_for_server, names_file)) =
        waiting_throughout(facts).find_map(|thread| Some((thread, of_thread(thread)?)))?;
    let queued = evidence.after.fuse_waiting.get(&mount.device.minor());
    let is_sure = waits_for_server || (names_file && queued.is_some_and(|waiting| *waiting > 0));
    let what = match (thread.call, &thread.file) {
        (Some(call), Some(file)) => format!(", in {call} of {file}"),
        (Some(call), None) => format!(", in {call}"),
        _ => String::new(),
    };
    let sentence = format!(
        "{} hangs: for all of the {:.1} s it has waited for the file system at {} ({}, {}){what}.",
        title(&thread.name, thread.pid),
        facts.seconds,
        mount.at,
        mount.kind,
        mount.source,
    );
    let mut finding = WhyFinding::sure_if(
        is_sure,
        WhyCause::FileSystemHang,
        sentence,
        "run `fathom why` as root, which sees where in the kernel it waits",
    )
    .about("waits", &thread.name, Some(thread.pid))
    .about("mount", &mount.at, None)
    .figure("waited_s", facts.seconds)
    .because("It did not run once between the first look and the last.".to_owned());
    if let Some(waiting) = queued {
        finding = finding.because(format!(
            "{waiting} requests wait for the server of this file system."
        ));
    }
    Some(finding.advise(format!(
        "Look at the server of {}: whether its process runs, its log, and its network. The devices of this host are not the reason.",
        mount.at
    )))
}

/// The only mount with requests that wait at the start and at the end.
fn waiting_mount(evidence: &WhyEvidence) -> Option<&WhyMount> {
    let before = &evidence.before.fuse_waiting;
    let waits = |mount: &&WhyMount| {
        let minor = mount.device.minor();
        mount.kind.starts_with("fuse")
            && evidence
                .after
                .fuse_waiting
                .get(&minor)
                .is_some_and(|n| *n > 0)
            && before.get(&minor).is_some_and(|n| *n > 0)
    };
    let mut mounts = evidence.mounts.iter().filter(waits);
    mounts.next().filter(|_| mounts.next().is_none())
}

/// A device with I/Os in flight that completes none.
fn device(facts: &Facts, stuck: &[StuckThread]) -> Option<WhyFinding> {
    let hangs = |one: &&super::super::facts::DeviceLoad| {
        one.in_flight_before > 0
            && one.grown.in_flight > 0
            && one.ios() == 0
            && one.grown.flushes == 0
    };
    let mut hanging = facts.devices.iter().filter(hangs);
    let load = hanging.next()?;
    let thread = stuck.first()?;
    let sentence = format!(
        "{} does not answer: {} I/Os are in flight, none was completed in {:.1} s, and {} waits.",
        load.name(),
        load.grown.in_flight,
        facts.seconds,
        title(&thread.name, thread.pid),
    );
    let is_sure = hanging.next().is_none();
    let mut finding = WhyFinding::sure_if(
        is_sure,
        WhyCause::DeviceHang,
        sentence,
        "the kernel's log (dmesg) names the device of a command that timed out",
    );
    if finding.certainty == Certainty::Fact {
        finding = finding.because("No other device has I/Os that do not complete.".to_owned());
    }
    Some(
        finding
            .about("device", load.name(), None)
            .about("waits", &thread.name, Some(thread.pid))
            .figure("in_flight", load.grown.in_flight as f64)
            .figure("waited_s", facts.seconds)
            .advise(format!(
                "Look at the kernel's log (dmesg) for timeouts and resets of {}, and at its paths, cables or volume.",
                load.name()
            )),
    )
}
