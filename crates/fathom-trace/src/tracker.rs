//! Follows bios and requests through the block layer, from event to event.
//!
//! A bio enters (`BioQueue`), may be split, and its parts become requests of their own or are merged into requests of
//! their neighbours. Parts are found by device, direction and first sector: the kernel's events have no number that
//! identifies a bio or a request. What cannot be followed (the trace started later, or events were lost) has no
//! time in place of a guessed one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::event::{BlockEvent, BlockEventKind, DeviceNumber, IoFlags};

/// A request that a device has completed. Times are nanoseconds of `CLOCK_MONOTONIC`; a phase that did not happen, or that
/// the trace did not see, is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The whole device.
    pub device: DeviceNumber,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// Direction and properties.
    pub flags: IoFlags,
    /// The thread that submitted the bio queued first.
    pub thread: Option<u32>,
    /// The thread in which it was issued: the submitter, or a worker of the kernel.
    pub issued_by: Option<u32>,
    /// When the first of its bios entered the block layer.
    pub t_queue: Option<u64>,
    /// When it entered the scheduler's queue. `None` if it was issued directly.
    pub t_insert: Option<u64>,
    /// When it went to the driver, the last time if the driver gave it back.
    pub t_issue: Option<u64>,
    /// When the driver had completed all of it.
    pub t_complete: u64,
    /// Parts of bios in it.
    pub parts: u32,
    /// How many of them were merged into it.
    pub merged: u32,
    /// How many of them are parts of bios that were split.
    pub split: u32,
    /// How often the driver gave it back.
    pub requeues: u32,
    /// 0, or a negative `errno`.
    pub error: i32,
    /// Whether the trace has seen the bios of all of its sectors.
    pub complete_history: bool,
}

/// The part of a bio that is in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BioPart {
    /// First sector of the part.
    pub sector: u64,
    /// Sectors of the part.
    pub sectors: u32,
    /// First sector of the whole bio.
    pub bio_sector: u64,
    /// Sectors of the whole bio.
    pub bio_sectors: u32,
    /// Direction and properties of the bio.
    pub flags: IoFlags,
    /// The thread that submitted the bio.
    pub thread: u32,
    /// When the bio entered the block layer.
    pub t_queue: u64,
    /// When the part was merged into a request, if it was.
    pub t_merge: Option<u64>,
}

/// A bio of which all parts are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bio {
    /// The whole device.
    pub device: DeviceNumber,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// Direction and properties.
    pub flags: IoFlags,
    /// The thread that submitted it.
    pub thread: u32,
    /// When it entered the block layer.
    pub t_queue: u64,
    /// When its last part was complete.
    pub t_complete: u64,
    /// Parts into which it was split, 1 if it was not.
    pub parts: u32,
    /// Parts that were merged into requests of other bios.
    pub merged: u32,
    /// 0, or the negative `errno` of a part.
    pub error: i32,
}

/// Receives what the tracker completes.
pub trait TrackerOutput {
    /// A request is complete; `parts` are the bios in it in order of sectors.
    fn request(&mut self, request: &Request, parts: &[BioPart]);

    /// A bio is complete.
    fn bio(&mut self, bio: &Bio) {
        let _ = bio;
    }

    /// From this time on, `depth` requests of the device are with its driver.
    fn depth(&mut self, time_ns: u64, device: DeviceNumber, depth: u32) {
        let _ = (time_ns, device, depth);
    }
}

/// What the tracker could not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackerCounts {
    /// Requests and bios completed.
    pub completed: u64,
    /// Completions of requests whose start the trace did not see.
    pub unmatched: u64,
    /// Bios and requests that were open when events were lost, or that did not complete in time.
    pub abandoned: u64,
}

/// Bios and requests that may be open at a time; beyond that the oldest are abandoned (64 MiB).
const OPEN_LIMIT: usize = 1 << 18;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Read,
    Write,
    Discard,
    /// A flush command, as the driver gets it.
    Flush,
    /// A bio or request without data that asks for a flush.
    EmptyWrite,
    /// Commands that are not I/O of blocks.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    device: u32,
    class: Class,
    sector: u64,
}

/// Multiplication as a hash: the keys come from the kernel, and nobody gains by collisions.
#[derive(Default)]
pub(crate) struct FastHasher(u64);

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct PartSlot {
    key: Key,
    sectors: u32,
    bio: u32,
    /// The next part with the same key in order of time, or the next part of a request.
    next: u32,
    t_insert: u64,
    t_merge: u64,
}

#[derive(Clone, Copy)]
struct BioSlot {
    bio: Bio,
    open_parts: u32,
}

#[derive(Clone, Copy)]
struct RequestSlot {
    request: Request,
    /// Sectors that are not complete.
    open_sectors: u32,
    first_part: u32,
    /// The next request with the same key.
    next: u32,
    with_driver: bool,
}

/// A vector with reuse of free places.
struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    fn add(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = value;
                index
            }
            None => {
                self.slots.push(value);
                self.slots.len() as u32 - 1
            }
        }
    }

    fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.slots[index as usize]
    }

    fn get(&mut self, index: u32) -> &mut T {
        &mut self.slots[index as usize]
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }
}

/// Follows bios and requests. Feed it events in order of time.
pub struct Tracker {
    /// Parts that are not in an issued request, by first sector.
    waiting: FastMap<Key, u32>,
    /// Issued requests by first sector that is not complete.
    issued: FastMap<Key, u32>,
    depth: FastMap<u32, u32>,
    parts: Slab<PartSlot>,
    bios: Slab<BioSlot>,
    requests: Slab<RequestSlot>,
    collected: Vec<BioPart>,
    counts: TrackerCounts,
}

impl Default for Tracker {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracker {
    /// A tracker that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            waiting: FastMap::default(),
            issued: FastMap::default(),
            depth: FastMap::default(),
            parts: Slab::new(),
            bios: Slab::new(),
            requests: Slab::new(),
            collected: Vec::new(),
            counts: TrackerCounts::default(),
        }
    }

    /// What it completed and what it could not follow.
    #[must_use]
    pub fn counts(&self) -> TrackerCounts {
        self.counts
    }

    /// Bios and requests that are not complete.
    #[must_use]
    pub fn open(&self) -> usize {
        self.bios.len().max(self.requests.len())
    }

    /// The earliest time since when a request is with its driver, or a bio in the block layer, of those that are not
    /// complete; `None` if there are none. It looks at all of them.
    #[must_use]
    pub fn oldest_open(&mut self) -> Option<u64> {
        let mut oldest: Option<u64> = None;
        let mut note = |time: u64| oldest = Some(oldest.map_or(time, |before| before.min(time)));
        for first in self.issued.values() {
            let mut index = *first;
            while index != NONE {
                let slot = self.requests.get(index);
                note(slot.request.t_issue.unwrap_or(u64::MAX));
                index = slot.next;
            }
        }
        for first in self.waiting.values() {
            let mut index = *first;
            while index != NONE {
                let part = *self.parts.get(index);
                note(self.bios.get(part.bio).bio.t_queue);
                index = part.next;
            }
        }
        oldest
    }

    /// Events were lost: nothing that is open can be followed any further.
    pub fn lost_events(&mut self) {
        self.counts.abandoned += self.open() as u64;
        self.waiting.clear();
        self.issued.clear();
        self.depth.clear();
        self.parts.clear();
        self.bios.clear();
        self.requests.clear();
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &BlockEvent, output: &mut dyn TrackerOutput) {
        match event.kind {
            BlockEventKind::BioQueue => self.queue(event),
            BlockEventKind::Split { new_sector } => self.split(event, new_sector),
            BlockEventKind::BackMerge
            | BlockEventKind::FrontMerge
            | BlockEventKind::RequestMerge => self.merge(event),
            BlockEventKind::Insert => self.insert(event),
            BlockEventKind::Issue => self.issue(event, output),
            BlockEventKind::Requeue => self.requeue(event, output),
            BlockEventKind::Complete { error } => self.complete(event, error, output),
            BlockEventKind::BioComplete { error } => self.bio_complete(event, error, output),
            BlockEventKind::Remap { .. }
            | BlockEventKind::GetRequest
            | BlockEventKind::Plug
            | BlockEventKind::Unplug { .. }
            | BlockEventKind::FileMap { .. } => {}
        }
    }

    fn queue(&mut self, event: &BlockEvent) {
        if self.bios.len() >= OPEN_LIMIT {
            self.lost_events();
        }
        let bio = self.bios.add(BioSlot {
            bio: Bio {
                device: event.device,
                sector: event.sector,
                sectors: event.sectors,
                flags: event.flags,
                thread: event.thread,
                t_queue: event.time_ns,
                t_complete: 0,
                parts: 1,
                merged: 0,
                error: 0,
            },
            open_parts: 1,
        });
        self.add_part(PartSlot {
            key: key(event),
            sectors: event.sectors,
            bio,
            next: NONE,
            t_insert: 0,
            t_merge: 0,
        });
    }

    /// Appends a part to those that wait at its sector.
    fn add_part(&mut self, part: PartSlot) {
        let added = self.parts.add(part);
        let mut index = *self.waiting.entry(part.key).or_insert(added);
        while index != added {
            let slot = self.parts.get(index);
            if slot.next == NONE {
                slot.next = added;
            }
            index = slot.next;
        }
    }

    /// The first waiting part at `key` for which `wanted` holds.
    fn find(&mut self, key: Key, wanted: impl Fn(&PartSlot) -> bool) -> Option<u32> {
        let mut index = *self.waiting.get(&key)?;
        while index != NONE {
            let part = self.parts.get(index);
            if wanted(part) {
                return Some(index);
            }
            index = part.next;
        }
        None
    }

    /// Takes a part out of those that wait.
    fn take(&mut self, key: Key, wanted: u32) {
        let after = self.parts.get(wanted).next;
        let head = self.waiting[&key];
        if head == wanted {
            if after == NONE {
                self.waiting.remove(&key);
            } else {
                self.waiting.insert(key, after);
            }
            return;
        }
        let mut index = head;
        while self.parts.get(index).next != wanted {
            index = self.parts.get(index).next;
        }
        self.parts.get(index).next = after;
    }

    fn split(&mut self, event: &BlockEvent, new_sector: u64) {
        let key = key_at(event, event.sector, false);
        let inside = |part: &PartSlot| {
            new_sector > event.sector && new_sector - event.sector < part.sectors.into()
        };
        let Some(index) = self.find(key, inside) else {
            return;
        };
        let part = self.parts.get(index);
        let first = (new_sector - event.sector) as u32;
        let rest = PartSlot {
            key: Key {
                sector: new_sector,
                ..key
            },
            sectors: part.sectors - first,
            next: NONE,
            ..*part
        };
        part.sectors = first;
        let bio = self.bios.get(rest.bio);
        bio.bio.parts += 1;
        bio.open_parts += 1;
        self.add_part(rest);
    }

    fn merge(&mut self, event: &BlockEvent) {
        let (key, sectors) = (key(event), event.sectors);
        // A merged request is longer than the first of its parts.
        let Some(index) = self
            .find(key, |part| part.t_merge == 0 && part.sectors == sectors)
            .or_else(|| self.find(key, |part| part.t_merge == 0))
        else {
            return;
        };
        let part = self.parts.get(index);
        part.t_merge = event.time_ns;
        let bio = part.bio;
        self.bios.get(bio).bio.merged += 1;
    }

    fn insert(&mut self, event: &BlockEvent) {
        let mut key = key(event);
        let end = event.end_sector();
        while let Some(index) = self.find(key, |part| {
            part.t_insert == 0 && key.sector + u64::from(part.sectors) <= end
        }) {
            let part = self.parts.get(index);
            part.t_insert = event.time_ns;
            key.sector += u64::from(part.sectors);
            if part.sectors == 0 || key.sector >= end {
                break;
            }
        }
    }

    fn issue(&mut self, event: &BlockEvent, output: &mut dyn TrackerOutput) {
        let first = key(event);
        if let Some(index) = self.find_issued(first, |slot| !slot.with_driver) {
            let slot = self.requests.get(index);
            slot.request.t_issue = Some(event.time_ns);
            slot.with_driver = true;
            self.change_depth(event, 1, output);
            return;
        }
        if self.requests.len() >= OPEN_LIMIT {
            self.lost_events();
        }
        let request = self.collect(event);
        self.add_request(first, request);
        self.change_depth(event, 1, output);
    }

    /// Makes a request of the waiting parts in the range of an event.
    fn collect(&mut self, event: &BlockEvent) -> RequestSlot {
        let mut key = key(event);
        let end = event.end_sector();
        let mut request = Request {
            device: event.device,
            sector: event.sector,
            sectors: event.sectors,
            flags: event.flags,
            thread: None,
            issued_by: Some(event.thread),
            t_queue: None,
            t_insert: None,
            t_issue: Some(event.time_ns),
            t_complete: 0,
            parts: 0,
            merged: 0,
            split: 0,
            requeues: 0,
            error: 0,
            complete_history: false,
        };
        let (mut first_part, mut last_part) = (NONE, NONE);
        while let Some(index) = self.find(key, |part| key.sector + u64::from(part.sectors) <= end) {
            self.take(key, index);
            let part = self.parts.get(index);
            part.next = NONE;
            let part = *part;
            if last_part == NONE {
                first_part = index;
            } else {
                self.parts.get(last_part).next = index;
            }
            last_part = index;
            let bio = self.bios.get(part.bio).bio;
            request.parts += 1;
            request.merged += u32::from(part.t_merge != 0);
            request.split += u32::from(bio.parts > 1);
            if request
                .t_queue
                .is_none_or(|earliest| bio.t_queue < earliest)
            {
                request.t_queue = Some(bio.t_queue);
                request.thread = Some(bio.thread);
            }
            if part.t_insert != 0 && request.t_insert.is_none_or(|first| part.t_insert < first) {
                request.t_insert = Some(part.t_insert);
            }
            key.sector += u64::from(part.sectors);
            if key.sector >= end {
                request.complete_history = true;
                break;
            }
        }
        RequestSlot {
            request,
            open_sectors: event.sectors,
            first_part,
            next: NONE,
            with_driver: true,
        }
    }

    fn add_request(&mut self, key: Key, request: RequestSlot) {
        let added = self.requests.add(request);
        let mut index = *self.issued.entry(key).or_insert(added);
        while index != added {
            let slot = self.requests.get(index);
            if slot.next == NONE {
                slot.next = added;
            }
            index = slot.next;
        }
    }

    fn find_issued(&mut self, key: Key, wanted: impl Fn(&RequestSlot) -> bool) -> Option<u32> {
        let mut index = *self.issued.get(&key)?;
        while index != NONE {
            let slot = self.requests.get(index);
            if wanted(slot) {
                return Some(index);
            }
            index = slot.next;
        }
        None
    }

    fn take_issued(&mut self, key: Key, wanted: u32) -> RequestSlot {
        let taken = self.requests.remove(wanted);
        let head = self.issued[&key];
        if head == wanted {
            if taken.next == NONE {
                self.issued.remove(&key);
            } else {
                self.issued.insert(key, taken.next);
            }
        } else {
            let mut index = head;
            while self.requests.get(index).next != wanted {
                index = self.requests.get(index).next;
            }
            self.requests.get(index).next = taken.next;
        }
        RequestSlot {
            next: NONE,
            ..taken
        }
    }

    fn requeue(&mut self, event: &BlockEvent, output: &mut dyn TrackerOutput) {
        if let Some(index) = self.find_issued(key(event), |slot| slot.with_driver) {
            let slot = self.requests.get(index);
            slot.with_driver = false;
            slot.request.requeues += 1;
            self.change_depth(event, -1, output);
        }
    }

    fn complete(&mut self, event: &BlockEvent, error: i32, output: &mut dyn TrackerOutput) {
        let key = key(event);
        let Some(index) = self
            .find_issued(key, |slot| slot.open_sectors == event.sectors)
            .or_else(|| self.find_issued(key, |slot| slot.open_sectors > event.sectors))
            .or_else(|| self.find_issued(key, |_| true))
        else {
            // A flush without data, or a request that failed before it was issued.
            let mut slot = self.collect(event);
            slot.request.t_issue = None;
            slot.request.issued_by = None;
            if slot.request.parts == 0 {
                self.counts.unmatched += 1;
                return;
            }
            self.end(slot, event, error, output);
            return;
        };
        let mut slot = self.take_issued(key, index);
        if event.sectors < slot.open_sectors && event.sectors > 0 {
            slot.open_sectors -= event.sectors;
            if error != 0 {
                slot.request.error = error;
            }
            let rest = Key {
                sector: event.end_sector(),
                ..key
            };
            self.add_request(rest, slot);
            return;
        }
        if slot.with_driver {
            self.change_depth(event, -1, output);
        }
        self.end(slot, event, error, output);
    }

    fn end(
        &mut self,
        slot: RequestSlot,
        event: &BlockEvent,
        error: i32,
        output: &mut dyn TrackerOutput,
    ) {
        let mut request = slot.request;
        request.t_complete = event.time_ns;
        if error != 0 {
            request.error = error;
        }
        let mut collected = std::mem::take(&mut self.collected);
        collected.clear();
        let mut index = slot.first_part;
        while index != NONE {
            let part = self.parts.get(index);
            let (bio, next) = (part.bio, part.next);
            let whole = self.bios.get(bio).bio;
            let part = self.parts.get(index);
            collected.push(BioPart {
                sector: part.key.sector,
                sectors: part.sectors,
                bio_sector: whole.sector,
                bio_sectors: whole.sectors,
                flags: whole.flags,
                thread: whole.thread,
                t_queue: whole.t_queue,
                t_merge: (part.t_merge != 0).then_some(part.t_merge),
            });
            index = next;
        }
        self.counts.completed += 1;
        output.request(&request, &collected);
        self.collected = collected;
        let mut index = slot.first_part;
        while index != NONE {
            let part = self.parts.remove(index);
            self.end_part(part.bio, event.time_ns, request.error, output);
            index = part.next;
        }
    }

    fn end_part(&mut self, bio: u32, time_ns: u64, error: i32, output: &mut dyn TrackerOutput) {
        let slot = self.bios.get(bio);
        slot.open_parts -= 1;
        if error != 0 {
            slot.bio.error = error;
        }
        if slot.open_parts == 0 {
            let mut ended = self.bios.remove(bio).bio;
            ended.t_complete = time_ns;
            output.bio(&ended);
        }
    }

    /// A bio ended without a request: the device has none, or it failed before.
    fn bio_complete(&mut self, event: &BlockEvent, error: i32, output: &mut dyn TrackerOutput) {
        let key = key(event);
        let Some(index) = self.find(key, |part| part.sectors == event.sectors) else {
            return;
        };
        self.take(key, index);
        let bio = self.parts.remove(index).bio;
        self.end_part(bio, event.time_ns, error, output);
        self.counts.completed += 1;
    }

    fn change_depth(&mut self, event: &BlockEvent, by: i32, output: &mut dyn TrackerOutput) {
        let depth = self.depth.entry(event.device.0).or_insert(0);
        *depth = depth.saturating_add_signed(by);
        output.depth(event.time_ns, event.device, *depth);
    }
}

fn key(event: &BlockEvent) -> Key {
    key_at(event, event.sector, event.sectors == 0)
}

fn key_at(event: &BlockEvent, sector: u64, empty: bool) -> Key {
    let flags = event.flags;
    let class = if flags.is_flush() {
        Class::Flush
    } else if empty && flags.is_write() {
        Class::EmptyWrite
    } else if flags.is_read() {
        Class::Read
    } else if flags.is_write() {
        Class::Write
    } else if flags.is_discard() {
        Class::Discard
    } else {
        Class::Other
    };
    // A flush has no place; when one completes, Linux reports the sector -1.
    let sector = if class == Class::Flush { 0 } else { sector };
    Key {
        device: event.device.0,
        class,
        sector,
    }
}

#[cfg(test)]
mod tests;
