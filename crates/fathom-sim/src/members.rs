//! The devices that a composed device consists of.

use fathom_model::DiskCounters;

use crate::device::{SimCompletion, SimDevice, SimRequest, SimTime};
use crate::disk_counts::Counts;

/// Bits of an identifier below those of the operation; members get small numbers.
const ID_BITS: u32 = 62;

/// The requests that one member received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub written_bytes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
}

pub(crate) struct Members {
    devices: Vec<Box<dyn SimDevice>>,
    /// The time of each member's next event; `u64::MAX` for none.
    next: Vec<SimTime>,
    /// The earliest of them and its member, the first one of equal times.
    earliest: (SimTime, usize),
    /// What the kernel would count of each member.
    counts: Vec<Counts>,
    /// Where the last request to each member ended.
    last_end: Vec<u64>,
    done: Vec<SimCompletion>,
}

impl std::fmt::Debug for dyn SimDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "device of {} bytes", self.capacity())
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members")
            .field("next", &self.next)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Members {
    pub fn new(devices: Vec<Box<dyn SimDevice>>) -> Self {
        let count = devices.len();
        let next: Vec<SimTime> = devices
            .iter()
            .map(|device| device.next_event().unwrap_or(SimTime::MAX))
            .collect();
        Members {
            devices,
            earliest: earliest(&next),
            next,
            counts: (0..count).map(|_| Counts::default()).collect(),
            last_end: vec![0; count],
            done: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.devices.len()
    }

    pub fn capacity(&self, member: usize) -> u64 {
        self.devices[member].capacity()
    }

    pub fn smallest_capacity(&self) -> u64 {
        self.devices
            .iter()
            .map(|device| device.capacity())
            .min()
            .unwrap_or(0)
    }

    /// The requests that each member received.
    pub fn counts(&self) -> Vec<MemberCounts> {
        self.counts.iter().map(Counts::received).collect()
    }

    /// What the kernel would have counted of each member until `now`.
    pub fn counters(&self, now: SimTime) -> Vec<DiskCounters> {
        let counts = self.counts.iter();
        counts.map(|member| member.counters(now)).collect()
    }

    pub fn in_flight(&self, member: usize) -> u64 {
        self.counts[member].in_flight()
    }

    pub fn last_end(&self, member: usize) -> u64 {
        self.last_end[member]
    }

    pub fn submit(&mut self, member: usize, now: SimTime, request: SimRequest) {
        let bytes = u64::from(request.bytes);
        self.last_end[member] = request.offset + bytes;
        self.counts[member].submitted(now, &request);
        let id = request.id | (request.op as u64) << ID_BITS;
        self.devices[member].submit(now, SimRequest { id, ..request });
        self.note_next(member);
    }

    /// The member with the earliest event, and its time.
    pub fn next(&self) -> Option<(SimTime, usize)> {
        (self.earliest.0 < SimTime::MAX).then_some(self.earliest)
    }

    /// Advances one member to the time of its event. The completions are to be given back with
    /// [`Members::give_back`], so that their memory is used again.
    pub fn advance(&mut self, member: usize, now: SimTime) -> Vec<SimCompletion> {
        let mut done = std::mem::take(&mut self.done);
        self.devices[member].advance(now, &mut done);
        for completion in &mut done {
            self.counts[member].completed(completion.at, (completion.id >> ID_BITS) as usize);
            completion.id &= (1 << ID_BITS) - 1;
        }
        self.note_next(member);
        done
    }

    pub fn give_back(&mut self, mut done: Vec<SimCompletion>) {
        done.clear();
        self.done = done;
    }

    /// Puts another device in the place of a member that has no requests in flight.
    pub fn replace(&mut self, member: usize, device: Box<dyn SimDevice>) {
        self.devices[member] = device;
        self.note_next(member);
    }

    fn note_next(&mut self, member: usize) {
        let at = self.devices[member].next_event().unwrap_or(SimTime::MAX);
        self.next[member] = at;
        if (at, member) < self.earliest {
            self.earliest = (at, member);
        } else if member == self.earliest.1 {
            // Its event moved to a later time: another one may be the first.
            self.earliest = earliest(&self.next);
        }
    }
}

fn earliest(next: &[SimTime]) -> (SimTime, usize) {
    let mut earliest = (SimTime::MAX, 0);
    for (member, at) in next.iter().enumerate() {
        if *at < earliest.0 {
            earliest = (*at, member);
        }
    }
    earliest
}
