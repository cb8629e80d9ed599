//! Replays the writes of a job to determine which write each block should hold.

use crate::engine::Op;
use crate::io_generator::{IoGenerator, PlannedIo};
use crate::verify::SECTOR;

/// Bytes of a write noted by [`LastWrites`]: as many are noted at once as the memory budget holds, whatever the size of the
/// target.
const NOTED_BYTES: u64 = 16;

/// Consecutive I/Os of a generator whose writes have not been verified.
#[derive(Clone)]
pub(super) struct UnverifiedWrites {
    /// The generator before the first of them.
    pub generator: IoGenerator,
    /// Number of the first write.
    pub number: u64,
    /// Pass of the first write, from 1.
    pub generation: u32,
    /// Number of I/Os.
    pub drawn: u64,
    /// They must be verified before more I/O is generated.
    pub full: bool,
    /// A pass ended among them.
    pub ended: bool,
}

impl UnverifiedWrites {
    /// The same without the first `planned_ios` I/Os.
    pub fn after(&self, planned_ios: u64) -> UnverifiedWrites {
        let mut walk = GeneratedWrites::new(self.clone(), planned_ios);
        while walk.next().is_some() {}
        let mut rest = UnverifiedWrites {
            number: walk.number,
            generation: walk.generation,
            ..self.clone()
        };
        let (mut left, mut skipped) = (planned_ios, Vec::new());
        while left > 0 {
            skipped.clear();
            match rest.generator.fill(&mut skipped, left.min(256) as usize) as u64 {
                0 => break,
                drawn => left = left.saturating_sub(drawn),
            }
        }
        rest
    }
}

/// A write that a block should hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpectedWrite {
    pub file: u32,
    pub offset: u64,
    pub len: u32,
    /// Offset of the whole write, of which this may be a part.
    pub start: u64,
    pub number: u64,
    /// The pass it belongs to, where every block is written once a pass.
    pub generation: Option<u32>,
    /// The number of the write before it at the same block, where known.
    pub before: Option<u64>,
}

/// Unverified writes, to be read back.
pub(super) enum WriteReplay {
    /// In their own order: no block was written twice.
    InOrder(GeneratedWrites),
    /// Block by block, the last write of each.
    LastOfEach(Box<LastWrites>),
    /// As many of the bytes that each write left as its headers can tell apart.
    LastPieces(Box<LastPieces>),
    /// Those of a log.
    Listed(std::vec::IntoIter<ExpectedWrite>),
}

impl WriteReplay {
    /// The next write to read back.
    pub fn next(&mut self) -> Option<ExpectedWrite> {
        match self {
            WriteReplay::InOrder(walk) => walk.next(),
            WriteReplay::LastOfEach(writes) => writes.next(),
            WriteReplay::LastPieces(pieces) => pieces.next(),
            WriteReplay::Listed(list) => list.next(),
        }
    }
}

impl WriteReplay {
    /// Writes so far of which too little was left by later writes to check any of it.
    pub fn unverifiable(&self) -> u64 {
        match self {
            WriteReplay::LastPieces(pieces) => pieces.unverifiable,
            _ => 0,
        }
    }
}

/// Unverified writes, one by one.
#[derive(Clone)]
pub(super) struct GeneratedWrites {
    generator: IoGenerator,
    left: u64,
    number: u64,
    generation: u32,
    planned_ios: Vec<PlannedIo>,
    next: usize,
}

impl GeneratedWrites {
    /// The first `left` of these I/Os.
    pub fn new(unverified: UnverifiedWrites, left: u64) -> Self {
        let UnverifiedWrites {
            generator,
            number,
            generation,
            ..
        } = unverified;
        GeneratedWrites {
            generator,
            left,
            number,
            generation,
            planned_ios: Vec::new(),
            next: 0,
        }
    }

    /// The next write.
    pub fn next(&mut self) -> Option<ExpectedWrite> {
        while self.left > 0 {
            if self.next == self.planned_ios.len() && !self.refill() {
                return None;
            }
            let planned_io = self.planned_ios[self.next];
            self.next += 1;
            self.left -= 1;
            if planned_io.op == Op::Write || planned_io.then_write {
                let number = self.number;
                self.number += 1;
                let PlannedIo {
                    file, offset, len, ..
                } = planned_io;
                return Some(ExpectedWrite {
                    file,
                    offset,
                    len,
                    start: offset,
                    number,
                    generation: Some(self.generation),
                    before: None,
                });
            }
        }
        None
    }

    fn refill(&mut self) -> bool {
        self.planned_ios.clear();
        self.next = 0;
        let mut tries = 0;
        while self.generator.fill(&mut self.planned_ios, 256) == 0 && tries < 2 {
            self.generation += 1;
            tries += 1;
        }
        !self.planned_ios.is_empty()
    }
}

/// The last write of each block, where blocks are written more than once.
///
/// Memory is bounded: it notes the writes of one range of blocks at a time, as large a range as
/// there is memory for, and runs the generator again for the next range. It is exact at any size, at
/// the cost of one walk for about every two million blocks.
pub(super) struct LastWrites {
    start: GeneratedWrites,
    /// Bytes of one block.
    block_size: u64,
    /// Places below this one are done.
    done: u64,
    /// (block, part of a write), sorted; at most the last two writes of each block. A part is the
    /// number of the write, the index of the block in it, and whether it is its last block.
    noted: Vec<(u64, u64)>,
    next: usize,
    max_noted: usize,
    over: bool,
    /// One past the last noted block of this range.
    end: u64,
}

/// The upper bits of a block are the number of its file.
const FILE_SHIFT: u32 = 44;
/// The upper bits of a part are the number of the write.
const NUMBER_SHIFT: u32 = 25;

/// One block and the last write of it.
#[derive(Clone, Copy)]
struct LastWrite {
    file: u32,
    offset: u64,
    number: u64,
    /// The number of the write before it.
    before: Option<u64>,
    /// Which block of the write this is.
    index: u64,
    is_last: bool,
}

impl LastWrites {
    /// The last writes of `start`, whose offsets and lengths are multiples of `granularity` bytes.
    pub fn new(start: GeneratedWrites, granularity: u32, memory_budget: u64) -> Self {
        let max_noted = (memory_budget / NOTED_BYTES) as usize;
        Self::bounded(start, granularity.max(SECTOR as u32), max_noted)
    }

    fn bounded(start: GeneratedWrites, granularity: u32, max_noted: usize) -> Self {
        LastWrites {
            start,
            block_size: u64::from(granularity.max(1)),
            done: 0,
            noted: Vec::new(),
            next: 0,
            max_noted,
            over: false,
            end: 0,
        }
    }

    fn next(&mut self) -> Option<ExpectedWrite> {
        let LastWrite {
            file,
            offset,
            number,
            before,
            ..
        } = self.next_block()?;
        Some(ExpectedWrite {
            file,
            offset,
            len: self.block_size as u32,
            start: offset,
            number,
            generation: None,
            before,
        })
    }

    fn next_block(&mut self) -> Option<LastWrite> {
        if self.next == self.noted.len() && (self.over || !self.note_range()) {
            return None;
        }
        let (block, mut part) = self.noted[self.next];
        self.next += 1;
        let mut before = None;
        if let Some((_, later)) = self.noted.get(self.next).filter(|(next, _)| *next == block) {
            before = Some(std::mem::replace(&mut part, *later) >> NUMBER_SHIFT);
            self.next += 1;
        }
        let (file, unit) = (
            (block >> FILE_SHIFT) as u32,
            block & ((1 << FILE_SHIFT) - 1),
        );
        Some(LastWrite {
            file,
            offset: unit * self.block_size,
            number: part >> NUMBER_SHIFT,
            before,
            index: part >> 1 & ((1 << (NUMBER_SHIFT - 1)) - 1),
            is_last: part & 1 == 1,
        })
    }

    /// Notes the writes of the next range. False when there are none.
    fn note_range(&mut self) -> bool {
        self.noted.clear();
        self.next = 0;
        self.end = u64::MAX;
        let mut walk = self.start.clone();
        while let Some(write) = walk.next() {
            let first = (u64::from(write.file) << FILE_SHIFT) | (write.offset / self.block_size);
            let blocks = u64::from(write.len) / self.block_size;
            for index in 0..blocks {
                let part =
                    write.number << NUMBER_SHIFT | index << 1 | u64::from(index + 1 == blocks);
                self.note(first + index, part);
            }
        }
        self.condense();
        self.done = self.end;
        self.over = self.end == u64::MAX;
        !self.noted.is_empty()
    }

    fn note(&mut self, block: u64, part: u64) {
        if block < self.done || block >= self.end {
            return;
        }
        if self.noted.len() == self.max_noted {
            self.condense();
            self.make_room();
            if block >= self.end {
                return;
            }
        }
        self.noted.push((block, part));
    }

    /// Keeps the last two writes of each block.
    fn condense(&mut self) {
        self.noted.sort_unstable();
        let mut kept = 0;
        for at in 0..self.noted.len() {
            let block = self.noted[at].0;
            let later = self
                .noted
                .get(at + 1..at + 3)
                .is_some_and(|two| two.iter().all(|(next, _)| *next == block));
            if !later {
                self.noted[kept] = self.noted[at];
                kept += 1;
            }
        }
        self.noted.truncate(kept);
    }

    /// Leaves the upper blocks to a later range until half is free.
    fn make_room(&mut self) {
        let half = self.max_noted / 2;
        if self.noted.len() > half {
            self.end = self.noted[half].0.max(self.noted[0].0 + 1);
            let kept = self.noted.partition_point(|(block, _)| *block < self.end);
            self.noted.truncate(kept);
        }
    }
}

/// What is left of each write after all writes, as whole writes, or as whole pieces of
/// `verify_interval` where a later write covers a part.
pub(super) struct LastPieces {
    writes: LastWrites,
    /// Bytes of a piece; 0 if a write is one piece.
    interval: u64,
    ahead: Option<LastWrite>,
    unverifiable: u64,
}

impl LastPieces {
    /// What is left of the writes of `start`, whose offsets and lengths are multiples of
    /// `granularity` bytes.
    pub fn new(
        start: GeneratedWrites,
        granularity: u32,
        interval: u32,
        memory_budget: u64,
    ) -> Self {
        let max_noted = (memory_budget / NOTED_BYTES) as usize;
        LastPieces {
            writes: LastWrites::bounded(start, granularity, max_noted),
            interval: u64::from(interval),
            ahead: None,
            unverifiable: 0,
        }
    }

    fn next(&mut self) -> Option<ExpectedWrite> {
        loop {
            let first = self.ahead.take().or_else(|| self.writes.next_block())?;
            let mut last = first;
            while let Some(block) = self.writes.next_block() {
                let follows = (block.number, block.file, block.index)
                    == (last.number, last.file, last.index + 1);
                if !follows {
                    self.ahead = Some(block);
                    break;
                }
                last = block;
            }
            match self.pieces(first, last) {
                Some(expected) => return Some(expected),
                None => self.unverifiable += 1,
            }
        }
    }

    /// The whole pieces of a write from block `first` to block `last` of it.
    fn pieces(&self, first: LastWrite, last: LastWrite) -> Option<ExpectedWrite> {
        let size = self.writes.block_size;
        let start = first.offset - first.index * size;
        let (mut from, mut to) = (first.offset - start, last.offset + size - start);
        if first.index > 0 || !last.is_last {
            let interval = Some(self.interval).filter(|interval| *interval > 0)?;
            from = from.next_multiple_of(interval);
            // The last piece of a write may be longer than the others.
            if !last.is_last {
                to -= to % interval;
            }
            if from >= to || to - from < interval {
                return None;
            }
        }
        Some(ExpectedWrite {
            file: first.file,
            offset: start + from,
            len: (to - from) as u32,
            start,
            number: first.number,
            generation: None,
            before: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fathom_model::{Access, PerDirection, Personality, Traffic};

    use super::*;
    use crate::io_generator::{Region, build};

    fn generator(blocks: u64) -> IoGenerator {
        let mut job = crate::testing::job(
            Traffic::Write,
            Access::Random {
                every: 1,
                identical: false,
            },
        );
        job.pattern.without_replacement = false;
        job.pattern.random_percent = PerDirection::all(100);
        build(
            &job,
            &[Region {
                start: 0,
                end: blocks * 4096,
            }],
            Personality::Fathom,
        )
        .expect("a generator")
    }

    /// A simple model: a map from each block to its last two writes.
    fn model(blocks: u64, writes: u64) -> BTreeMap<u64, (u64, Option<u64>)> {
        let mut walk = walk(blocks, writes);
        let mut last: BTreeMap<u64, (u64, Option<u64>)> = BTreeMap::new();
        while let Some(write) = walk.next() {
            let before = last.get(&write.offset).map(|(number, _)| *number);
            last.insert(write.offset, (write.number, before));
        }
        last
    }

    fn walk(blocks: u64, writes: u64) -> GeneratedWrites {
        GeneratedWrites::new(
            UnverifiedWrites {
                generator: generator(blocks),
                number: 1,
                generation: 1,
                drawn: writes,
                full: true,
                ended: false,
            },
            writes,
        )
    }

    #[test]
    fn the_last_write_of_each_place_is_found_in_bounded_memory() {
        for (blocks, writes, max_noted) in [
            (100, 1000, 64),
            (1000, 700, 4096),
            (5000, 20_000, 500),
            (3, 50, 4),
        ] {
            let mut last = LastWrites::bounded(walk(blocks, writes), 4096, max_noted);
            let mut found = BTreeMap::new();
            while let Some(write) = last.next() {
                assert!(
                    last.noted.capacity() <= max_noted.next_power_of_two().max(8),
                    "{}",
                    last.noted.capacity()
                );
                assert_eq!(write.len, 4096);
                assert!(
                    found
                        .insert(write.offset, (write.number, write.before))
                        .is_none(),
                    "{} twice",
                    write.offset
                );
            }
            assert_eq!(
                found,
                model(blocks, writes),
                "{blocks} blocks, {writes} writes, {max_noted} noted"
            );
        }
    }
}
