//! A disk whose power is cut: what it stored, what its volatile cache held, and what was on its way.
//!
//! A completed write is in the cache. It reaches the media with the next flush, with forced unit access, or when the cache is full:
//! then the oldest go first. At a power cut the cache is lost, and of each write in flight some of the first sectors are stored, as a seed
//! says.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::contents::{Contents, Fate};
use super::disk::Disk;
use super::world::id;
use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::disk_counts::SECTOR_BYTES;
use crate::machine::{DeviceCache, Event, SimDisk};

/// All requests are of this thread in their identifiers, which name a thread.
const REQUEST_THREAD: usize = 1;

/// A disk with a volatile cache.
pub struct PoweredDisk {
    disk: Disk,
    /// The number of the disk in its machine.
    number: usize,
    cache: DeviceCache,
    media: Contents,
    /// Completed writes that are not on the media, the oldest first.
    cached: VecDeque<Cached>,
    cached_bytes: u64,
    in_flight: HashMap<u64, InFlight>,
    /// What completed, until somebody asks for it.
    finished: HashMap<u64, Finished>,
    next: u32,
    done: Vec<SimCompletion>,
}

/// What a request found: the bytes of a read, or that the device failed it.
pub type Finished = Result<Vec<u8>, RequestFailed>;

/// The device failed a request (EIO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFailed;

struct Cached {
    offset: u64,
    bytes: Vec<u8>,
}

struct InFlight {
    request: SimRequest,
    fate: Fate,
    bytes: Vec<u8>,
    /// How many requests this disk had before this one.
    number: u32,
}

impl PoweredDisk {
    /// The disk number `number` of a machine with these events.
    #[must_use]
    pub fn new(disk: SimDisk, number: usize, events: &[Event], cache: DeviceCache) -> Self {
        let own = |event: &&Event| event.kind.disk() == Some(number);
        let own: Vec<Event> = events.iter().filter(own).copied().collect();
        PoweredDisk {
            disk: Disk::new(disk, number, &own),
            number,
            cache,
            media: Contents::new(&own),
            cached: VecDeque::new(),
            cached_bytes: 0,
            in_flight: HashMap::new(),
            finished: HashMap::new(),
            next: 0,
            done: Vec::new(),
        }
    }

    /// Submits a request, and the bytes of a write. Its identifier is replaced by the returned one.
    pub fn submit(&mut self, now: SimTime, request: SimRequest, bytes: &[u8]) -> u64 {
        self.advance(now);
        let number = self.next;
        self.next = number.wrapping_add(1);
        let id = id::join(request.op, REQUEST_THREAD, number);
        let request = SimRequest { id, ..request };
        let fate = self.disk.submit(now, request);
        let in_flight = InFlight {
            request,
            fate,
            bytes: bytes.to_vec(),
            number,
        };
        self.in_flight.insert(id, in_flight);
        id
    }

    /// When something happens next.
    #[must_use]
    pub fn next_event(&self) -> Option<SimTime> {
        self.disk.next_event()
    }

    /// Processes all events up to `now`. Whether a request has completed.
    pub fn advance(&mut self, now: SimTime) -> bool {
        let before = self.in_flight.len();
        while let Some(at) = self.disk.next_event().filter(|at| *at <= now) {
            self.disk.advance(at, &mut self.done);
            for completion in std::mem::take(&mut self.done) {
                self.complete(at, &completion);
            }
        }
        self.disk.advance(now, &mut self.done);
        self.in_flight.len() < before
    }

    /// What a completed request found.
    pub fn take(&mut self, id: u64) -> Option<Finished> {
        self.finished.remove(&id)
    }

    fn complete(&mut self, now: SimTime, completion: &SimCompletion) {
        let Some(done) = self.in_flight.remove(&completion.id) else {
            return;
        };
        let InFlight {
            request,
            fate,
            bytes,
            ..
        } = done;
        let range = request.offset..request.offset.saturating_add(u64::from(request.bytes));
        let found = match request.op {
            _ if completion.failed => Err(RequestFailed),
            SimOp::Read => Ok(self.read(now, &range)),
            SimOp::Write => {
                self.write(&request, fate, bytes);
                Ok(Vec::new())
            }
            SimOp::Trim => {
                self.discard(&range);
                Ok(Vec::new())
            }
            SimOp::Flush => {
                if !self.cache.ignores_flush {
                    self.write_back(0);
                }
                Ok(Vec::new())
            }
        };
        self.finished.insert(completion.id, found);
    }

    fn write(&mut self, request: &SimRequest, fate: Fate, mut bytes: Vec<u8>) {
        let mut offset = request.offset;
        match fate {
            Fate::Lands => {}
            Fate::Torn { keep } => bytes.truncate(keep as usize),
            Fate::Lost => return,
            Fate::Misplaced { by } => offset = offset.saturating_add(by),
        }
        if request.fua && !self.cache.ignores_fua {
            self.forget(&(offset..offset + bytes.len() as u64));
            self.media.write(self.number, offset, &bytes);
            return;
        }
        self.cached_bytes += bytes.len() as u64;
        self.cached.push_back(Cached { offset, bytes });
        self.write_back(self.cache.bytes);
    }

    /// Stores what the cache has of a range, so that it does not overwrite newer data later.
    fn forget(&mut self, range: &Range<u64>) {
        let (media, number, cached_bytes) = (&mut self.media, self.number, &mut self.cached_bytes);
        self.cached.retain(|Cached { offset, bytes }| {
            let end = offset + bytes.len() as u64;
            let touches = *offset < range.end && range.start < end;
            if touches {
                media.write(number, *offset, bytes);
                *cached_bytes -= bytes.len() as u64;
            }
            !touches
        });
    }

    /// Stores the oldest writes of the cache until so many bytes are left in it.
    fn write_back(&mut self, left: u64) {
        while self.cached_bytes > left
            && let Some(Cached { offset, bytes }) = self.cached.pop_front()
        {
            self.cached_bytes -= bytes.len() as u64;
            self.media.write(self.number, offset, &bytes);
        }
    }

    /// What the device returns for a range.
    fn read(&mut self, now: SimTime, range: &Range<u64>) -> Vec<u8> {
        self.media.corrupt_until(now);
        let mut found = self.media.read(self.number, range);
        for Cached { offset, bytes } in &self.cached {
            let end = offset + bytes.len() as u64;
            let (from, to) = (range.start.max(*offset), range.end.min(end));
            if from < to {
                let source = &bytes[(from - offset) as usize..(to - offset) as usize];
                found[(from - range.start) as usize..(to - range.start) as usize]
                    .copy_from_slice(source);
            }
        }
        found
    }

    /// A trim takes effect at once.
    fn discard(&mut self, range: &Range<u64>) {
        self.forget(range);
        self.media.discard(self.number, range);
    }

    /// What is stored in a range, and in the cache, is needed no more.
    pub fn release(&mut self, range: &Range<u64>) {
        self.discard(range);
    }

    /// Stores bytes before the machine starts.
    pub fn store(&mut self, offset: u64, bytes: &[u8]) {
        self.media.write(self.number, offset, bytes);
    }

    /// What is on the media.
    #[must_use]
    pub fn stored(&self, range: &Range<u64>) -> Vec<u8> {
        self.media.read(self.number, range)
    }

    /// The power is cut and comes back. Requests in flight are never completed.
    pub fn cut_power(&mut self, now: SimTime, seed: u64) {
        self.advance(now);
        self.cached.clear();
        self.cached_bytes = 0;
        self.finished.clear();
        let mut lost: Vec<InFlight> = self.in_flight.drain().map(|(_, one)| one).collect();
        lost.sort_unstable_by_key(|one| one.number);
        for InFlight {
            request,
            bytes,
            number,
            ..
        } in lost
        {
            if request.op == SimOp::Write {
                let sectors = bytes.len() as u64 / SECTOR_BYTES + 1;
                let stored = mix(seed ^ u64::from(number)) % sectors * SECTOR_BYTES;
                let stored = (stored as usize).min(bytes.len());
                self.media
                    .write(self.number, request.offset, &bytes[..stored]);
            }
        }
    }
}

/// A number that looks random (SplitMix64).
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Library;

    const MICROSECOND_NS: u64 = 1000;

    fn disk(cache: DeviceCache, events: &[Event]) -> PoweredDisk {
        let device = Library::new().build_text("servers(count=1, service=100us)", 1);
        let device = device.expect("a model");
        let path = "/dev/a".into();
        PoweredDisk::new(SimDisk { path, device }, 0, events, cache)
    }

    fn request(op: SimOp, offset: u64, bytes: u32, fua: bool) -> SimRequest {
        SimRequest {
            id: 0,
            op,
            offset,
            bytes,
            fua,
        }
    }

    /// Carries out a request from `now` on; returns when it completed, and what it found.
    fn carry_out(
        disk: &mut PoweredDisk,
        now: u64,
        request: SimRequest,
        bytes: &[u8],
    ) -> (u64, Finished) {
        let id = disk.submit(now, request, bytes);
        loop {
            let at = disk.next_event().expect("it completes");
            disk.advance(at);
            if let Some(found) = disk.take(id) {
                return (at, found);
            }
        }
    }

    fn write(disk: &mut PoweredDisk, now: u64, offset: u64, byte: u8, fua: bool) -> u64 {
        let request = request(SimOp::Write, offset, 1024, fua);
        carry_out(disk, now, request, &[byte; 1024]).0
    }

    /// What is at the start of these kilobytes after a cut.
    fn after_cut(disk: &mut PoweredDisk, now: u64) -> [u8; 4] {
        disk.cut_power(now, 7);
        [0, 1, 2, 3].map(|kib| disk.stored(&(kib << 10..(kib << 10) + 1))[0])
    }

    #[test]
    fn what_was_not_flushed_is_lost() {
        let all = DeviceCache::default();
        let lying = DeviceCache {
            ignores_flush: true,
            ..all
        };
        let worse = DeviceCache {
            ignores_fua: true,
            ..lying
        };
        let small = DeviceCache {
            bytes: 2048,
            ..lying
        };
        let none = DeviceCache { bytes: 0, ..lying };
        for (cache, expected) in [
            (all, [1, 2, 3, 0]),
            (lying, [0, 0, 3, 0]),
            (worse, [0; 4]),
            // The third one is forced; of the others two fit.
            (small, [1, 0, 3, 0]),
            (none, [1, 2, 3, 4]),
        ] {
            let mut disk = disk(cache, &[]);
            let mut now = write(&mut disk, 0, 0, 1, false);
            now = write(&mut disk, now, 1024, 2, false);
            assert_eq!(now, 200 * MICROSECOND_NS);
            now = carry_out(&mut disk, now, request(SimOp::Flush, 0, 0, false), &[]).0;
            now = write(&mut disk, now, 2048, 3, true);
            now = write(&mut disk, now, 3072, 4, false);
            let read = request(SimOp::Read, 512, 2560, false);
            let (_, found) = carry_out(&mut disk, now, read, &[]);
            let found = found.expect("good");
            assert_eq!((found[0], found[512], found[2559]), (1, 2, 3), "{cache:?}");
            assert_eq!(
                after_cut(&mut disk, now + 100 * MICROSECOND_NS),
                expected,
                "{cache:?}"
            );
        }
    }

    /// A write in flight is stored up to a sector, or not at all; an older one there stays behind it.
    #[test]
    fn a_write_in_flight_is_torn_between_sectors() {
        let mut seen = [false; 3];
        for seed in 0..50 {
            let none = DeviceCache {
                bytes: 0,
                ..DeviceCache::default()
            };
            let mut disk = disk(none, &[]);
            let now = write(&mut disk, 0, 0, 1, false);
            disk.submit(now, request(SimOp::Write, 0, 1024, false), &[2; 1024]);
            disk.cut_power(now + 50 * MICROSECOND_NS, seed);
            let found = disk.stored(&(0..1024));
            let new = found.iter().filter(|byte| **byte == 2).count();
            assert!(found[..new].iter().all(|byte| *byte == 2) && new.is_multiple_of(512));
            assert_eq!(found.iter().filter(|byte| **byte == 1).count(), 1024 - new);
            seen[new / 512] = true;
        }
        assert_eq!(seen, [true; 3]);
    }

    #[test]
    fn events_lose_tear_and_corrupt_what_is_stored() {
        use fathom_model::Nanos;
        let at = Nanos::ZERO;
        let events = [
            Event::write_torn(at, 0, 1, 512),
            Event::write_lost(at, 0, 2),
            Event::data_corrupted(Nanos::new(500 * MICROSECOND_NS), 0, 2048..2049),
        ];
        let none = DeviceCache {
            bytes: 0,
            ..DeviceCache::default()
        };
        let mut disk = disk(none, &events);
        let mut now = 0;
        for (offset, byte) in [(0, 1), (1024, 2), (2048, 3)] {
            now = write(&mut disk, now, offset, byte, false);
        }
        let read = request(SimOp::Read, 0, 4096, false);
        let (now, found) = carry_out(&mut disk, now, read, &[]);
        let found = found.expect("good");
        assert_eq!((now, found[511], found[512]), (400 * MICROSECOND_NS, 1, 0));
        assert_eq!((found[1024], found[2048]), (0, 3));
        let (_, found) = carry_out(&mut disk, now, read, &[]);
        assert_eq!(found.expect("good")[2048..2050], [!3, 3]);
    }
}
