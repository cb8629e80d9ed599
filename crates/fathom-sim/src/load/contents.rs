//! The bytes on the disks of a machine, from the first run on that verifies.
//!
//! A write lands when its disk completes it, and a read sees what is there when it completes, so that I/Os that overlap in time see
//! each other in the order of their completions. What was never written reads as zeros.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use fathom_model::{Bytes, Direction, Extent, Job, Plan};

use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::disk_counts::SECTOR_BYTES;
use crate::machine::{Event, EventKind, FileTree, Node};

/// Bytes that are stored together.
const CHUNK_BYTES: u64 = 4096;
/// The most bytes that the writes of a plan may leave.
const MAX_KEPT_BYTES: u64 = 1 << 30;
const GIB_BYTES: f64 = (1_u64 << 30) as f64;

/// What becomes of the bytes of a write that completes with success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// They are stored.
    #[default]
    Lands,
    /// Only the first ones are stored.
    Torn { keep: u64 },
    /// Nothing is stored.
    Lost,
    /// They are stored so far behind their place.
    Misplaced { by: u64 },
}

/// The bytes of all disks.
#[derive(Default)]
pub(super) struct Contents {
    chunks: BTreeMap<(usize, u64), Box<Chunk>>,
    /// By their identifiers.
    in_flight: HashMap<u64, InFlight>,
    /// What completed reads have found, until their threads take it.
    found: HashMap<u64, Vec<u8>>,
    corruptions: Vec<Corruption>,
}

struct Chunk {
    bytes: [u8; CHUNK_BYTES as usize],
    /// Sectors that were written, one bit each.
    stored: u8,
}

/// A request that has not completed.
struct InFlight {
    op: SimOp,
    disk: usize,
    range: Range<u64>,
    /// The bytes of a write, as far as they will land; `None` of a read or a trim.
    bytes: Option<Vec<u8>>,
}

/// Bits of what is stored in a range change at a time.
struct Corruption {
    at: SimTime,
    disk: usize,
    range: Range<u64>,
}

/// The part of `range` within the chunk with this number, in bytes of the chunk.
fn part_of(range: &Range<u64>, chunk: u64) -> Range<usize> {
    let base = chunk * CHUNK_BYTES;
    let from = range.start.saturating_sub(base).min(CHUNK_BYTES);
    let to = range.end.saturating_sub(base).min(CHUNK_BYTES);
    from as usize..to as usize
}

impl Contents {
    /// Empty disks to which these events will happen.
    pub fn new(events: &[Event]) -> Self {
        let corruptions = events.iter().filter_map(|event| match event.kind {
            EventKind::DataCorrupted { disk, from, to } => Some(Corruption {
                at: event.at.get(),
                disk,
                range: from..to,
            }),
            _ => None,
        });
        Contents {
            corruptions: corruptions.collect(),
            ..Contents::default()
        }
    }

    /// A disk has accepted a request. `bytes` are those of a write.
    pub fn submitted(&mut self, disk: usize, request: &SimRequest, fate: Fate, bytes: &[u8]) {
        let (mut start, mut length) = (request.offset, u64::from(request.bytes));
        if request.op == SimOp::Flush {
            return;
        }
        if request.op == SimOp::Write {
            match fate {
                Fate::Lands => {}
                Fate::Torn { keep } => length = length.min(keep),
                Fate::Lost => length = 0,
                Fate::Misplaced { by } => start = start.saturating_add(by),
            }
        }
        let bytes = (request.op == SimOp::Write).then(|| {
            let length = (length as usize).min(bytes.len());
            bytes[..length].to_vec()
        });
        let range = start..start.saturating_add(length);
        let in_flight = InFlight {
            op: request.op,
            disk,
            range,
            bytes,
        };
        self.in_flight.insert(request.id, in_flight);
    }

    /// A disk has completed a request. One that failed changes nothing.
    pub fn completed(&mut self, now: SimTime, completion: &SimCompletion) {
        let Some(request) = self.in_flight.remove(&completion.id) else {
            return;
        };
        if completion.failed {
            return;
        }
        self.corrupt_until(now);
        let InFlight {
            op,
            disk,
            range,
            bytes,
        } = request;
        match (op, bytes) {
            (SimOp::Write, Some(bytes)) => self.write(disk, range.start, &bytes),
            (SimOp::Read, _) => {
                let found = self.read(disk, &range);
                self.found.insert(completion.id, found);
            }
            (SimOp::Trim, _) => self.discard(disk, &range),
            _ => {}
        }
    }

    /// What a completed read has found.
    pub fn take_found(&mut self, id: u64) -> Option<Vec<u8>> {
        self.found.remove(&id)
    }

    pub fn write(&mut self, disk: usize, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let start = (at % CHUNK_BYTES) as usize;
            let (now, later) = rest.split_at(rest.len().min(CHUNK_BYTES as usize - start));
            let chunk = self
                .chunks
                .entry((disk, at / CHUNK_BYTES))
                .or_insert_with(|| {
                    Box::new(Chunk {
                        bytes: [0; CHUNK_BYTES as usize],
                        stored: 0,
                    })
                });
            chunk.bytes[start..start + now.len()].copy_from_slice(now);
            let sectors = start as u64 / SECTOR_BYTES..(start + now.len()) as u64;
            let last = (sectors.end - 1) / SECTOR_BYTES;
            (sectors.start..=last).for_each(|sector| chunk.stored |= 1 << sector);
            at += now.len() as u64;
            rest = later;
        }
    }

    pub fn read(&self, disk: usize, range: &Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        for ((_, number), chunk) in self.chunks.range(chunks_of(disk, range)) {
            let part = part_of(range, *number);
            let at = (number * CHUNK_BYTES + part.start as u64 - range.start) as usize;
            bytes[at..at + part.len()].copy_from_slice(&chunk.bytes[part]);
        }
        bytes
    }

    /// Makes a range read as zeros.
    pub fn discard(&mut self, disk: usize, range: &Range<u64>) {
        let keys = self.chunks.range(chunks_of(disk, range)).map(|one| *one.0);
        let keys: Vec<(usize, u64)> = keys.collect();
        for key in keys {
            let part = part_of(range, key.1);
            if part.len() == CHUNK_BYTES as usize {
                self.chunks.remove(&key);
            } else if let Some(chunk) = self.chunks.get_mut(&key) {
                chunk.bytes[part.clone()].fill(0);
                let whole =
                    (part.start as u64).div_ceil(SECTOR_BYTES)..part.end as u64 / SECTOR_BYTES;
                whole.for_each(|sector| chunk.stored &= !(1 << sector));
            }
        }
    }

    /// A file has moved to another place, which is empty.
    pub fn relocate(&mut self, from: (usize, u64), to: (usize, u64), length: u64) {
        let range = from.1..from.1.saturating_add(length);
        let keys = self.chunks.range(chunks_of(from.0, &range));
        let keys: Vec<u64> = keys.map(|((_, number), _)| *number).collect();
        for number in keys {
            let part = part_of(&range, number);
            let start = number * CHUNK_BYTES + part.start as u64;
            let part = start..start + part.len() as u64;
            let bytes = self.read(from.0, &part);
            self.write(to.0, to.1 + (start - from.1), &bytes);
        }
        self.discard(from.0, &range);
    }

    /// Inverts what is stored where that is due.
    pub fn corrupt_until(&mut self, now: SimTime) {
        if self.corruptions.iter().all(|one| one.at > now) {
            return;
        }
        let all = std::mem::take(&mut self.corruptions);
        let (due, later) = all.into_iter().partition(|one| one.at <= now);
        self.corruptions = later;
        let due: Vec<Corruption> = due;
        for Corruption { disk, range, .. } in due {
            let chunks = self.chunks.range_mut(chunks_of(disk, &range));
            for ((_, number), chunk) in chunks {
                for at in part_of(&range, *number) {
                    if chunk.stored & 1 << (at as u64 / SECTOR_BYTES) != 0 {
                        chunk.bytes[at] = !chunk.bytes[at];
                    }
                }
            }
        }
    }
}

/// The chunks that a range touches.
fn chunks_of(disk: usize, range: &Range<u64>) -> Range<(usize, u64)> {
    let first = range.start / CHUNK_BYTES;
    (disk, first)..(disk, range.end.div_ceil(CHUNK_BYTES).max(first))
}

/// Whether the disks keep the data of this plan.
pub(super) fn verifies(plan: &Plan) -> bool {
    plan.jobs.iter().any(|job| job.verify.is_some())
}

/// Whether the disks can keep what the jobs of a plan may write.
///
/// # Errors
/// How much that is, and what to lower.
pub(super) fn check_amount(plan: &Plan, files: &FileTree) -> Result<(), String> {
    let mut parts: Vec<(&Job, u64)> = Vec::new();
    let writing = plan.jobs.iter();
    for job in writing.filter(|job| job.pattern.traffic.uses(Direction::Write)) {
        let bytes = bytes_to_keep(job, files);
        let is_same = |other: &&mut (&Job, u64)| {
            let (a, b) = (&other.0.files, &job.files);
            a.paths == b.paths
                && (a.offset, a.size) == (b.offset, b.size)
                && b.offset_increment == Extent::default()
        };
        match parts.iter_mut().find(is_same) {
            Some(same) => same.1 = same.1.max(bytes),
            None => parts.push((job, bytes)),
        }
    }
    let total = parts
        .iter()
        .fold(0, |sum: u64, part| sum.saturating_add(part.1));
    if total <= MAX_KEPT_BYTES {
        return Ok(());
    }
    Err(format!(
        "verify: the jobs may write {:.1} GiB, and simulated disks keep at most {:.0} GiB of data for a verification; lower size, \
         io_size or number_ios",
        total as f64 / GIB_BYTES,
        MAX_KEPT_BYTES as f64 / GIB_BYTES
    ))
}

/// The most bytes of memory that hold what a job writes.
fn bytes_to_keep(job: &Job, files: &FileTree) -> u64 {
    let whole = job.files.paths.iter().map(|path| match files.node(path) {
        Node::File(file) => file.extent.size,
        Node::Device(volume) | Node::Directory(volume) | Node::Missing(volume) => {
            files.volumes().get(volume).map_or(0, |one| one.capacity)
        }
        Node::Nowhere => 0,
    });
    let whole = whole.fold(0, u64::saturating_add);
    let region = job.files.size.of(Bytes::new(whole));
    let mut least = region.get();
    let limits = &job.limits;
    if !(limits.time_based && limits.runtime.is_some()) {
        let loops = limits.loops.max(1);
        let amount = limits.io_size.map(|size| size.of(region).get());
        let largest = u64::from(job.pattern.block_size[Direction::Write].max()).max(CHUNK_BYTES);
        let ios = limits.ios.map(|ios| ios.saturating_mul(largest));
        let amounts = [amount, ios].into_iter().flatten();
        let amounts = amounts.map(|amount| amount.saturating_mul(loops));
        least = amounts.fold(least, u64::min);
    }
    least
}

#[cfg(test)]
mod tests {
    use fathom_model::Nanos;

    use super::*;

    fn request(id: u64, op: SimOp, offset: u64, bytes: u32) -> SimRequest {
        SimRequest {
            id,
            op,
            offset,
            bytes,
            fua: false,
        }
    }

    /// Submits a request and completes it at `now`.
    fn carry_out(contents: &mut Contents, now: u64, request: SimRequest, fate: Fate, bytes: &[u8]) {
        contents.submitted(0, &request, fate, bytes);
        let done = SimCompletion {
            id: request.id,
            at: now,
            failed: false,
        };
        contents.completed(now, &done);
    }

    fn write(contents: &mut Contents, offset: u64, bytes: &[u8], fate: Fate) {
        let request = request(1, SimOp::Write, offset, bytes.len() as u32);
        carry_out(contents, 0, request, fate, bytes);
    }

    fn read(contents: &mut Contents, now: u64, offset: u64, bytes: u32) -> Vec<u8> {
        carry_out(
            contents,
            now,
            request(2, SimOp::Read, offset, bytes),
            Fate::Lands,
            &[],
        );
        contents.take_found(2).expect("a read finds something")
    }

    #[test]
    fn what_was_written_is_read_and_the_rest_is_zeros() {
        let mut contents = Contents::default();
        write(&mut contents, 4000, &[7; 200], Fate::Lands);
        let mut expected = vec![0; 300];
        expected[50..250].fill(7);
        assert_eq!(read(&mut contents, 0, 3950, 300), expected);
        carry_out(
            &mut contents,
            0,
            request(3, SimOp::Trim, 4096, 4096),
            Fate::Lands,
            &[],
        );
        expected[146..].fill(0);
        assert_eq!(read(&mut contents, 0, 3950, 300), expected);
    }

    #[test]
    fn a_write_lands_as_its_fate_says() {
        for (fate, first, behind) in [
            (Fate::Lands, [1; 4], [0; 4]),
            (Fate::Torn { keep: 3 }, [1, 1, 1, 9], [0; 4]),
            (Fate::Torn { keep: 100 }, [1; 4], [0; 4]),
            (Fate::Lost, [9; 4], [0; 4]),
            (Fate::Misplaced { by: 8192 }, [9; 4], [1; 4]),
        ] {
            let mut contents = Contents::default();
            write(&mut contents, 512, &[9; 4], Fate::Lands);
            write(&mut contents, 512, &[1; 4], fate);
            assert_eq!(read(&mut contents, 0, 512, 4), first, "{fate:?}");
            assert_eq!(read(&mut contents, 0, 8704, 4), behind, "{fate:?}");
        }
    }

    /// Two writes of the same bytes: the one that completes last decides, whichever was submitted first. A read between them sees the other.
    #[test]
    fn overlapping_requests_take_effect_in_the_order_of_their_completions() {
        let mut contents = Contents::default();
        let writes = [1, 2].map(|id| request(id, SimOp::Write, 0, 2));
        contents.submitted(0, &writes[0], Fate::Lands, &[1, 1]);
        contents.submitted(0, &writes[1], Fate::Lands, &[2, 2]);
        contents.submitted(0, &request(3, SimOp::Read, 0, 2), Fate::Lands, &[]);
        let complete = |contents: &mut Contents, id, failed| {
            let done = SimCompletion { id, at: 5, failed };
            contents.completed(5, &done);
        };
        complete(&mut contents, 2, false);
        complete(&mut contents, 3, false);
        complete(&mut contents, 1, false);
        assert_eq!(contents.take_found(3), Some(vec![2, 2]));
        assert_eq!(contents.take_found(3), None);
        contents.submitted(0, &request(4, SimOp::Write, 0, 2), Fate::Lands, &[4, 4]);
        complete(&mut contents, 4, true);
        assert_eq!(read(&mut contents, 5, 0, 2), [1, 1]);
    }

    #[test]
    fn bits_flip_once_and_only_in_what_is_stored() {
        let corruption = Event::data_corrupted(Nanos::new(10), 0, 510..2000);
        let mut contents = Contents::new(&[corruption]);
        write(&mut contents, 0, &[1; 1024], Fate::Lands);
        assert_eq!(read(&mut contents, 9, 508, 4), [1; 4]);
        assert_eq!(read(&mut contents, 10, 508, 4), [1, 1, 254, 254]);
        assert_eq!(read(&mut contents, 11, 1022, 4), [254, 254, 0, 0]);
        write(&mut contents, 510, &[3], Fate::Lands);
        assert_eq!(read(&mut contents, 12, 510, 2), [3, 254]);
    }

    #[test]
    fn a_file_that_moves_takes_its_bytes_with_it() {
        let mut contents = Contents::default();
        write(&mut contents, 4096, &[5; 5000], Fate::Lands);
        contents.relocate((0, 4096), (1, 512), 4500);
        assert_eq!(contents.read(1, &(512..5012)), [5; 4500]);
        assert_eq!(contents.read(1, &(5012..5512)), [0; 500]);
        assert_eq!(contents.read(0, &(4096..8596)), [0; 4500]);
        assert_eq!(contents.read(0, &(8596..9096)), [5; 500]);
    }
}
