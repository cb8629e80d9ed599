//! Why programs wait for storage now: from the counters and events of some seconds to one answer.
//!
//! [`why`] is a function of [`WhyEvidence`] alone; who reads the evidence is no concern of it. Each rule is a hypothesis: it states a
//! fact only where the evidence excludes its rivals.

mod answer;
mod devices;
mod evidence;
mod facts;
mod requests;
mod rules;
mod users;

pub use self::answer::{StuckThread, WhyAnswer, WhyCause, WhyFinding, WhySubject};
pub use self::evidence::{
    WaitingThread, WhyArray, WhyCost, WhyDevice, WhyEvidence, WhyGroup, WhyLimit, WhyLook,
    WhyMount, WhyPressure, WhyProcess, WhyReading, WhyScope, WhyVolume, is_in_group,
};
pub use self::requests::{ReadsBesideOthers, RequestCollector, TracedRequest, TracedRequests};

use fathom_model::format::{bytes, duration, percent};

use self::facts::{DeviceLoad, Facts, counts_delays};
use self::users::User;

/// Devices, users and waiters that are listed.
const MAX_LISTED: usize = 5;
/// A user with a smaller share explains nothing.
const MIN_LISTED_SHARE: f64 = 0.001;

/// The answer that the evidence gives.
#[must_use]
pub fn why(evidence: &WhyEvidence) -> WhyAnswer {
    let facts = Facts::of(evidence);
    let stuck = rules::stuck::threads(&facts);
    let mut found = rules::findings(&facts, &stuck);
    let finding = if found.is_empty() {
        rules::idle::not_storage(&facts).unwrap_or_else(|| rules::idle::not_known(&facts))
    } else {
        found.remove(0)
    };
    let looks = evidence.looks.len() as u64;
    WhyAnswer {
        scope: evidence.scope.name.clone(),
        seconds: facts.seconds,
        devices: devices(&facts),
        uses: uses(&facts),
        waits: waits(&facts),
        also: found,
        finding,
        stuck,
        not_looked_at: not_looked_at(evidence),
        processes: evidence.after.processes.len() as u64,
        looks,
        cost: evidence.cost,
    }
}

fn devices(facts: &Facts) -> Vec<String> {
    let active = |one: &&DeviceLoad| one.ios() + one.grown.flushes + one.grown.in_flight > 0;
    let loads = facts.devices.iter().filter(active).take(MAX_LISTED);
    let mut sentences: Vec<String> = loads.clone().map(DeviceLoad::sentence).collect();
    if let Some(requests) = &facts.evidence.requests {
        for load in loads {
            if let Some((count, above, below)) = requests.layers(load.number) {
                sentences.push(format!(
                    "{}: of {count} traced requests each was {} in the block layer and {} with the driver and the device",
                    load.name(),
                    duration(above),
                    duration(below),
                ));
            }
        }
    }
    sentences
}

fn uses(facts: &Facts) -> Vec<String> {
    // Those that are asked for come first.
    let scope = &facts.evidence.scope;
    let is_asked = |pid: u32| {
        let process = facts.evidence.after.processes.get(&pid);
        scope.is_of_processes() && process.is_some_and(|one| scope.has_process(pid, &one.group))
    };
    let is_listed = |user: &&User| user.share >= MIN_LISTED_SHARE || is_asked(user.pid);
    let mut users: Vec<_> = facts.users.iter().filter(is_listed).collect();
    users.sort_by_key(|user| !is_asked(user.pid));
    let users = users.into_iter().take(MAX_LISTED).map(|user| {
        format!(
            "{}: {} of the bytes, {} read and {} written",
            user.title(),
            percent(100.0 * user.share),
            bytes(user.bytes[0]),
            bytes(user.bytes[1])
        )
    });
    users.collect()
}

fn waits(facts: &Facts) -> Vec<String> {
    let waiters = facts.waiters.iter().take(MAX_LISTED).map(|waiter| {
        let last = waiter.seen.last();
        let call = last
            .and_then(|thread| thread.call)
            .map_or(String::new(), |call| format!(", last seen in {call}"));
        let file = last
            .and_then(|thread| thread.file.as_ref())
            .map_or(String::new(), |file| format!(" of {file}"));
        format!("{} {}{call}{file}", waiter.title(), waiter.phrase())
    });
    waiters.collect()
}

fn not_looked_at(evidence: &WhyEvidence) -> Vec<String> {
    let mut sentences = evidence.not_looked_at.clone();
    let hidden = evidence.after.hidden_processes;
    if hidden > 0 {
        sentences.push(format!(
            "the I/O of {}, which this user may not read",
            processes(hidden)
        ));
    }
    let skipped = evidence.after.skipped_processes;
    if skipped > 0 {
        sentences.push(format!(
            "{} beyond the first {}",
            processes(skipped),
            evidence.after.processes.len()
        ));
    }
    if evidence.looks.iter().any(|look| look.skipped_threads > 0) {
        sentences.push("threads beyond those that are looked at most".to_owned());
    }
    let is_hidden = |thread: &WaitingThread| thread.places.is_empty() && thread.call.is_none();
    if evidence
        .looks
        .iter()
        .flat_map(|look| &look.waiting)
        .any(is_hidden)
    {
        sentences
            .push("where in the kernel some threads wait, which this user may not read".to_owned());
    }
    if !counts_delays(evidence) {
        sentences.push(
            "how long each thread waited: the kernel does not count it (kernel.task_delayacct=0), so that waits are known from looks"
                .to_owned(),
        );
    }
    let pressure = evidence.after.pressure;
    if pressure.io.is_none() {
        sentences.push("pressure: this kernel has no /proc/pressure".to_owned());
    }
    sentences
}

fn processes(count: u64) -> String {
    match count {
        1 => "1 process".to_owned(),
        more => format!("{more} processes"),
    }
}
