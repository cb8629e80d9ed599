//! A hard disk: zones, seek curve, rotation from a tracked angle, command queueing by shortest
//! access time, read-ahead and a write cache.
//!
//! Sources: C. Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3),
//! 1994 (seek curve `a + b sqrt(d)`, then `c + e d`; zones; skew). D. Jacobson and J. Wilkes, "Disk
//! scheduling algorithms based on rotational position", HPL-CSP-91-7, 1991 (shortest access time
//! first, aged by the time that a request has waited).

use std::collections::VecDeque;

use crate::agenda::{Agenda, earlier};
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "hdd",
    summary: "hard disk: zones, seeks, rotation, command queueing, write cache",
    members: (0, 0),
    build,
};

/// The drive schedules at most this many cached writes at a time.
const SCHEDULED_WRITES: usize = 128;
/// An angle that is passed by less than this part of a revolution is rounding.
const ROUNDING: f64 = 1e-5;

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let revolution = 60e9 / params.number("rpm", (60.0, 100_000.0), None)?;
    let capacity = params.bytes_from("capacity", 1 << 20, None)?;
    let heads = params.count("heads", (1, 64), Some(4))? as f64;
    let outer = params.rate("rate_outer", None)?;
    let inner = params.rate("rate_inner", Some(outer / 2.0))?;
    if inner > outer {
        return Err(params.error(
            "rate_inner",
            "the inner zone cannot be faster than the outer",
        ));
    }
    let track = params.time("seek_track", Some(0.8e6))?;
    let average = params.positive_time("seek_average", None)?;
    let full = params.positive_time("seek_full", Some(average * 2.1))?;
    if !(track <= average && average <= full) {
        return Err(params.error(
            "seek_average",
            "impossible value; seek_track <= seek_average <= seek_full is needed",
        ));
    }
    let track_bytes = f64::midpoint(outer, inner) * revolution / 1e9;
    let tracks = (capacity as f64 / track_bytes).max(heads);
    let cylinders = (tracks / heads).max(4.0);
    let write_average = params.time("seek_write_average", Some(average))?;
    let disk = Disk {
        capacity,
        revolution,
        heads,
        cylinders,
        outer,
        inner,
        seek: SeekCurve::new(track, average, full, cylinders),
        settle: params.time("settle", Some(0.0))?,
        write_settle: (write_average - average).max(0.0),
        switch: params.time("head_switch", Some(track))?,
    };
    let overhead = params.time("overhead", Some(0.2e6))?;
    let cache = params.bytes("write_cache", Some(0))?;
    let order = params.choice(
        "order",
        &[
            ("shortest-access", Order::ShortestAccess),
            ("sweep", Order::Sweep),
            ("batch", Order::Batch),
            ("fifo", Order::Fifo),
        ],
    )?;
    let hdd = Hdd {
        overhead: overhead as SimTime,
        order,
        batch_end: 0,
        depth: params.count("queue_depth", (1, 65_536), Some(32))? as usize,
        age_weight: params.number("age_weight", (0.0, 10.0), Some(0.0))?,
        age_limit: params.positive_time("age_limit", Some(2e9))?,
        read_ahead: params.bytes("read_ahead", Some(1 << 20))?,
        segments: VecDeque::new(),
        read_segments: params.count("read_segments", (0, 4096), Some(0))? as usize,
        cache,
        write_ack: params.time("write_acknowledge", Some(0.2e6))? as SimTime,
        // The disk turns already when the simulation begins.
        phase: (builder.seed() >> 11) as f64 / (1_u64 << 53) as f64,
        disk,
        arm: 0.0,
        head: 0.0,
        position: 0,
        queue: VecDeque::new(),
        held: VecDeque::new(),
        dirty: VecDeque::new(),
        dirty_bytes: 0,
        next_number: 0,
        flushes: VecDeque::new(),
        active: None,
        wake: None,
        stream: None,
        completions: Agenda::default(),
    };
    Ok(Box::new(hdd))
}

/// Time of a seek by its distance: `a + b sqrt(d)` up to a third of the cylinders, linear beyond.
#[derive(Clone, Copy, Debug)]
struct SeekCurve {
    a: f64,
    b: f64,
    third: f64,
    at_third: f64,
    slope: f64,
}

impl SeekCurve {
    /// The curve through the sheet's track-to-track and full-stroke times whose mean over pairs of
    /// uniformly distributed cylinders is the sheet's average.
    fn new(track: f64, average: f64, full: f64, cylinders: f64) -> Self {
        let third = (cylinders / 3.0).max(2.0);
        // The distance d = u C has the density 2 (1 - u). The mean is linear in the time at a third.
        let mean = |at_third: f64| {
            let curve = SeekCurve::through(track, at_third, full, cylinders, third);
            const STEPS: u32 = 4096;
            (0..STEPS)
                .map(|step| {
                    let u = (f64::from(step) + 0.5) / f64::from(STEPS);
                    curve.time(u * cylinders) * 2.0 * (1.0 - u) / f64::from(STEPS)
                })
                .sum::<f64>()
        };
        let (low, high) = (mean(track), mean(full));
        let share = if high > low {
            ((average - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            0.0
        };
        SeekCurve::through(
            track,
            track + share * (full - track),
            full,
            cylinders,
            third,
        )
    }

    fn through(track: f64, at_third: f64, full: f64, cylinders: f64, third: f64) -> Self {
        let b = (at_third - track) / (third.sqrt() - 1.0);
        SeekCurve {
            a: track - b,
            b,
            third,
            at_third,
            slope: (full - at_third) / (cylinders - third).max(1.0),
        }
    }

    fn time(&self, distance: f64) -> f64 {
        if distance < 1.0 {
            0.0
        } else if distance <= self.third {
            self.a + self.b * distance.sqrt()
        } else {
            self.at_third + self.slope * (distance - self.third)
        }
    }
}

/// A number of tracks or turns, which is not negative, without its part: conversions are faster than
/// `floor`, which is a call on processors without SSE 4.1.
fn whole(number: f64) -> f64 {
    number as i64 as f64
}

fn part(number: f64) -> f64 {
    number - whole(number)
}

/// Geometry and mechanics. Times are in nanoseconds.
#[derive(Clone, Debug)]
struct Disk {
    capacity: u64,
    revolution: f64,
    heads: f64,
    cylinders: f64,
    outer: f64,
    inner: f64,
    seek: SeekCurve,
    /// Added to each movement.
    settle: f64,
    write_settle: f64,
    switch: f64,
}

impl Disk {
    /// Number of tracks before a byte, with the part of its own track that precedes it. Tracks
    /// shorten linearly from the outer to the inner edge.
    fn tracks_before(&self, offset: u64) -> f64 {
        let share = offset as f64 / self.capacity as f64;
        let (outer, inner) = (self.outer, self.inner);
        let radius = if outer - inner < outer * 1e-9 {
            share
        } else {
            (outer - (outer * outer - share * (outer * outer - inner * inner)).sqrt())
                / (outer - inner)
        };
        radius * self.cylinders * self.heads
    }

    /// The place of a byte.
    fn place(&self, offset: u64) -> Place {
        let tracks = self.tracks_before(offset);
        let track = whole(tracks);
        let cylinder = whole(tracks / self.heads);
        // Each track is skewed by the time of a head switch.
        let skew = part(track * (self.switch / self.revolution));
        Place {
            tracks,
            cylinder,
            // The division may round the last track of a cylinder up to the next one.
            head: (track - cylinder * self.heads).max(0.0),
            angle: part(tracks - track + skew),
        }
    }

    /// Time to move the head to a track.
    fn move_time(&self, (arm, head): (f64, f64), to: &Place, write: bool) -> f64 {
        let distance = (to.cylinder - arm).abs();
        let time = if distance >= 1.0 {
            self.seek.time(distance)
        } else if to.head == head {
            return 0.0;
        } else {
            self.switch
        };
        time + self.settle + if write { self.write_settle } else { 0.0 }
    }

    /// Time to pass from one place to a later one.
    fn transfer(&self, from: f64, to: f64) -> f64 {
        (to - from) * self.revolution + (whole(to) - whole(from)) * self.switch
    }
}

/// A place on the disk.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Tracks before it.
    tracks: f64,
    cylinder: f64,
    head: f64,
    /// In revolutions.
    angle: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// By seek and rotation.
    ShortestAccess,
    /// In one direction by offset, then back: firmware that does not know the angle.
    Sweep,
    /// All that waits by offset, then all that has come meanwhile (N-step SCAN).
    Batch,
    Fifo,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    id: u64,
    offset: u64,
    bytes: u32,
    write: bool,
    /// Where it begins.
    place: Place,
    arrived: SimTime,
    ready: SimTime,
    /// Order of arrival; of a cached write, for flushes.
    number: u64,
    /// A cached write: it was acknowledged.
    cached: bool,
}

/// Data that the head passes after a read.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// First byte that the buffer does not hold and the time at which the head was there.
    end: u64,
    at: SimTime,
    begin: u64,
    /// The buffer is full here.
    limit: u64,
}

struct Hdd {
    disk: Disk,
    overhead: SimTime,
    order: Order,
    /// Requests below this number are those of the batch.
    batch_end: u64,
    depth: usize,
    age_weight: f64,
    age_limit: f64,
    read_ahead: u64,
    cache: u64,
    write_ack: SimTime,
    phase: f64,
    arm: f64,
    head: f64,
    /// End of the last request.
    position: u64,
    /// In the order in which they are ready, as `dirty` is.
    queue: VecDeque<Pending>,
    /// Writes that wait for room in the cache.
    held: VecDeque<Pending>,
    dirty: VecDeque<Pending>,
    dirty_bytes: u64,
    next_number: u64,
    /// Flushes with the number of the first write that they do not wait for.
    flushes: VecDeque<(u64, u64)>,
    active: Option<(SimTime, Pending)>,
    /// When a request that is not ready yet will be.
    wake: Option<SimTime>,
    stream: Option<Stream>,
    /// Ranges that were read, the last used first; each has a segment of the disk's memory.
    segments: VecDeque<(u64, u64)>,
    read_segments: usize,
    completions: Agenda<SimCompletion>,
}

impl Hdd {
    /// Time from `now` to the transfer of the request.
    fn access(&self, now: SimTime, pending: &Pending) -> f64 {
        self.turned(now, pending, self.moved(pending))
    }

    /// Time to move the head to a request.
    fn moved(&self, pending: &Pending) -> f64 {
        let from = (self.arm, self.head);
        self.disk.move_time(from, &pending.place, pending.write)
    }

    /// The time of the movement and of the rotation after it.
    fn turned(&self, now: SimTime, pending: &Pending, moved: f64) -> f64 {
        let disk = &self.disk;
        let turns = (now as f64 + moved) / disk.revolution + self.phase;
        // The part of a turn; conversions are faster than `fract`, and times are below 2^64.
        let angle = turns - (turns as u64) as f64;
        let mut turn = pending.place.angle - angle;
        if turn < 0.0 {
            turn += 1.0;
        }
        if turn > 1.0 - ROUNDING {
            turn = 0.0;
        }
        moved + turn * disk.revolution
    }

    /// The place in `queue` of the request to do next.
    fn choose(&self, now: SimTime, queue: &VecDeque<Pending>, most: usize) -> Option<usize> {
        // Requests are in the order in which they are ready.
        let first = queue.front().filter(|first| first.ready <= now)?;
        let overdue = (now - first.arrived) as f64 > self.age_limit;
        if self.order == Order::Fifo || overdue {
            return Some(0);
        }
        let ready = || {
            let ready = queue.iter().take_while(|pending| pending.ready <= now);
            ready.take(most).enumerate()
        };
        if matches!(self.order, Order::Sweep | Order::Batch) {
            let key = |(_, pending): &(usize, &Pending)| {
                let later = self.order == Order::Batch && pending.number >= self.batch_end;
                (later, pending.offset < self.position, pending.offset)
            };
            return ready().min_by_key(key).map(|(index, _)| index);
        }
        let mut best = (f64::INFINITY, 0);
        for (index, pending) in ready() {
            let bonus = self.age_weight * (now - pending.arrived) as f64;
            let moved = self.moved(pending);
            if moved - bonus >= best.0 {
                // The seek alone takes too long: most requests end here.
                continue;
            }
            let effective = self.turned(now, pending, moved) - bonus;
            if effective < best.0 {
                best = (effective, index);
            }
        }
        Some(best.1)
    }

    /// Starts the next request if the mechanism is idle.
    fn start(&mut self, now: SimTime) {
        self.wake = None;
        if self.active.is_some() {
            return;
        }
        // Reads come first, unless a write or a flush waits for the cache.
        let drain = !self.held.is_empty() || !self.flushes.is_empty();
        let from_cache = if drain {
            !self.dirty.is_empty()
        } else {
            self.queue.is_empty()
        };
        let chosen = if from_cache {
            None
        } else {
            self.choose(now, &self.queue, self.depth)
                .and_then(|index| self.queue.remove(index))
        };
        let chosen = chosen.or_else(|| {
            let index = self.choose(now, &self.dirty, SCHEDULED_WRITES)?;
            self.dirty.remove(index)
        });
        let Some(pending) = chosen else {
            let ready = |queue: &VecDeque<Pending>| queue.front().map(|first| first.ready);
            self.wake = earlier(ready(&self.queue), ready(&self.dirty));
            return;
        };
        let positioning = self.access(now, &pending);
        let end = self.disk.place(pending.offset + u64::from(pending.bytes));
        let transfer = self.disk.transfer(pending.place.tracks, end.tracks);
        self.position = pending.offset + u64::from(pending.bytes);
        if pending.number >= self.batch_end {
            // The batch is done: the next one is everything that has come.
            self.batch_end = self.next_number;
        }
        self.arm = end.cylinder;
        self.head = end.head;
        self.stream = None;
        let done = now + (positioning + transfer).round().max(1.0) as SimTime;
        self.active = Some((done, pending));
    }

    /// The mechanism has finished a request.
    fn finish(&mut self, at: SimTime, pending: Pending) {
        if pending.cached {
            self.dirty_bytes -= u64::from(pending.bytes);
            self.admit_held(at);
            self.complete_flushes(at);
            return;
        }
        self.completions.complete(pending.id, at, false);
        let end = pending.offset + u64::from(pending.bytes);
        if !pending.write && self.read_segments > 0 {
            self.segments.truncate(self.read_segments - 1);
            self.segments.push_front((pending.offset, end));
        }
        if !pending.write && self.read_ahead > 0 {
            self.stream = Some(Stream {
                end,
                at,
                begin: pending.offset,
                limit: end.saturating_add(self.read_ahead).min(self.disk.capacity),
            });
        }
    }

    fn admit_held(&mut self, now: SimTime) {
        while let Some(write) = self.held.front().copied() {
            if self.dirty_bytes + u64::from(write.bytes) > self.cache && self.dirty_bytes > 0 {
                return;
            }
            self.held.pop_front();
            self.accept_write(now, write);
        }
    }

    fn accept_write(&mut self, now: SimTime, write: Pending) {
        self.dirty_bytes += u64::from(write.bytes);
        self.completions
            .complete(write.id, now + self.write_ack, false);
        self.dirty.push_back(Pending {
            cached: true,
            ready: now,
            ..write
        });
    }

    fn complete_flushes(&mut self, now: SimTime) {
        if self.flushes.is_empty() {
            return;
        }
        let oldest = self.oldest_unwritten();
        while let Some((id, before)) = self.flushes.front().copied() {
            if oldest.is_some_and(|number| number < before) {
                return;
            }
            self.flushes.pop_front();
            self.completions.complete(id, now + self.overhead, false);
        }
    }

    fn oldest_unwritten(&self) -> Option<u64> {
        let active = self.active.iter().map(|(_, pending)| pending);
        self.dirty
            .iter()
            .chain(active.filter(|pending| pending.cached))
            .map(|pending| pending.number)
            .min()
    }

    /// Whether a segment holds all of a read; it becomes the last used one.
    fn segment_hit(&mut self, request: &SimRequest) -> bool {
        let end = request.offset + u64::from(request.bytes);
        let holds = |segment: &(u64, u64)| segment.0 <= request.offset && end <= segment.1;
        let found = self.segments.iter().position(holds);
        if let Some(segment) = found.and_then(|index| self.segments.remove(index)) {
            self.segments.push_front(segment);
        }
        found.is_some()
    }

    /// When a read of buffered data or of data that the head will pass is complete.
    fn read_ahead_hit(&mut self, now: SimTime, request: &SimRequest) -> Option<SimTime> {
        if self.active.is_some() || !self.queue.is_empty() {
            return None;
        }
        let disk = &self.disk;
        let stream = self.stream.as_mut()?;
        let end = request.offset + u64::from(request.bytes);
        if request.offset < stream.begin || end > stream.limit {
            return None;
        }
        let from = disk.tracks_before(stream.end);
        let passed = |to: u64| stream.at + disk.transfer(from, disk.tracks_before(to)) as SimTime;
        let available = if end <= stream.end { now } else { passed(end) };
        // The head goes on as long as the buffer is not full.
        if passed(stream.limit) > now {
            let limit = end.saturating_add(self.read_ahead).min(disk.capacity);
            stream.limit = stream.limit.max(limit);
        }
        Some(available.max(now + self.overhead))
    }
}

impl SimDevice for Hdd {
    fn capacity(&self) -> u64 {
        self.disk.capacity
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        let outside = request
            .offset
            .checked_add(u64::from(request.bytes))
            .is_none_or(|end| end > self.disk.capacity);
        let soon = now + self.overhead.max(1000);
        if request.op != SimOp::Read && !self.segments.is_empty() {
            let end = request.offset.saturating_add(u64::from(request.bytes));
            self.segments
                .retain(|segment| segment.1 <= request.offset || end <= segment.0);
        }
        let number = self.next_number;
        self.next_number += 1;
        let pending = Pending {
            id: request.id,
            offset: request.offset,
            bytes: request.bytes,
            write: request.op == SimOp::Write,
            place: self.disk.place(request.offset.min(self.disk.capacity)),
            arrived: now,
            ready: now + self.overhead,
            number,
            cached: false,
        };
        match request.op {
            SimOp::Flush => {
                self.flushes.push_back((request.id, number));
                self.complete_flushes(now);
            }
            _ if outside => self.completions.complete(request.id, soon, true),
            SimOp::Trim => self.completions.complete(request.id, soon, false),
            SimOp::Read if self.read_segments > 0 && self.segment_hit(&request) => {
                self.completions.complete(request.id, soon, false);
            }
            SimOp::Write if self.cache > 0 && !request.fua => {
                self.held.push_back(pending);
                self.admit_held(now);
            }
            SimOp::Read => match self.read_ahead_hit(now, &request) {
                Some(at) => self.completions.complete(request.id, at, false),
                None => self.queue.push_back(pending),
            },
            SimOp::Write => self.queue.push_back(pending),
        }
        if self.active.is_none() {
            self.start(now);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        let active = self.active.as_ref().map(|(at, _)| *at);
        earlier(earlier(active, self.wake), self.completions.next())
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let mechanism = earlier(self.active.as_ref().map(|(at, _)| *at), self.wake);
            let completion = self.completions.next();
            match (mechanism, completion) {
                (Some(at), next) if at <= now && next.is_none_or(|next| at <= next) => {
                    if let Some((_, pending)) = self.active.take_if(|(end, _)| *end <= at) {
                        self.finish(at, pending);
                    }
                    self.start(at);
                }
                (_, Some(at)) if at <= now => {
                    done.extend(self.completions.take(now).map(|(_, completion)| completion));
                }
                _ => return,
            }
        }
    }
}
