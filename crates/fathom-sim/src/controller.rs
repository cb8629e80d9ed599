//! A caching RAID controller in front of one device.
//!
//! One processor handles every command. A write is complete when its data is in the cache, as long
//! as the battery works and the cache is below its high-water mark; then writes wait until the
//! cache is emptied to its low-water mark. Dirty data is written back in the order of its addresses,
//! adjacent pieces together. Without a battery each write waits for the device.

use std::collections::{BTreeMap, VecDeque};

use crate::agenda::{Agenda, earlier};
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::{ParameterError, require};
use crate::members::{MemberCounts, Members};
use crate::open_requests::OpenRequests;

/// The parameters of a caching controller.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerParameters {
    /// Bytes of the cache for writes.
    pub cache_bytes: u64,
    /// Share of the cache that may be dirty before writes wait.
    pub high_water: f64,
    /// Share of the cache that is dirty when writes proceed again.
    pub low_water: f64,
    /// Time of the processor for a read, ns.
    pub read_ns: u64,
    /// Time of the processor for a write, ns.
    pub write_ns: u64,
    /// Further latency of a command that does not occupy the processor, ns.
    pub latency_ns: u64,
    /// The same for writes only, in addition, ns.
    pub write_latency_ns: u64,
    /// Whether cached writes survive a power loss. Without it the cache is not used for writes.
    pub battery: bool,
    /// Time that dirty data stays in the cache, so that later writes can join it, ns.
    pub destage_after_ns: u64,
    /// Write-backs in flight at most.
    pub destage_depth: u32,
    /// Time to prepare a write-back, ns; many proceed at once.
    pub destage_ns: u64,
    /// Bytes of one write-back at most.
    pub destage_bytes: u32,
    /// Bytes that are read ahead of a sequential stream; 0: none.
    pub read_ahead_bytes: u32,
    /// Completions in batches, if the controller does that.
    pub batching: Option<Batching>,
}

/// Completions that wait for the next tick of a timer. A hypothesis that fits measurements of
/// a P420i; no vendor describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batching {
    /// Period of the timer, ns.
    pub period_ns: u64,
    /// Completions per tick at most.
    pub batch: u32,
    /// Requests in flight from which on completions always wait for the timer.
    pub threshold: u32,
    /// Below the threshold completions wait while exactly one of two clocks is in the first half of
    /// its period, ns. With slightly different periods the share of such completions rises and
    /// falls linearly. 0: below the threshold they never wait.
    pub clocks_ns: (u64, u64),
}

/// A caching controller.
#[derive(Debug)]
pub struct Controller {
    p: ControllerParameters,
    member: Members,
    requests: OpenRequests<Open>,
    tasks: OpenRequests<Task>,
    events: Agenda<Event>,
    processor_free: SimTime,
    in_flight: u32,
    /// Dirty data: offset and bytes. Adjacent pieces are joined.
    dirty: BTreeMap<u64, u64>,
    dirty_bytes: u64,
    /// Data on its way to the device.
    destaging: BTreeMap<u64, u64>,
    destages: u32,
    /// Where the last write-back ended.
    position: u64,
    oldest_dirty: Option<SimTime>,
    /// Everything dirty is written back, without waiting.
    draining: bool,
    above_high_water: bool,
    blocked: VecDeque<u32>,
    /// The sequential stream: where it continues, and what was read ahead.
    stream: Stream,
    ready: VecDeque<(u64, bool)>,
    tick_armed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    request: SimRequest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// A request that went to the device.
    Forward(u32),
    Destage {
        offset: u64,
        bytes: u64,
    },
    ReadAhead {
        end: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The processor has handled a command.
    Handled {
        request: u32,
    },
    /// The completion is ready.
    Ready {
        id: u64,
        failed: bool,
    },
    Tick,
    /// A write-back is prepared.
    Prepared {
        task: u32,
    },
    /// Dirty data has been in the cache long enough.
    Destage,
}

#[derive(Debug, Default)]
struct Stream {
    next: u64,
    hits: u32,
    /// Read ahead up to here, and requested up to there.
    present: u64,
    wanted: u64,
    waiting: VecDeque<u32>,
}

impl Controller {
    /// A controller in front of a device.
    ///
    /// # Errors
    /// A parameter is impossible.
    pub fn new(
        parameters: ControllerParameters,
        device: Box<dyn SimDevice>,
    ) -> Result<Self, ParameterError> {
        let p = parameters;
        require(
            p.cache_bytes >= 1 << 16,
            "cache",
            format!("{} is below 64 KiB", p.cache_bytes),
        )?;
        require(
            p.high_water > 0.0 && p.high_water <= 1.0,
            "high_water",
            format!("{} is outside 0 to 1", p.high_water),
        )?;
        require(
            p.low_water >= 0.0 && p.low_water <= p.high_water,
            "low_water",
            format!(
                "{} is outside 0 to high_water ({})",
                p.low_water, p.high_water
            ),
        )?;
        require(
            p.destage_depth > 0,
            "destage_depth",
            "0 write-backs never empty the cache",
        )?;
        require(
            p.destage_bytes >= 4096,
            "destage_size",
            format!("{} is below 4096", p.destage_bytes),
        )?;
        if let Some(batching) = &p.batching {
            require(
                batching.period_ns > 0 && batching.batch > 0,
                "batching",
                "period_ns and batch have to be positive",
            )?;
        }
        Ok(Controller {
            p,
            member: Members::new(vec![device]),
            requests: OpenRequests::new(),
            tasks: OpenRequests::new(),
            events: Agenda::default(),
            processor_free: 0,
            in_flight: 0,
            dirty: BTreeMap::new(),
            dirty_bytes: 0,
            destaging: BTreeMap::new(),
            destages: 0,
            position: 0,
            oldest_dirty: None,
            draining: false,
            above_high_water: false,
            blocked: VecDeque::new(),
            stream: Stream::default(),
            ready: VecDeque::new(),
            tick_armed: false,
        })
    }

    /// The requests that the device behind the controller received.
    #[must_use]
    pub fn member_counts(&self) -> MemberCounts {
        self.member.counts()[0]
    }

    /// Bytes in the cache that the device does not have yet.
    #[must_use]
    pub fn dirty_bytes(&self) -> u64 {
        self.dirty_bytes
    }

    /// The battery fails or works again. When it fails the cache is emptied, and writes wait for
    /// the device from then on.
    pub fn set_battery(&mut self, now: SimTime, works: bool) {
        self.p.battery = works;
        if !works {
            self.draining = true;
            self.destage(now);
        }
    }

    fn handled(&mut self, now: SimTime, slot: u32) {
        let request = self.requests[slot].request;
        match request.op {
            SimOp::Read => self.read(now, slot, request),
            SimOp::Write if self.p.battery => {
                self.blocked.push_back(slot);
                self.admit(now);
            }
            SimOp::Write => {
                self.forget(request.offset, request.offset + u64::from(request.bytes));
                self.forward(now, slot);
            }
            SimOp::Trim => {
                self.forget(request.offset, request.offset + u64::from(request.bytes));
                self.forward(now, slot);
            }
            SimOp::Flush if self.p.battery => self.finish(now, slot, false),
            SimOp::Flush => self.forward(now, slot),
        }
    }

    fn read(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        let end = request.offset + u64::from(request.bytes);
        let in_order = request.offset == self.stream.next;
        self.stream.next = end;
        if self.contains(&self.dirty, request.offset, end)
            || self.contains(&self.destaging, request.offset, end)
        {
            self.finish(now, slot, false);
            return;
        }
        if self.p.read_ahead_bytes > 0 && in_order {
            self.stream.hits += 1;
            if self.stream.wanted >= end && self.stream.hits > 1 {
                if self.stream.present >= end {
                    self.finish(now, slot, false);
                } else {
                    self.stream.waiting.push_back(slot);
                }
                self.read_ahead(now, end);
                return;
            }
        } else {
            self.stream.hits = 0;
            if self.stream.waiting.is_empty() {
                (self.stream.present, self.stream.wanted) = (0, 0);
            }
        }
        self.forward(now, slot);
        if in_order && self.stream.waiting.is_empty() {
            (self.stream.present, self.stream.wanted) = (end, end);
            self.read_ahead(now, end);
        }
    }

    /// Reads ahead of the stream, half a window at a time.
    fn read_ahead(&mut self, now: SimTime, end: u64) {
        let window = u64::from(self.p.read_ahead_bytes);
        let limit = self.member.capacity(0);
        while window > 0 && self.stream.wanted < limit && self.stream.wanted < end + window / 2 {
            let from = self.stream.wanted;
            let to = (from + window / 2).min(limit);
            self.stream.wanted = to;
            let task = self.tasks.add(Task::ReadAhead { end: to });
            self.issue(now, task, SimOp::Read, from, to - from, false);
        }
    }

    fn contains(&self, pieces: &BTreeMap<u64, u64>, from: u64, to: u64) -> bool {
        pieces
            .range(..=from)
            .next_back()
            .is_some_and(|(offset, bytes)| offset + bytes >= to)
    }

    /// Takes waiting writes into the cache, in order, while it has room.
    fn admit(&mut self, now: SimTime) {
        while let Some(&slot) = self.blocked.front() {
            if self.above_high_water {
                break;
            }
            let request = self.requests[slot].request;
            self.blocked.pop_front();
            self.add_dirty(now, request.offset, u64::from(request.bytes));
            self.finish(now, slot, false);
            let limit = self.p.cache_bytes as f64 * self.p.high_water;
            self.above_high_water = self.dirty_bytes as f64 >= limit;
        }
        self.destage(now);
    }

    fn add_dirty(&mut self, now: SimTime, offset: u64, bytes: u64) {
        let (mut from, mut to) = (offset, offset + bytes);
        // Pieces that overlap or touch become one.
        while let Some((&start, &length)) = self.dirty.range(..=to).next_back() {
            if start + length < from {
                break;
            }
            self.dirty.remove(&start);
            self.dirty_bytes -= length;
            from = from.min(start);
            to = to.max(start + length);
        }
        self.dirty.insert(from, to - from);
        self.dirty_bytes += to - from;
        if self.oldest_dirty.is_none() {
            self.oldest_dirty = Some(now);
            self.events
                .add(now + self.p.destage_after_ns, Event::Destage);
        }
    }

    /// Removes a range from the dirty data: it is overwritten on the device or discarded.
    fn forget(&mut self, from: u64, to: u64) {
        while let Some((&start, &length)) = self.dirty.range(..to).next_back() {
            if start + length <= from {
                break;
            }
            self.dirty.remove(&start);
            self.dirty_bytes -= length;
            if start < from {
                self.dirty.insert(start, from - start);
                self.dirty_bytes += from - start;
            }
            if start + length > to {
                self.dirty.insert(to, start + length - to);
                self.dirty_bytes += start + length - to;
            }
        }
    }

    /// Writes dirty data back, from the position of the last write-back upwards.
    fn destage(&mut self, now: SimTime) {
        let above_low_water =
            self.dirty_bytes as f64 > self.p.cache_bytes as f64 * self.p.low_water;
        if !(self.draining || above_low_water) {
            return;
        }
        while self.destages < self.p.destage_depth {
            let next = self
                .dirty
                .range(self.position..)
                .next()
                .or_else(|| self.dirty.iter().next());
            let Some((&offset, &length)) = next else {
                self.draining = false;
                self.oldest_dirty = None;
                break;
            };
            let bytes = length.min(u64::from(self.p.destage_bytes));
            self.dirty.remove(&offset);
            if bytes < length {
                self.dirty.insert(offset + bytes, length - bytes);
            }
            self.destaging.insert(offset, bytes);
            self.destages += 1;
            self.position = offset + bytes;
            let task = self.tasks.add(Task::Destage { offset, bytes });
            if self.p.destage_ns == 0 {
                self.issue(now, task, SimOp::Write, offset, bytes, false);
            } else {
                self.events
                    .add(now + self.p.destage_ns, Event::Prepared { task });
            }
        }
    }

    fn destaged(&mut self, now: SimTime, offset: u64, bytes: u64) {
        self.destages -= 1;
        self.dirty_bytes -= bytes;
        self.destaging.remove(&offset);
        let low = self.p.cache_bytes as f64 * self.p.low_water;
        if self.above_high_water && self.dirty_bytes as f64 <= low {
            self.above_high_water = false;
        }
        self.admit(now);
    }

    fn forward(&mut self, now: SimTime, slot: u32) {
        let request = self.requests[slot].request;
        let task = self.tasks.add(Task::Forward(slot));
        let bytes = u64::from(request.bytes);
        self.issue(now, task, request.op, request.offset, bytes, request.fua);
    }

    fn issue(&mut self, now: SimTime, task: u32, op: SimOp, offset: u64, bytes: u64, fua: bool) {
        let request = SimRequest {
            id: u64::from(task),
            op,
            offset,
            bytes: bytes as u32,
            fua,
        };
        self.member.submit(0, now, request);
    }

    fn member_done(&mut self, completion: SimCompletion) {
        let (slot, now) = (completion.id as u32, completion.at);
        let task = self.tasks[slot];
        self.tasks.release(slot);
        match task {
            Task::Forward(request) => self.finish(now, request, completion.failed),
            Task::Destage { offset, bytes } => self.destaged(now, offset, bytes),
            Task::ReadAhead { end } => {
                if completion.failed {
                    self.stream.wanted = 0;
                } else {
                    self.stream.present = self.stream.present.max(end);
                }
                let waiting = std::mem::take(&mut self.stream.waiting);
                for request in waiting {
                    let wanted = self.requests[request].request;
                    let needed = wanted.offset + u64::from(wanted.bytes);
                    if completion.failed {
                        self.forward(now, request);
                    } else if needed <= self.stream.present {
                        self.finish(now, request, false);
                    } else {
                        self.stream.waiting.push_back(request);
                    }
                }
            }
        }
    }

    /// The result of a request is in the controller.
    fn finish(&mut self, now: SimTime, slot: u32, failed: bool) {
        let request = self.requests[slot].request;
        self.requests.release(slot);
        let id = request.id;
        let write = u64::from(request.op == SimOp::Write) * self.p.write_latency_ns;
        let at = now + self.p.latency_ns + write;
        self.events.add(at, Event::Ready { id, failed });
    }

    fn ready(&mut self, at: SimTime, id: u64, failed: bool, done: &mut Vec<SimCompletion>) {
        let Some(batching) = self.p.batching.filter(|batching| {
            self.in_flight >= batching.threshold || clocks_differ(batching.clocks_ns, at)
        }) else {
            self.in_flight -= 1;
            done.push(SimCompletion { id, at, failed });
            return;
        };
        self.ready.push_back((id, failed));
        if !self.tick_armed {
            self.tick_armed = true;
            let tick = at.div_ceil(batching.period_ns) * batching.period_ns;
            self.events.add(tick, Event::Tick);
        }
    }

    fn tick(&mut self, at: SimTime, done: &mut Vec<SimCompletion>) {
        self.tick_armed = false;
        let Some(batching) = self.p.batching else {
            return;
        };
        for _ in 0..batching.batch {
            let Some((id, failed)) = self.ready.pop_front() else {
                break;
            };
            self.in_flight -= 1;
            done.push(SimCompletion { id, at, failed });
        }
        if !self.ready.is_empty() {
            self.tick_armed = true;
            self.events.add(at + batching.period_ns, Event::Tick);
        }
    }
}

/// Whether exactly one of two clocks is in the first half of its period.
fn clocks_differ((first, second): (u64, u64), at: SimTime) -> bool {
    let half = |period: u64| at % period < period / 2;
    first > 0 && second > 0 && half(first) != half(second)
}

impl SimDevice for Controller {
    fn capacity(&self) -> u64 {
        self.member.capacity(0)
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        self.in_flight += 1;
        let end = request.offset.checked_add(u64::from(request.bytes));
        if end.is_none_or(|end| end > self.capacity()) {
            let (id, failed) = (request.id, true);
            self.events.add(now, Event::Ready { id, failed });
            return;
        }
        let work = match request.op {
            SimOp::Read => self.p.read_ns,
            _ => self.p.write_ns,
        };
        let slot = self.requests.add(Open { request });
        self.processor_free = self.processor_free.max(now) + work;
        self.events
            .add(self.processor_free, Event::Handled { request: slot });
    }

    fn next_event(&self) -> Option<SimTime> {
        earlier(self.events.next(), self.member.next().map(|(at, _)| at))
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let member = self.member.next().filter(|(at, _)| *at <= now);
            if let Some((at, event)) = self.events.take(member.map_or(now, |(at, _)| at)) {
                match event {
                    Event::Handled { request } => self.handled(at, request),
                    Event::Ready { id, failed } => self.ready(at, id, failed, done),
                    Event::Tick => self.tick(at, done),
                    Event::Prepared { task } => {
                        if let Task::Destage { offset, bytes } = self.tasks[task] {
                            self.issue(at, task, SimOp::Write, offset, bytes, false);
                        }
                    }
                    Event::Destage => {
                        self.draining = true;
                        self.destage(at);
                    }
                }
                continue;
            }
            let Some((at, _)) = member else {
                return;
            };
            let completions = self.member.advance(0, at);
            for completion in &completions {
                self.member_done(*completion);
            }
            self.member.give_back(completions);
        }
    }
}
