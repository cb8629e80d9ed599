//! Who uses the devices: by the counters of processes, and by the requests of a trace.

use std::collections::HashMap;

use crate::event::DeviceNumber;

use super::evidence::{WhyEvidence, WhyProcess};
use super::facts::title;
use super::requests::TracedRequests;

/// A process that uses devices.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) pid: u32,
    pub(super) name: String,
    /// Bytes that devices read and wrote for it.
    pub(super) bytes: [u64; 2],
    /// Share of the bytes of all processes.
    pub(super) share: f64,
    /// Share of the bytes that were written for all processes.
    pub(super) share_written: f64,
    /// Most of its bytes are those of its children that have ended.
    pub(super) started_others: bool,
    /// Itself, the processes that it started, and the threads of the kernel that write for it.
    pub(super) pids: Vec<u32>,
    /// Threads of the kernel write for it: its data is in the page cache.
    pub(super) by_kernel: bool,
}

impl User {
    /// `dd (pid 812)`.
    pub(super) fn title(&self) -> String {
        let own = title(&self.name, self.pid);
        match (self.is_page_cache(), self.started_others) {
            (true, _) => self.name.clone(),
            (false, true) => own + " with what it started",
            (false, false) => own,
        }
    }

    /// Several programs wrote what threads of the kernel bring to the device.
    pub(super) fn is_page_cache(&self) -> bool {
        self.pid == PAGE_CACHE_PID
    }

    /// Its number, if it is a process.
    pub(super) fn process(&self) -> Option<u32> {
        (!self.is_page_cache()).then_some(self.pid)
    }
}

/// The growth of the bytes of a process and of its living threads alone; `None` where this user may not read them.
fn grown_bytes(evidence: &WhyEvidence, pid: u32) -> Option<([u64; 2], Option<[u64; 2]>)> {
    let after = evidence.after.processes.get(&pid)?;
    let before = evidence.before.processes.get(&pid);
    let of_all = before.and_then(|process| process.counts.as_ref());
    let of_all = of_all.map_or([0; 2], |counts| counts.device);
    let of_own = before.map_or(Some([0; 2]), |process| process.own_bytes);
    let grown = |after: [u64; 2], before: [u64; 2]| {
        [0, 1].map(|at: usize| after[at].saturating_sub(before[at]))
    };
    let all = grown(after.counts.as_ref()?.device, of_all);
    let own = after.own_bytes.zip(of_own);
    Some((all, own.map(|(after, before)| grown(after, before))))
}

/// Bytes that devices read for the living processes that fulfil a condition.
pub(super) fn read_bytes(evidence: &WhyEvidence, is_meant: impl Fn(&WhyProcess) -> bool) -> u64 {
    let processes = evidence.after.processes.iter();
    let meant = processes.filter(|(_, process)| is_meant(process));
    meant
        .filter_map(|(pid, _)| Some(grown_bytes(evidence, *pid)?.0[0]))
        .sum()
}

/// The users of all devices by the counters of processes, largest first.
pub(super) fn users(evidence: &WhyEvidence) -> Vec<User> {
    let mut users: Vec<User> = Vec::new();
    for (pid, process) in &evidence.after.processes {
        let Some((bytes, own)) = grown_bytes(evidence, *pid) else {
            continue;
        };
        if total(bytes) > 0 {
            users.push(User {
                pid: *pid,
                name: process.name.clone(),
                bytes,
                share: 0.0,
                share_written: 0.0,
                started_others: own.is_some_and(|own| 2 * total(own) < total(bytes)),
                pids: vec![*pid],
                by_kernel: false,
            });
        }
    }
    join_children(evidence, &mut users);
    let written: u64 = users.iter().map(|user| user.bytes[1]).sum();
    for user in &mut users {
        user.share_written = user.bytes[1] as f64 / written.max(1) as f64;
    }
    with_shares(users)
}

fn total(bytes: [u64; 2]) -> u64 {
    bytes[0] + bytes[1]
}

/// Adds the share of each, and puts the largest first.
fn with_shares(mut users: Vec<User>) -> Vec<User> {
    let all: u64 = users.iter().map(|user| total(user.bytes)).sum();
    for user in &mut users {
        user.share = total(user.bytes) as f64 / all.max(1) as f64;
    }
    users.sort_by_key(|user| std::cmp::Reverse(total(user.bytes)));
    users
}

/// A process that starts one program after the other is one user with those that it started meanwhile. One that was there before stands
/// for itself, and may be the one that is asked for. The first process of a machine or container collects
/// processes that it did not start.
fn join_children(evidence: &WhyEvidence, users: &mut Vec<User>) {
    let starters = users.iter().filter(|user| user.started_others);
    let starters: Vec<u32> = starters
        .map(|user| user.pid)
        .filter(|pid| *pid > 1)
        .collect();
    for starter in starters {
        let is_child = |user: &User| {
            let process = evidence.after.processes.get(&user.pid);
            let is_new = !evidence.before.processes.contains_key(&user.pid);
            is_new
                && process.is_some_and(|process| process.parent == starter)
                && !user.started_others
        };
        let children: Vec<User> = users.extract_if(.., |user| is_child(user)).collect();
        let Some(starter) = users.iter_mut().find(|user| user.pid == starter) else {
            continue;
        };
        for child in children {
            starter.pids.push(child.pid);
            for at in [0, 1] {
                starter.bytes[at] += child.bytes[at];
            }
        }
    }
}

/// Share of the written bytes of all programs from which on what threads of the kernel write is that of one program.
const MIN_WRITER_SHARE: f64 = 0.9;
/// What threads of the kernel write for several programs has no number.
const PAGE_CACHE_PID: u32 = 0;

/// The users of one device by the requests of a trace; `None` without a request on it. What threads of the kernel write is that of the
/// only program that writes, or of the page cache; what processes did that have ended is that of the one that starts others.
pub(super) fn users_by_trace(
    evidence: &WhyEvidence,
    requests: &TracedRequests,
    users: &[User],
    device: DeviceNumber,
) -> Option<Vec<User>> {
    let mut bytes: HashMap<u32, [u64; 2]> = HashMap::new();
    for one in requests.kept.iter().filter(|one| one.device == device) {
        bytes.entry(one.pid).or_default()[usize::from(!one.is_read)] += one.bytes;
    }
    let writer = users
        .iter()
        .find(|user| user.share_written >= MIN_WRITER_SHARE);
    let starter = users.iter().find(|user| user.started_others);
    let mut found: HashMap<u32, User> = HashMap::new();
    for (pid, bytes) in bytes {
        let of_kernel = requests.kernel_threads.contains(&pid) && bytes[1] > bytes[0];
        let has_ended =
            !evidence.after.processes.contains_key(&pid) && !requests.kernel_threads.contains(&pid);
        let own = users.iter().find(|user| user.pids.contains(&pid));
        let owner = own
            .or(writer.filter(|_| of_kernel))
            .or(starter.filter(|_| has_ended));
        let is_cached = of_kernel && owner.is_none();
        let of_nobody = if is_cached { PAGE_CACHE_PID } else { pid };
        let number = owner.map_or(of_nobody, |user| user.pid);
        let new = || {
            owner
                .cloned()
                .unwrap_or_else(|| traced_user(evidence, requests, number))
        };
        let user = found.entry(number).or_insert_with(|| User {
            bytes: [0; 2],
            ..new()
        });
        user.bytes = [user.bytes[0] + bytes[0], user.bytes[1] + bytes[1]];
        user.pids.push(pid);
        user.by_kernel |= of_kernel && own.is_none();
    }
    let mut found: Vec<User> = found.into_values().collect();
    // A map has no order.
    found.sort_by_key(|user| user.pid);
    (!found.is_empty()).then(|| with_shares(found))
}

/// A user that only the trace knows.
fn traced_user(evidence: &WhyEvidence, requests: &TracedRequests, pid: u32) -> User {
    let process = evidence.after.processes.get(&pid).map(|one| &one.name);
    let name = process.or_else(|| requests.names.get(&pid)).cloned();
    User {
        pid,
        name: match pid {
            PAGE_CACHE_PID => "the page cache".to_owned(),
            _ => name.unwrap_or_default(),
        },
        bytes: [0; 2],
        share: 0.0,
        share_written: 0.0,
        started_others: false,
        pids: Vec::new(),
        by_kernel: false,
    }
}
