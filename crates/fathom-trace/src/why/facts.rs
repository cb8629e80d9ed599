//! Figures of the evidence that all rules use: loads of devices, who uses them, who waits.

use std::collections::{BTreeMap, HashMap};

use fathom_model::format::{bandwidth, duration, percent, rate};

use crate::counters::DiskCounts;
use crate::event::DeviceNumber;

use super::evidence::{WaitingThread, WhyDevice, WhyEvidence};
use super::users::{User, users, users_by_trace};

/// Clock ticks per second of the kernel's interfaces (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;
/// A process that waits for a smaller share of the time is not held up by storage.
pub(super) const MIN_WAIT_SHARE: f64 = 0.1;
/// The same where waits are known from looks alone: one look in ten is chance.
const MIN_LOOK_SHARE: f64 = 0.2;
/// A device that is busy for a smaller share of the time can explain no more than a tenth of it.
pub(super) const IDLE_SHARE: f64 = 0.1;
/// From this share on a device is busy.
pub(super) const BUSY_SHARE: f64 = 0.8;

/// Growth of the counters of one whole device.
#[derive(Clone, Debug)]
pub(super) struct DeviceLoad<'a> {
    pub(super) number: DeviceNumber,
    pub(super) facts: &'a WhyDevice,
    pub(super) grown: DiskCounts,
    /// I/Os in flight at the start.
    pub(super) in_flight_before: u64,
    seconds: f64,
}

impl DeviceLoad<'_> {
    pub(super) fn name(&self) -> &str {
        &self.facts.name
    }

    /// Reads, writes and discards; flushes are not data.
    pub(super) fn ios(&self) -> u64 {
        self.grown.ios.iter().sum()
    }

    pub(super) fn iops(&self) -> f64 {
        self.ios() as f64 / self.seconds
    }

    pub(super) fn bytes(&self) -> u64 {
        self.grown.bytes.iter().sum()
    }

    /// Share of the time with at least one I/O.
    pub(super) fn busy(&self) -> f64 {
        (self.grown.busy_ms as f64 / 1e3 / self.seconds).min(1.0)
    }

    /// Mean number of I/Os in flight, flushes included.
    pub(super) fn in_flight(&self) -> f64 {
        self.grown.weighted_ms as f64 / 1e3 / self.seconds
    }

    /// Mean time of reads (0), writes (1) or all, nanoseconds; `None` without one.
    pub(super) fn mean_ns(&self, direction: Option<usize>) -> Option<f64> {
        let (ios, ms) = match direction {
            Some(at) => (self.grown.ios[at], self.grown.ticks_ms[at]),
            None => (self.ios(), self.grown.ticks_ms.iter().sum()),
        };
        (ios > 0).then(|| ms as f64 * 1e6 / ios as f64)
    }

    /// The mean time of a flush, nanoseconds.
    pub(super) fn flush_ns(&self) -> Option<f64> {
        (self.grown.flushes > 0)
            .then(|| self.grown.flush_ms as f64 * 1e6 / self.grown.flushes as f64)
    }

    /// The direction with most I/Os.
    pub(super) fn main_direction(&self) -> usize {
        usize::from(self.grown.ios[1] > self.grown.ios[0])
    }

    /// In one sentence.
    pub(super) fn sentence(&self) -> String {
        let mut text = format!(
            "{}: {} busy, {:.1} in flight",
            self.name(),
            percent(100.0 * self.busy()),
            self.in_flight()
        );
        for (at, noun) in [(0, "reads"), (1, "writes")] {
            if let Some(mean) = self.mean_ns(Some(at)) {
                let per_second = self.grown.ios[at] as f64 / self.seconds;
                let bytes = self.grown.bytes[at] as f64 / self.seconds;
                // The kernel adds whole milliseconds.
                let time = match self.grown.ticks_ms[at] {
                    0 => String::new(),
                    _ => format!(" of {}", duration(mean)),
                };
                text += &format!(
                    ", {} {noun}/s{time} ({})",
                    rate(per_second),
                    bandwidth(bytes)
                );
            }
        }
        text + &self.flush_phrase()
    }

    /// The flushes, to be added to a sentence; empty without one.
    pub(super) fn flush_phrase(&self) -> String {
        self.flush_ns().map_or(String::new(), |mean| {
            let per_second = self.grown.flushes as f64 / self.seconds;
            format!(", {} flushes/s of {}", rate(per_second), duration(mean))
        })
    }
}

/// How the time that a process waits is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitSource {
    /// The kernel counts it (delay accounting).
    Counted,
    /// In so many looks of all.
    Seen(u64, u64),
    /// It had I/Os in flight: whoever submits them asynchronously waits for them in no call that shows it.
    InFlight,
}

/// A process that waits for I/O.
#[derive(Clone, Debug)]
pub(super) struct Waiter<'a> {
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) group: String,
    pub(super) share: f64,
    pub(super) source: WaitSource,
    /// Its threads in each look in which one waited.
    pub(super) seen: Vec<&'a WaitingThread>,
}

impl Waiter<'_> {
    /// `postgres (pid 700)`.
    pub(super) fn title(&self) -> String {
        title(&self.name, self.pid)
    }

    /// Share of the looks at its waiting threads that fulfil a condition.
    pub(super) fn share_of_looks(&self, is: impl Fn(&WaitingThread) -> bool) -> f64 {
        let fulfil = self.seen.iter().filter(|thread| is(thread)).count();
        fulfil as f64 / self.seen.len().max(1) as f64
    }

    /// How long it waits, as a phrase.
    pub(super) fn phrase(&self) -> String {
        match self.source {
            WaitSource::Counted => format!(
                "waits {} of the time for block I/O",
                percent(100.0 * self.share)
            ),
            WaitSource::Seen(seen, all) => format!("waited in {seen} of {all} looks"),
            WaitSource::InFlight => format!(
                "had I/Os in flight {} of the time",
                percent(100.0 * self.share)
            ),
        }
    }
}

pub(super) fn title(name: &str, pid: u32) -> String {
    format!("{name} (pid {pid})")
}

/// The evidence with its figures.
pub(super) struct Facts<'a> {
    pub(super) evidence: &'a WhyEvidence,
    pub(super) seconds: f64,
    /// Whole devices that are asked for, busiest first.
    pub(super) devices: Vec<DeviceLoad<'a>>,
    /// Processes that devices worked for, largest first.
    pub(super) users: Vec<User>,
    /// Processes that wait and are asked for, longest first.
    pub(super) waiters: Vec<Waiter<'a>>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(evidence: &'a WhyEvidence) -> Self {
        let elapsed = evidence.after.time_ns - evidence.before.time_ns;
        let seconds = (elapsed as f64 / 1e9).max(1e-3);
        let mut facts = Self {
            evidence,
            seconds,
            devices: devices(evidence, seconds),
            users: users(evidence),
            waiters: waiters(evidence, seconds),
        };
        if !evidence.scope.devices.is_empty() {
            facts.forget_waiters_of_other_devices();
        }
        facts
    }

    /// A question about a device leaves out who waits for another one, as far as a trace shows it.
    fn forget_waiters_of_other_devices(&mut self) {
        let requests = self.evidence.requests.as_ref();
        let Some(requests) = requests.filter(|requests| requests.left_out == 0) else {
            return;
        };
        let users: Vec<User> = self
            .devices
            .iter()
            .filter_map(|load| users_by_trace(self.evidence, requests, &self.users, load.number))
            .flatten()
            .collect();
        let is_cached = users.iter().any(|user| user.by_kernel);
        let writers: Vec<u32> = self
            .users
            .iter()
            .filter(|user| is_cached && user.bytes[1] > 0)
            .map(|user| user.pid)
            .collect();
        self.waiters.retain(|waiter| {
            let uses = |user: &User| user.pids.contains(&waiter.pid);
            users.iter().any(uses) || writers.contains(&waiter.pid)
        });
    }

    /// The busiest device with I/O that no other one is below: there the time is spent.
    pub(super) fn busiest(&self) -> Option<&DeviceLoad<'a>> {
        self.devices
            .iter()
            .find(|one| one.facts.members.is_empty() && one.ios() + one.grown.flushes > 0)
    }

    pub(super) fn device(&self, number: DeviceNumber) -> Option<&DeviceLoad<'a>> {
        self.devices.iter().find(|one| one.number == number)
    }

    /// The users of one device, largest first: by the trace, whose bytes are those of the device; without one those of all devices.
    pub(super) fn users_of(&self, load: &DeviceLoad) -> Vec<User> {
        let requests = self.evidence.requests.as_ref();
        requests
            .and_then(|requests| users_by_trace(self.evidence, requests, &self.users, load.number))
            .unwrap_or_else(|| self.users.clone())
    }

    /// Per second of the growth of a counter of `/proc/vmstat`; `None` where the kernel does not have it.
    pub(super) fn per_second(&self, counter: &str) -> Option<f64> {
        let (before, after) = (&self.evidence.before.memory, &self.evidence.after.memory);
        let grown = after
            .get(counter)?
            .saturating_sub(*before.get(counter).unwrap_or(&0));
        Some(grown as f64 / self.seconds)
    }

    /// A value of `/proc/vmstat` at the end, in bytes.
    pub(super) fn page_bytes(&self, counter: &str) -> Option<u64> {
        Some(self.evidence.after.memory.get(counter)? * self.evidence.page_bytes)
    }

    /// Share of the time in which tasks waited for I/O; `None` where the kernel does not say.
    pub(super) fn io_pressure(&self) -> Option<f64> {
        let (before, after) = (self.evidence.before.pressure, self.evidence.after.pressure);
        share(before.io, after.io, self.seconds)
    }

    /// The same where it says something about what is asked for: it is that of all processes and devices.
    pub(super) fn io_pressure_of_scope(&self) -> Option<f64> {
        let scope = &self.evidence.scope;
        let is_followed = !scope.devices.is_empty() && self.has_all_requests();
        self.io_pressure()
            .filter(|_| !scope.is_of_processes() && !is_followed)
    }

    /// Whether a trace has every request.
    pub(super) fn has_all_requests(&self) -> bool {
        let requests = self.evidence.requests.as_ref();
        requests.is_some_and(|requests| requests.left_out == 0)
    }

    /// The same for memory.
    pub(super) fn memory_pressure(&self) -> Option<f64> {
        let (before, after) = (self.evidence.before.pressure, self.evidence.after.pressure);
        share(before.memory, after.memory, self.seconds)
    }

    /// The same for a CPU.
    pub(super) fn cpu_pressure(&self) -> Option<f64> {
        let (before, after) = (self.evidence.before.pressure, self.evidence.after.pressure);
        share(before.cpu, after.cpu, self.seconds)
    }

    /// Whether something that is asked for waits for I/O.
    pub(super) fn waits(&self) -> bool {
        let pressure = self.io_pressure_of_scope();
        !self.waiters.is_empty() || pressure.is_some_and(|share| share >= MIN_WAIT_SHARE)
    }

    /// Major faults of a process.
    pub(super) fn major_faults(&self, pid: u32) -> u64 {
        let faults = |processes: &BTreeMap<u32, super::evidence::WhyProcess>| {
            processes.get(&pid).map(|one| one.major_faults)
        };
        faults(&self.evidence.after.processes)
            .zip(faults(&self.evidence.before.processes))
            .map_or(0, |(after, before)| after.saturating_sub(before))
    }
}

/// Share of the time from two totals in microseconds.
pub(super) fn share(before: Option<u64>, after: Option<u64>, seconds: f64) -> Option<f64> {
    let (before, after) = before.zip(after)?;
    Some((after.saturating_sub(before) as f64 / 1e6 / seconds).min(1.0))
}

fn devices(evidence: &WhyEvidence, seconds: f64) -> Vec<DeviceLoad<'_>> {
    let wanted = &evidence.scope.devices;
    let mut loads: Vec<DeviceLoad<'_>> = evidence
        .devices
        .iter()
        .filter(|(number, _)| wanted.is_empty() || wanted.contains(number))
        .filter_map(|(number, facts)| {
            let before = evidence.before.disks.get(number)?;
            Some(DeviceLoad {
                number: *number,
                facts,
                grown: evidence.after.disks.get(number)?.since(before),
                in_flight_before: before.in_flight,
                seconds,
            })
        })
        .collect();
    loads.sort_by_key(|one| std::cmp::Reverse((one.grown.busy_ms, one.grown.weighted_ms)));
    loads
}

/// Whether the kernel counts the time that threads wait for block I/O.
pub(super) fn counts_delays(evidence: &WhyEvidence) -> bool {
    let processes = evidence.after.processes.values();
    processes
        .flat_map(|process| process.delays.values())
        .any(|ticks| *ticks > 0)
}

/// How often each process waited in the looks, and its threads in them.
type Seen<'a> = BTreeMap<u32, (u64, Vec<&'a WaitingThread>)>;

fn seen(evidence: &WhyEvidence) -> Seen<'_> {
    let mut seen = Seen::new();
    for look in &evidence.looks {
        let mut last = None;
        for thread in &look.waiting {
            let entry = seen.entry(thread.pid).or_default();
            entry.0 += u64::from(last != Some(thread.pid));
            last = Some(thread.pid);
            entry.1.push(thread);
        }
    }
    seen
}

fn waiters(evidence: &WhyEvidence, seconds: f64) -> Vec<Waiter<'_>> {
    let mut seen = seen(evidence);
    let mut pids: Vec<u32> = evidence.after.processes.keys().copied().collect();
    pids.extend(seen.keys());
    pids.sort_unstable();
    pids.dedup();
    let requests = evidence.requests.as_ref();
    let in_flight = requests.map_or_else(HashMap::new, |all| all.in_flight_shares(seconds));
    let mut waiters: Vec<Waiter<'_>> = Vec::new();
    for pid in pids {
        let (times, threads) = seen.remove(&pid).unwrap_or_default();
        let in_flight = in_flight.get(&pid).copied().unwrap_or(0.0);
        let Some((share, source)) = wait_of(evidence, seconds, pid, times, in_flight) else {
            continue;
        };
        let process = evidence.after.processes.get(&pid);
        let thread = threads.first().copied();
        let name = process.map(|one| &one.name).or(thread.map(|one| &one.name));
        let group = process
            .map(|one| &one.group)
            .or(thread.map(|one| &one.group));
        let waiter = Waiter {
            pid,
            name: name.cloned().unwrap_or_default(),
            group: group.cloned().unwrap_or_default(),
            share,
            source,
            seen: threads,
        };
        if evidence.scope.has_process(pid, &waiter.group) {
            waiters.push(waiter);
        }
    }
    waiters.sort_by(|a, b| b.share.total_cmp(&a.share));
    waiters
}

/// The share of the time that a process waits, by the best source; `None` if it does not.
fn wait_of(
    evidence: &WhyEvidence,
    seconds: f64,
    pid: u32,
    times: u64,
    in_flight: f64,
) -> Option<(f64, WaitSource)> {
    let looks = evidence.looks.len() as u64;
    let delayed = longest_delay(evidence, pid) / seconds;
    let share = times as f64 / looks.max(1) as f64;
    let is_seen = times >= 2 && share >= MIN_LOOK_SHARE;
    let has_ios = in_flight >= MIN_LOOK_SHARE && evidence.after.processes.contains_key(&pid);
    if delayed >= MIN_WAIT_SHARE {
        Some((delayed.min(1.0), WaitSource::Counted))
    } else if is_seen && (share >= in_flight || !has_ios) {
        Some((share, WaitSource::Seen(times, looks)))
    } else if has_ios {
        // The trace has the whole time, looks have moments of it.
        Some((in_flight.min(1.0), WaitSource::InFlight))
    } else {
        None
    }
}

/// The longest time that a thread of a process waited for block I/O, seconds.
fn longest_delay(evidence: &WhyEvidence, pid: u32) -> f64 {
    let Some(after) = evidence.after.processes.get(&pid) else {
        return 0.0;
    };
    let before = evidence.before.processes.get(&pid);
    let grown = after.delays.iter().map(|(thread, ticks)| {
        let before = before.and_then(|process| process.delays.get(thread));
        ticks.saturating_sub(before.copied().unwrap_or(0))
    });
    grown.max().unwrap_or(0) as f64 / TICKS_PER_SECOND
}
