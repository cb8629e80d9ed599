//! A disk of the simulated machine: a device, what happens to it, and what the kernel would count about it.

use std::path::PathBuf;

use fathom_model::DiskCounters;

use super::contents::Fate;
use super::disk_time::DiskTime;
use super::world::{FOREIGN, id};
use crate::agenda::{Agenda, earlier};
use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::devices::limit::Bucket;
use crate::disk_counts::Counts;
use crate::machine::{Event, EventKind, ForeignLoad, SimDisk};
use crate::registry::Device;

const SECOND: f64 = 1e9;
/// The response time of a request that the model completes at once, as a read of a page that was never written. Without it a closed loop
/// would do any number of I/Os at one time, and never end.
const MIN_RESPONSE_TIME: SimTime = 1000;

/// A disk.
pub(super) struct Disk {
    path: PathBuf,
    device: Device,
    /// The device's own time.
    time: DiskTime,
    /// What happens to single requests; most disks have none.
    effects: Option<Box<Effects>>,
    /// Requests that the device completed at once, at the time of their response.
    completed_at_once: Agenda<SimCompletion>,
    counts: Counts,
}

impl Disk {
    /// The disk number `number` and its events.
    pub fn new(disk: SimDisk, number: usize, events: &[Event]) -> Self {
        let own = || {
            events
                .iter()
                .filter(|event| event.kind.disk() == Some(number))
        };
        let effects = Effects::new(own(), disk.device.capacity());
        Disk {
            path: disk.path,
            device: disk.device,
            time: DiskTime::new(own()),
            effects: effects.map(Box::new),
            completed_at_once: Agenda::default(),
            counts: Counts::default(),
        }
    }

    /// Its kernel name: the last part of its path.
    pub fn name(&self) -> Option<String> {
        let name = self.path.file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// What the kernel would have counted until `now`.
    pub fn counters(&self, now: SimTime) -> DiskCounters {
        let mut counters = self.counts.counters(now);
        // The kernel counts requests after it has split them.
        let [reads, writes, ..] = self.device.requests_added();
        counters.read_ios += reads;
        counters.write_ios += writes;
        counters
    }

    /// What each member has done, if it is an array whose members the host knows.
    pub fn member_counters(&self, now: SimTime) -> Vec<DiskCounters> {
        self.device.member_counters(self.time.device_time_at(now))
    }

    /// Whether it may have requests that it never completes.
    pub fn hangs(&self) -> bool {
        self.time.stops_for_ever() || self.effects.as_ref().is_some_and(|effects| effects.hangs)
    }

    /// Accepts a request of the generator at `now`, to which it was advanced. Returns what becomes of the bytes of a write.
    pub fn submit(&mut self, now: SimTime, request: SimRequest) -> Fate {
        let (passed, fate) = match &mut self.effects {
            None => (Some(request), Fate::Lands),
            Some(effects) => {
                let passed = effects.arrived(now, request);
                (passed, effects.fate_of_last(now))
            }
        };
        if let Some(request) = passed {
            self.pass_on(now, request);
        }
        fate
    }

    /// Gives a request to the device.
    fn pass_on(&mut self, now: SimTime, request: SimRequest) {
        self.counts.submitted(now, &request);
        let time = self.time.device_time_at(now);
        self.device.submit(time, request);
        let is_due = self.device.next_event().is_some_and(|event| event <= time);
        if is_due && !self.time.stands_still(now) {
            self.delay_completions(now, time);
        }
    }

    /// What the device completes at the time of a submission waits for the shortest response time.
    #[cold]
    fn delay_completions(&mut self, now: SimTime, device_time: SimTime) {
        let mut done = Vec::new();
        self.device.advance(device_time, &mut done);
        for SimCompletion { id, failed, .. } in done {
            let at = now.saturating_add(MIN_RESPONSE_TIME);
            self.completed_at_once.complete(id, at, failed);
        }
    }

    /// The time of the device's next event; none if it never comes.
    fn next_device_event(&self) -> Option<SimTime> {
        let event = self.device.next_event();
        let at = event.map(|event| self.time.machine_time_at(event));
        earlier(at, self.completed_at_once.next()).filter(|at| *at < SimTime::MAX)
    }

    /// The time of the next event.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        if self.effects.is_none() && self.time.is_machine_time() {
            return earlier(self.device.next_event(), self.completed_at_once.next());
        }
        let others = self.effects.as_ref().and_then(|effects| effects.next());
        earlier(self.next_device_event(), others)
    }

    /// Processes all events up to `now` and appends the completions of the generator.
    #[inline]
    pub fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        if self.effects.is_some() {
            return self.advance_with_effects(now, done);
        }
        self.advance_device(now, done);
    }

    /// Processes the device's events up to `now`.
    #[inline]
    fn advance_device(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        let first = done.len();
        self.device.advance(self.time.device_time_at(now), done);
        while let Some((_, completion)) = self.completed_at_once.take(now) {
            done.push(completion);
        }
        for completion in &done[first..] {
            self.counts.completed(now, id::op(completion.id));
        }
    }

    fn advance_with_effects(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            let first = done.len();
            self.advance_device(at, done);
            let mut following = Vec::new();
            if let Some(effects) = &mut self.effects {
                effects.completed(at, first, done, &mut following);
                effects.due(at, &mut following);
            }
            for request in following {
                self.pass_on(at, request);
            }
        }
        self.device.advance(self.time.device_time_at(now), done);
    }
}

/// What happens to single requests of a disk.
#[derive(Default)]
struct Effects {
    /// I/Os of the generator that reached the disk.
    number: u64,
    hanging: Vec<(SimTime, u64)>,
    failing: Vec<(SimTime, u64)>,
    failing_ranges: Vec<(SimTime, u64, u64)>,
    /// Writes whose bytes are not stored as they are.
    fates: Vec<(SimTime, u64, Fate)>,
    /// Requests in flight that will fail.
    will_fail: Vec<u64>,
    limits: Vec<Limit>,
    /// Requests that wait for tokens, and when they have them.
    held: Agenda<SimRequest>,
    /// When the last request has its tokens: the order is kept.
    last_held: SimTime,
    foreign: Vec<Foreign>,
    /// Reads of others that begin: their streams.
    arrivals: Agenda<usize>,
    /// A request was taken that is never completed.
    hangs: bool,
}

/// A limit and its time.
struct Limit {
    from: SimTime,
    to: SimTime,
    ios: Option<Bucket>,
    bytes: Option<Bucket>,
}

/// The reads of another program.
struct Foreign {
    from: SimTime,
    to: SimTime,
    load: ForeignLoad,
    bytes: u32,
    /// Blocks of that size on the disk.
    blocks: u64,
    started: u64,
    random: u64,
}

impl Effects {
    fn new<'e>(events: impl Iterator<Item = &'e Event>, capacity: u64) -> Option<Self> {
        let mut effects = Effects::default();
        let mut is_used = false;
        for event in events {
            let (from, to) = (event.at.get(), event.end().get());
            match event.kind {
                EventKind::IoHangs { number, .. } => effects.hanging.push((from, number)),
                EventKind::IoFails { number, .. } => effects.failing.push((from, number)),
                EventKind::RangeFails {
                    from: start,
                    to: end,
                    ..
                } => effects.failing_ranges.push((from, start, end)),
                EventKind::WriteTorn { number, keep, .. } => {
                    effects.fates.push((from, number, Fate::Torn { keep }));
                }
                EventKind::WriteLost { number, .. } => {
                    effects.fates.push((from, number, Fate::Lost));
                }
                EventKind::WriteMisplaced { number, by, .. } => {
                    effects.fates.push((from, number, Fate::Misplaced { by }));
                }
                EventKind::IoLimited { ios, bytes, .. } => {
                    let [ios, bytes] = [ios, bytes]
                        .map(|bucket| bucket.map(|bucket| Bucket::new(bucket.rate, bucket.burst)));
                    effects.limits.push(Limit {
                        from,
                        to,
                        ios,
                        bytes,
                    });
                }
                EventKind::ForeignReads { load, size, .. } => {
                    let bytes = size.get().min(u64::from(u32::MAX)) as u32;
                    let stream = effects.foreign.len();
                    let starts = match load {
                        ForeignLoad::Depth(depth) => depth,
                        ForeignLoad::Rate(_) => 1,
                    };
                    (0..starts).for_each(|_| effects.arrivals.add(from, stream));
                    effects.foreign.push(Foreign {
                        from,
                        to,
                        load,
                        bytes,
                        blocks: (capacity / u64::from(bytes.max(1))).max(1),
                        started: 0,
                        random: stream as u64 + 1,
                    });
                }
                _ => continue,
            }
            is_used = true;
        }
        is_used.then_some(effects)
    }

    fn next(&self) -> Option<SimTime> {
        earlier(self.held.next(), self.arrivals.next())
    }

    /// A request of the generator. Returns it if it goes on to the device at once.
    fn arrived(&mut self, now: SimTime, request: SimRequest) -> Option<SimRequest> {
        self.number += 1;
        let is_now = |at: &(SimTime, u64)| at.0 <= now && at.1 == self.number;
        if self.hanging.iter().any(is_now) {
            self.hangs = true;
            return None;
        }
        let end = request.offset.saturating_add(u64::from(request.bytes));
        let touches = |range: &(SimTime, u64, u64)| {
            range.0 <= now && request.offset < range.2 && range.1 < end
        };
        if self.failing.iter().any(is_now) || self.failing_ranges.iter().any(touches) {
            self.will_fail.push(request.id);
        }
        let mut at = self.last_held.max(now) as f64;
        if request.op != SimOp::Flush {
            let limits = self.limits.iter_mut();
            for limit in limits.filter(|limit| (limit.from..limit.to).contains(&now)) {
                let costs = [1.0, f64::from(request.bytes)];
                for (bucket, tokens) in [&mut limit.ios, &mut limit.bytes].into_iter().zip(costs) {
                    if let Some(bucket) = bucket {
                        at = at.max(bucket.take(now as f64, tokens));
                    }
                }
            }
        }
        let at = at.ceil() as SimTime;
        if at <= now {
            return Some(request);
        }
        self.last_held = at;
        self.held.add(at, request);
        None
    }

    /// What becomes of the bytes of the request that arrived last.
    fn fate_of_last(&self, now: SimTime) -> Fate {
        let mut own = self.fates.iter();
        let own = own.find(|(at, number, _)| *at <= now && *number == self.number);
        own.map_or(Fate::Lands, |(_, _, fate)| *fate)
    }

    /// Completions since `first`: those of other programs are taken out, and followed by their next reads.
    fn completed(
        &mut self,
        now: SimTime,
        first: usize,
        done: &mut Vec<SimCompletion>,
        following: &mut Vec<SimRequest>,
    ) {
        for completion in &mut done[first..] {
            if let Some(place) = self.will_fail.iter().position(|id| *id == completion.id) {
                self.will_fail.swap_remove(place);
                completion.failed = true;
            }
        }
        let is_foreign = |completion: &SimCompletion| id::thread(completion.id) == FOREIGN;
        let mut place = first;
        while place < done.len() {
            if !is_foreign(&done[place]) {
                place += 1;
                continue;
            }
            let stream = Foreign::stream(done.remove(place).id);
            if let Some(ForeignLoad::Depth(_)) = self.foreign.get(stream).map(|other| other.load) {
                following.extend(self.read_of_other(stream, now));
            }
        }
    }

    /// What begins at `now`: requests that have their tokens, and reads of others.
    fn due(&mut self, now: SimTime, following: &mut Vec<SimRequest>) {
        while let Some((_, request)) = self.held.take(now) {
            following.push(request);
        }
        while let Some((at, stream)) = self.arrivals.take(now) {
            let read = self.read_of_other(stream, at);
            if let Some(other) = self.foreign.get(stream)
                && let ForeignLoad::Rate(rate) = other.load
                && read.is_some()
            {
                let since = other.started as f64 * SECOND / rate;
                self.arrivals.add(other.from + since as SimTime, stream);
            }
            following.extend(read);
        }
    }

    /// The next read of another program; none when its time is over.
    fn read_of_other(&mut self, stream: usize, now: SimTime) -> Option<SimRequest> {
        let other = self
            .foreign
            .get_mut(stream)
            .filter(|other| now < other.to)?;
        other.random = other
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let block = (u128::from(other.random) * u128::from(other.blocks)) >> 64;
        let id = Foreign::id(stream, other.started);
        other.started += 1;
        Some(SimRequest {
            id,
            op: SimOp::Read,
            offset: block as u64 * u64::from(other.bytes),
            bytes: other.bytes,
            fua: false,
        })
    }
}

impl Foreign {
    const NUMBER_BITS: u32 = 24;

    /// The identifier of a read; more than 16 million are never in flight.
    fn id(stream: usize, number: u64) -> u64 {
        let number = number as u32 & ((1 << Self::NUMBER_BITS) - 1);
        id::join(
            SimOp::Read,
            FOREIGN,
            (stream as u32) << Self::NUMBER_BITS | number,
        )
    }

    fn stream(id: u64) -> usize {
        (id::slot(id) >> Self::NUMBER_BITS) as usize
    }
}
