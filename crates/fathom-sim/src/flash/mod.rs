//! Flash devices: channels, dies, page mapping, a write buffer and garbage collection.
//!
//! A read waits for its dies, its channels and the link. A write completes when the write buffer
//! has room for it; the buffer drains into the dies at their programming rate, less what garbage
//! collection takes. Simplifications: reads are placed as if the data had been written in order
//! (page after page over the channels and dies), data in the write buffer is read like other data,
//! and writes smaller than 4 KiB cost one mapped page. Garbage collection is spread evenly over the
//! writes that use the space which it frees.

mod dies;
mod page_map;
mod parameters;
mod prepared;
mod read_ahead;

use std::collections::VecDeque;

pub use self::parameters::{FlashParameters, MAPPED_PAGE, Precondition, SlcCache};

use self::dies::{Change, Dies};
use self::page_map::{Collection, Mapped, PageMap, mix};
use self::read_ahead::ReadAhead;
use crate::agenda::Agenda;
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::ParameterError;
use crate::open_requests::OpenRequests;

/// Host writes and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Pages of 4 KiB that the host wrote.
    pub host_pages: u64,
    /// Programs of host data; each writes one multi-plane page of a die.
    pub host_programs: u64,
    /// Programs of data that garbage collection copied.
    pub copy_programs: u64,
    /// Erased blocks (of all planes of a die).
    pub erases: u64,
    /// Flash pages read for the host.
    pub page_reads: u64,
}

/// A flash device.
#[derive(Debug)]
pub struct Flash {
    p: FlashParameters,
    pages: u64,
    group_units: u32,
    buffer_units: u64,
    read_times: [u64; 3],
    link_ns_per_byte: f64,

    events: Agenda<Event>,
    requests: OpenRequests<Pending>,
    held: VecDeque<SimRequest>,
    dies: Dies,
    link_free: [SimTime; 2],
    read_ahead: Option<ReadAhead>,

    /// Writes that wait for room in the buffer.
    blocked: VecDeque<u32>,
    buffered: u64,
    open: Group,
    programs: Groups,
    /// Flushes and durable writes, with the first group that they do not wait for.
    durable: VecDeque<(u64, u32)>,
    next_die: u64,

    mapped: Mapped,
    map: Option<Box<PageMap>>,
    seed: u64,
    collection: Collection,
    copies_due: f64,
    erases_due: f64,
    next_copy_die: u64,
    slc_used: u64,
    last_write: SimTime,
    counts: FlashCounts,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A flash page is in the register of its die.
    PageRead { slot: u32, die: u32, bytes: u32 },
    /// All data of a read is in the device.
    DataReady { slot: u32 },
    /// A request is complete.
    Complete { slot: u32, failed: bool },
    /// A die may have finished a program or an erase.
    Changed { die: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    request: SimRequest,
    /// Flash pages that a read waits for; mapped pages of a write that have no room yet.
    remaining: u32,
    /// When the data of a read is in the device; of a write, in the buffer.
    ready: SimTime,
    /// Bytes of a read that no die reads for it.
    buffered: u64,
}

/// The mapped pages that are programmed together next.
#[derive(Debug, Default)]
struct Group {
    units: u32,
    ready: SimTime,
}

/// Which groups are programmed. They finish in any order.
#[derive(Debug, Default)]
struct Groups {
    first: u64,
    finished: VecDeque<bool>,
}

impl Groups {
    fn next(&self) -> u64 {
        self.first + self.finished.len() as u64
    }

    fn add(&mut self) -> u64 {
        self.finished.push_back(false);
        self.next() - 1
    }

    fn finish(&mut self, group: u64) {
        self.finished[(group - self.first) as usize] = true;
        while self.finished.front() == Some(&true) {
            self.finished.pop_front();
            self.first += 1;
        }
    }
}

impl Flash {
    /// A device with these parameters. The seed determines the random writes of
    /// [`Precondition::Random`].
    ///
    /// # Errors
    /// A parameter is impossible.
    pub fn new(parameters: FlashParameters, seed: u64) -> Result<Self, ParameterError> {
        parameters.check()?;
        let p = parameters;
        let pages = p.capacity_bytes / MAPPED_PAGE;
        let spread = (p.read_ns as f64 * p.read_spread) as u64;
        let mapped = if p.precondition == Precondition::Empty {
            Mapped::none(pages)
        } else {
            Mapped::all(pages)
        };
        Ok(Flash {
            pages,
            group_units: p.group_pages(),
            buffer_units: p.buffer_bytes / MAPPED_PAGE,
            read_times: [p.read_ns - spread, p.read_ns, p.read_ns + spread],
            link_ns_per_byte: if p.link_bytes_per_s == 0 {
                0.0
            } else {
                1e9 / p.link_bytes_per_s as f64
            },
            events: Agenda::default(),
            requests: OpenRequests::new(),
            held: VecDeque::new(),
            dies: Dies::new(p.channels, p.dies(), p.channel_bytes_per_s),
            link_free: [0; 2],
            read_ahead: (p.read_ahead_bytes > 0).then(|| {
                ReadAhead::new(
                    p.read_ahead_bytes,
                    u64::from(p.page_bytes),
                    p.read_ahead_streams.max(1) as usize,
                )
            }),
            blocked: VecDeque::new(),
            buffered: 0,
            open: Group::default(),
            programs: Groups::default(),
            durable: VecDeque::new(),
            next_die: 0,
            mapped,
            map: None,
            seed,
            collection: Collection::default(),
            copies_due: 0.0,
            erases_due: 0.0,
            next_copy_die: 0,
            slc_used: 0,
            last_write: 0,
            counts: FlashCounts::default(),
            p,
        })
    }

    /// What was written and programmed so far.
    #[must_use]
    pub fn counts(&self) -> FlashCounts {
        self.counts
    }

    /// Programmed pages per page that the host wrote, from the page map.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        self.map
            .as_ref()
            .map_or(1.0, |map| map.write_amplification())
    }

    /// Bytes of memory for the state of the pages.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        self.mapped.memory_bytes() + self.map.as_ref().map_or(0, |map| map.memory_bytes())
    }

    fn start(&mut self, now: SimTime, request: SimRequest) {
        let slot = self.requests.add(Pending {
            request,
            remaining: 0,
            ready: now,
            buffered: 0,
        });
        let end = request.offset.checked_add(u64::from(request.bytes));
        if end.is_none_or(|end| end > self.p.capacity_bytes) {
            self.complete(now, slot, true);
            return;
        }
        match request.op {
            SimOp::Read => self.start_read(now, slot, request),
            SimOp::Write => self.start_write(now, slot, request),
            SimOp::Trim => self.trim(now, slot, request),
            SimOp::Flush => {
                let at = self.link(now, 0, false);
                self.requests[slot].ready = at;
                self.complete_durably(at, slot);
            }
        }
    }

    fn start_read(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        let at = now + self.p.read_overhead_ns;
        self.requests[slot].ready = at;
        let page_bytes = u64::from(self.p.page_bytes);
        let end = request.offset + u64::from(request.bytes);
        let stream = self
            .read_ahead
            .as_mut()
            .and_then(|streams| streams.find(request.offset));
        let mut offset = request.offset;
        while offset < end {
            let page = offset / page_bytes;
            let next = ((page + 1) * page_bytes).min(end);
            let ahead = stream.and_then(|stream| {
                let streams = self.read_ahead.as_mut()?;
                streams.take(stream, page, next == (page + 1) * page_bytes)
            });
            if let Some(ready) = ahead {
                let pending = &mut self.requests[slot];
                pending.ready = pending.ready.max(ready);
                pending.buffered += next - offset;
            } else if self.holds_data(offset, next) {
                let (die, ready) = self.read_page(at, page);
                self.requests[slot].remaining += 1;
                let bytes = (next - offset) as u32;
                self.events.add(ready, Event::PageRead { slot, die, bytes });
            } else {
                self.requests[slot].buffered += next - offset;
            }
            offset = next;
        }
        if self.read_ahead.is_some() {
            self.extend_read_ahead(at, stream, request.offset, end);
        }
        let pending = self.requests[slot];
        if pending.remaining == 0 {
            self.events.add(pending.ready, Event::DataReady { slot });
        }
    }

    /// Starts to read a flash page. Returns its die and when the data is in the register.
    fn read_page(&mut self, at: SimTime, page: u64) -> (u32, SimTime) {
        self.counts.page_reads += 1;
        let die = page % self.dies.count();
        let duration = if self.p.read_spread == 0.0 {
            self.p.read_ns
        } else {
            self.read_times[(mix(page) % 3) as usize]
        };
        (die as u32, self.dies.read(die, at, duration))
    }

    fn extend_read_ahead(&mut self, at: SimTime, stream: Option<usize>, start: u64, end: u64) {
        let limit = self.p.capacity_bytes;
        let Some(streams) = &mut self.read_ahead else {
            return;
        };
        let wanted = streams.advance(stream, start, end, limit);
        let page_bytes = u64::from(self.p.page_bytes);
        for page in wanted.clone() {
            let (_, ready) = self.read_page(at, page);
            let ready = ready + self.dies.transfer_ns(page_bytes);
            if let (Some(streams), Some(stream)) = (&mut self.read_ahead, stream) {
                streams.add(stream, page, ready);
            }
        }
    }

    fn holds_data(&self, start: u64, end: u64) -> bool {
        (start / MAPPED_PAGE..end.div_ceil(MAPPED_PAGE)).any(|page| self.mapped.contains(page))
    }

    fn start_write(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        let (first, count) = mapped_pages(request);
        if count == 0 {
            self.complete(now, slot, false);
            return;
        }
        self.requests[slot].remaining = count as u32;
        self.mapped.set(first, count, true);
        self.counts.host_pages += count;
        self.map_write(first, count);
        self.blocked.push_back(slot);
        if self.blocked.len() == 1 {
            self.admit(now);
        }
    }

    fn map_write(&mut self, first: u64, count: u64) {
        if !self.p.garbage_collection {
            return;
        }
        let map = match &mut self.map {
            Some(map) => map,
            none => none.insert(Box::new(prepared::page_map(
                self.pages,
                self.p.over_provisioning,
                self.p.precondition,
                self.seed,
            ))),
        };
        self.collection = map.write(first, count);
    }

    /// Takes waiting writes into the buffer, in order, while it has room.
    fn admit(&mut self, now: SimTime) {
        while let Some(&slot) = self.blocked.front() {
            let request = self.requests[slot].request;
            let (_, count) = mapped_pages(request);
            if self.buffered < self.buffer_units
                && u64::from(self.requests[slot].remaining) == count
            {
                self.requests[slot].ready = self.link(now, u64::from(request.bytes), true);
            }
            while self.buffered < self.buffer_units && self.requests[slot].remaining > 0 {
                let pending = &mut self.requests[slot];
                let room = (self.buffer_units - self.buffered).min(u64::from(pending.remaining));
                let units = (room as u32).min(self.group_units - self.open.units);
                pending.remaining -= units;
                self.buffered += u64::from(units);
                self.open.units += units;
                self.open.ready = self.open.ready.max(pending.ready);
                if self.open.units == self.group_units {
                    self.program(now);
                }
            }
            let pending = self.requests[slot];
            if pending.remaining > 0 {
                return;
            }
            self.blocked.pop_front();
            let at = pending.ready.max(now) + self.p.buffer_ns;
            if request.fua {
                self.complete_durably(at, slot);
            } else {
                self.complete(at, slot, false);
            }
        }
    }

    /// Completes once everything in the buffer is durable.
    fn complete_durably(&mut self, at: SimTime, slot: u32) {
        if self.p.power_loss_protection {
            self.complete(at, slot, false);
            return;
        }
        if self.open.units > 0 {
            self.program(at);
        }
        if self.programs.next() == self.programs.first {
            self.complete(at, slot, false);
        } else {
            self.requests[slot].ready = at;
            self.durable.push_back((self.programs.next(), slot));
        }
    }

    /// Programs the open group, and what garbage collection has to do for it.
    fn program(&mut self, now: SimTime) {
        let group = std::mem::take(&mut self.open);
        let bytes = u64::from(group.units) * MAPPED_PAGE;
        let duration = self.program_time(group.ready.max(now), bytes);
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies.count();
        let ready = self.dies.transfer(die, group.ready.max(now), bytes);
        let number = self.programs.add();
        self.counts.host_programs += 1;
        self.change(
            die,
            now,
            Change {
                ready,
                duration,
                suspend_ns: self.p.program_suspend_ns,
                host_pages: group.units,
                group: number,
            },
        );
        if self.collection.erasing {
            self.collect(now, group.units);
        }
    }

    /// Copies and erases for as many pages as the host just wrote.
    fn collect(&mut self, now: SimTime, pages: u32) {
        let copies = f64::from(pages) * self.collection.copies_per_page;
        let group = f64::from(self.group_units);
        self.copies_due += copies;
        self.erases_due += (f64::from(pages) + copies) / group / f64::from(self.p.pages_per_block);
        while self.copies_due >= group {
            self.copies_due -= group;
            self.counts.copy_programs += 1;
            let die = self.copy_die();
            // The data leaves the die for error correction and comes back.
            let bytes = 2 * u64::from(self.group_units) * MAPPED_PAGE;
            let transfer = self.dies.transfer_ns(bytes);
            self.dies.transfer(die, now, bytes);
            let duration = self.p.read_ns + transfer + self.p.program_ns;
            self.change(die, now, self.background(now, duration, false));
        }
        while self.erases_due >= 1.0 {
            self.erases_due -= 1.0;
            self.counts.erases += 1;
            let die = self.copy_die();
            self.change(die, now, self.background(now, self.p.erase_ns, true));
        }
    }

    fn copy_die(&mut self) -> u64 {
        let die = self.next_copy_die;
        self.next_copy_die = (die + 1) % self.dies.count();
        die
    }

    fn background(&self, now: SimTime, duration: u64, erase: bool) -> Change {
        Change {
            ready: now,
            duration,
            suspend_ns: if erase {
                self.p.erase_suspend_ns
            } else {
                self.p.program_suspend_ns
            },
            host_pages: 0,
            group: 0,
        }
    }

    /// The programming time of the cells that take these bytes: of the SLC cache while it has room.
    fn program_time(&mut self, now: SimTime, bytes: u64) -> u64 {
        let Some(slc) = self.p.slc else {
            return self.p.program_ns;
        };
        let idle = now
            .saturating_sub(self.last_write)
            .saturating_sub(slc.fold_after_ns);
        self.last_write = now;
        let folded = idle as f64 * slc.fold_bytes_per_s as f64 / 1e9;
        self.slc_used = self.slc_used.saturating_sub(folded as u64);
        let unmapped = (self.pages - self.mapped.used()) * MAPPED_PAGE;
        let dynamic = slc
            .dynamic_bytes
            .min(unmapped / u64::from(slc.bits_per_cell));
        if self.slc_used + bytes > slc.fixed_bytes + dynamic {
            return self.p.program_ns;
        }
        self.slc_used += bytes;
        slc.program_ns
    }

    fn change(&mut self, die: u64, now: SimTime, change: Change) {
        if let Some(at) = self.dies.add(die, now, change) {
            self.events.add(at, Event::Changed { die: die as u32 });
        }
    }

    fn changed(&mut self, now: SimTime, die: u32) {
        let (finished, next) = self.dies.finish(u64::from(die), now);
        if let Some(at) = next {
            self.events.add(at, Event::Changed { die });
        }
        let Some(change) = finished else {
            return;
        };
        if change.host_pages == 0 {
            return;
        }
        self.buffered -= u64::from(change.host_pages);
        self.programs.finish(change.group);
        while let Some(&(group, slot)) = self.durable.front() {
            if group > self.programs.first {
                break;
            }
            self.durable.pop_front();
            let at = self.requests[slot].ready.max(now);
            self.complete(at, slot, false);
        }
        self.admit(now);
    }

    fn trim(&mut self, now: SimTime, slot: u32, request: SimRequest) {
        // Only whole pages lose their data.
        let first = request.offset.div_ceil(MAPPED_PAGE);
        let end = (request.offset + u64::from(request.bytes)) / MAPPED_PAGE;
        if end > first {
            self.mapped.set(first, end - first, false);
            if self.p.precondition != Precondition::Empty && self.map.is_none() {
                self.map_write(0, 0);
            }
            if let Some(map) = &mut self.map {
                map.trim(first, end - first);
            }
        }
        let at = self.link(now, 0, true) + self.p.buffer_ns;
        self.complete(at, slot, false);
    }

    /// Occupies the link with a part of the data of a read.
    fn link_data(&mut self, at: SimTime, bytes: u64) -> SimTime {
        let end = at.max(self.link_free[0]) + (bytes as f64 * self.link_ns_per_byte) as u64;
        self.link_free[0] = end;
        end
    }

    /// Occupies the link with a command and its data. Returns when they have arrived.
    fn link(&mut self, at: SimTime, bytes: u64, to_device: bool) -> SimTime {
        let direction = usize::from(to_device && !self.p.half_duplex);
        let duration = self.p.command_ns + (bytes as f64 * self.link_ns_per_byte) as u64;
        let end = at.max(self.link_free[direction]) + duration;
        self.link_free[direction] = end;
        end
    }

    fn complete(&mut self, at: SimTime, slot: u32, failed: bool) {
        self.events.add(at, Event::Complete { slot, failed });
    }

    fn handle(&mut self, at: SimTime, event: Event, done: &mut Vec<SimCompletion>) {
        match event {
            Event::PageRead { slot, die, bytes } => {
                let arrived = self.dies.transfer(u64::from(die), at, u64::from(bytes));
                let Pending {
                    remaining, ready, ..
                } = self.requests[slot];
                if remaining == 1 {
                    // The link is taken now, not when the data arrives: the transfers of one
                    // channel are short, and this saves an event.
                    let bytes = u64::from(bytes) + self.requests[slot].buffered;
                    let end = self.link(ready.max(arrived), bytes, false);
                    self.complete(end, slot, false);
                } else {
                    // Earlier pages cross the link while later ones are read.
                    let end = self.link_data(arrived, u64::from(bytes));
                    let pending = &mut self.requests[slot];
                    pending.ready = ready.max(end);
                    pending.remaining -= 1;
                }
            }
            Event::DataReady { slot } => {
                let bytes = u64::from(self.requests[slot].request.bytes);
                let end = self.link(at, bytes, false);
                self.complete(end, slot, false);
            }
            Event::Complete { slot, failed } => {
                let id = self.requests[slot].request.id;
                self.requests.release(slot);
                done.push(SimCompletion { id, at, failed });
                if let Some(request) = self.held.pop_front() {
                    self.start(at, request);
                }
            }
            Event::Changed { die } => self.changed(at, die),
        }
    }
}

fn mapped_pages(request: SimRequest) -> (u64, u64) {
    let first = request.offset / MAPPED_PAGE;
    let end = (request.offset + u64::from(request.bytes)).div_ceil(MAPPED_PAGE);
    (first, end - first)
}

impl SimDevice for Flash {
    fn capacity(&self) -> u64 {
        self.p.capacity_bytes
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        let depth = self.p.queue_depth as usize;
        if depth > 0 && self.requests.in_use() >= depth {
            self.held.push_back(request);
        } else {
            self.start(now, request);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        self.events.next()
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        while let Some((at, event)) = self.events.take(now) {
            self.handle(at, event, done);
        }
    }
}
