//! The requests of a trace, as far as `fathom why` needs them: who waited how long for each, and what else was in flight.

use std::collections::{HashMap, HashSet};

use crate::decode::{ThreadName, thread_name};
use crate::event::{BlockEvent, DeviceNumber};
use crate::process::Processes;
use crate::session::TraceConsumer;
use crate::tracker::{BioPart, Request, Tracker, TrackerOutput};

/// Requests that are kept (56 bytes each).
const MAX_KEPT_REQUESTS: usize = 200_000;

/// A request that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// The whole device.
    pub device: DeviceNumber,
    /// The process that submitted it; of writes of the page cache a thread of the kernel.
    pub pid: u32,
    /// A read.
    pub is_read: bool,
    /// Its size; 0 for a flush.
    pub bytes: u64,
    /// When it entered the block layer.
    pub queued_ns: u64,
    /// When it went to the driver.
    pub issued_ns: u64,
    /// When it was complete.
    pub completed_ns: u64,
}

/// The requests of a trace, in order of their completion.
#[derive(Clone, Debug, Default)]
pub struct TracedRequests {
    /// Those that are kept: the first ones.
    pub kept: Vec<TracedRequest>,
    /// Requests beyond them.
    pub left_out: u64,
    /// Names of the processes.
    pub names: HashMap<u32, String>,
    /// Those of them that are threads of the kernel.
    pub kernel_threads: HashSet<u32>,
}

/// Mean latencies of a process's reads on a device, by what else was in flight when they were queued.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadsBesideOthers {
    /// Reads that met requests of the other process, and their mean latency, nanoseconds.
    pub with: (u64, f64),
    /// Reads that met none.
    pub without: (u64, f64),
}

impl TracedRequests {
    /// The reads of `victim` that were queued while a request of `other` was in flight, and those that no request of `other` came
    /// near: none in flight, and none for the mean latency of the first kind. Whether a read counts must not depend on its own
    /// latency, or only short ones would be alone. What was in flight when the trace began is not known until the first request
    /// of `other` completes.
    #[must_use]
    pub fn reads_beside(
        &self,
        device: DeviceNumber,
        victim: u32,
        is_other: impl Fn(u32) -> bool,
    ) -> ReadsBesideOthers {
        let on_device = || self.kept.iter().filter(|one| one.device == device);
        let of_others = || on_device().filter(|one| is_other(one.pid));
        let known_from = of_others().map(|one| one.completed_ns).min();
        let mut changes: Vec<(u64, i64)> = of_others()
            .flat_map(|one| [(one.queued_ns, 1), (one.completed_ns, -1)])
            .collect();
        changes.sort_unstable();
        let mut reads: Vec<&TracedRequest> = on_device()
            .filter(|one| {
                one.pid == victim
                    && one.is_read
                    && known_from.is_some_and(|from| one.queued_ns >= from)
            })
            .collect();
        reads.sort_unstable_by_key(|one| one.queued_ns);
        let (mut at, mut in_flight) = (0, 0);
        let (mut with, mut distances) = (Vec::new(), Vec::new());
        for read in reads {
            while changes.get(at).is_some_and(|one| one.0 <= read.queued_ns) {
                in_flight += changes[at].1;
                at += 1;
            }
            let latency = read.completed_ns - read.queued_ns;
            if in_flight > 0 {
                with.push(latency);
            } else {
                let next = changes.get(at).map_or(u64::MAX, |one| one.0);
                distances.push((next - read.queued_ns, latency));
            }
        }
        let mean = |all: &[u64]| {
            let sum: u64 = all.iter().sum();
            (all.len() as u64, sum as f64 / all.len().max(1) as f64)
        };
        let with = mean(&with);
        let is_far = |(distance, _): &&(u64, u64)| *distance as f64 >= with.1;
        let without: Vec<u64> = distances.iter().filter(is_far).map(|one| one.1).collect();
        ReadsBesideOthers {
            with,
            without: mean(&without),
        }
    }

    /// The share of `seconds` in which each process had at least one request in flight. Where requests are left out, it is that of
    /// the time that the kept ones cover.
    #[must_use]
    pub fn in_flight_shares(&self, seconds: f64) -> HashMap<u32, f64> {
        let first = self.kept.iter().map(|one| one.queued_ns).min();
        let last = self.kept.iter().map(|one| one.completed_ns).max();
        let covered = match first.zip(last).filter(|_| self.left_out > 0) {
            Some((first, last)) => (last - first) as f64,
            None => seconds * 1e9,
        };
        let mut spans: Vec<(u32, u64, u64)> = self
            .kept
            .iter()
            .map(|one| (one.pid, one.queued_ns, one.completed_ns))
            .collect();
        spans.sort_unstable();
        let mut shares: HashMap<u32, f64> = HashMap::new();
        let mut until = (0, 0);
        for (pid, start, end) in spans {
            if until.0 != pid {
                until = (pid, start);
            }
            let new = end.saturating_sub(start.max(until.1));
            until.1 = until.1.max(end);
            *shares.entry(pid).or_default() += new as f64 / covered.max(1.0);
        }
        shares
    }

    /// Requests on a device, and their mean time in the block layer and with the driver, nanoseconds.
    #[must_use]
    pub fn layers(&self, device: DeviceNumber) -> Option<(u64, f64, f64)> {
        let mut sums = (0u64, 0u64, 0u64);
        for one in self.kept.iter().filter(|one| one.device == device) {
            sums.0 += 1;
            sums.1 += one.issued_ns - one.queued_ns;
            sums.2 += one.completed_ns - one.issued_ns;
        }
        let mean = |sum: u64| sum as f64 / sums.0 as f64;
        (sums.0 > 0).then(|| (sums.0, mean(sums.1), mean(sums.2)))
    }
}

/// Follows a trace.
pub struct RequestCollector {
    tracker: Tracker,
    collected: Collected,
}

struct Collected {
    processes: Processes,
    requests: TracedRequests,
}

impl RequestCollector {
    /// Nothing collected yet; threads are looked up in `processes`.
    #[must_use]
    pub fn new(processes: Processes) -> Self {
        Self {
            tracker: Tracker::new(),
            collected: Collected {
                processes,
                requests: TracedRequests::default(),
            },
        }
    }

    /// What was collected.
    #[must_use]
    pub fn finish(self) -> TracedRequests {
        self.collected.requests
    }
}

impl TraceConsumer for RequestCollector {
    fn event(&mut self, event: &BlockEvent) {
        if event.kind == crate::event::BlockEventKind::BioQueue {
            // Asked now, while the thread is most likely alive.
            self.collected.processes.of(event.thread);
        }
        self.tracker.event(event, &mut self.collected);
    }

    fn thread(&mut self, thread: u32, name: &ThreadName) {
        self.collected.processes.thread(thread, thread_name(name));
    }

    fn lost(&mut self, _time_ns: u64, _events: u64) {
        self.tracker.lost_events();
    }
}

impl TrackerOutput for Collected {
    fn request(&mut self, request: &Request, _parts: &[BioPart]) {
        let (Some(thread), Some(queued_ns), Some(issued_ns)) =
            (request.thread, request.t_queue, request.t_issue)
        else {
            return;
        };
        if self.requests.kept.len() >= MAX_KEPT_REQUESTS {
            self.requests.left_out += 1;
            return;
        }
        let process = self.processes.of(thread);
        if process.is_kernel {
            self.requests.kernel_threads.insert(process.pid);
        }
        let names = &mut self.requests.names;
        names
            .entry(process.pid)
            .or_insert_with(|| process.name.clone());
        self.requests.kept.push(TracedRequest {
            device: request.device,
            pid: process.pid,
            is_read: request.flags.is_read(),
            bytes: u64::from(request.sectors) * 512,
            queued_ns,
            issued_ns: issued_ns.max(queued_ns),
            completed_ns: request.t_complete.max(issued_ns).max(queued_ns),
        });
    }
}
