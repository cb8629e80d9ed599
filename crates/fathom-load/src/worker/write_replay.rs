//! Walks what was written a second time, to say for each block which write should be found there.

use crate::engine::Op;
use crate::script::{Draft, Script};
use crate::verify::SECTOR;

/// Writes noted at once by a [`Ledger`]: 64 MiB, whatever the size of the target.
const NOTED: usize = 4 << 20;

/// A place in the script from which on writes have not been verified.
#[derive(Clone)]
pub(super) struct Mark {
    pub script: Script,
    /// Number of the first write.
    pub number: u64,
    /// Pass of the first write, from 1.
    pub generation: u32,
    pub drawn: u64,
    pub full: bool,
    /// A pass ended in it.
    pub ended: bool,
}

impl Mark {
    /// The place `drafts` further on.
    pub fn moved_on(&self, drafts: u64) -> Mark {
        let mut walk = Walk::new(self.clone(), drafts);
        while walk.next().is_some() {}
        let mut mark = Mark {
            number: walk.number,
            generation: walk.generation,
            ..self.clone()
        };
        let (mut left, mut skipped) = (drafts, Vec::new());
        while left > 0 {
            skipped.clear();
            match mark.script.fill(&mut skipped, left.min(256) as usize) as u64 {
                0 => break,
                drawn => left = left.saturating_sub(drawn),
            }
        }
        mark
    }
}

/// A write to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpectedWrite {
    pub file: u32,
    pub offset: u64,
    pub len: u32,
    pub number: u64,
    /// Where every block is written once a pass.
    pub generation: Option<u32>,
    /// The write of the same place before it, where it is known.
    pub before: Option<u64>,
}

/// How a stretch of the script is walked again.
pub(super) enum Replay {
    /// In its own order: no place was written twice.
    Once(Walk),
    /// Place by place, with the last write of each.
    Latest(Box<Ledger>),
    /// Those of a log.
    Listed(std::vec::IntoIter<ExpectedWrite>),
}

impl Replay {
    /// The next write to look for.
    pub fn next(&mut self) -> Option<ExpectedWrite> {
        match self {
            Replay::Once(walk) => walk.next(),
            Replay::Latest(ledger) => ledger.next(),
            Replay::Listed(list) => list.next(),
        }
    }
}

/// A stretch of the script, draft by draft.
#[derive(Clone)]
pub(super) struct Walk {
    script: Script,
    left: u64,
    number: u64,
    generation: u32,
    drafts: Vec<Draft>,
    next: usize,
}

impl Walk {
    /// The first `left` drafts from the mark on.
    pub fn new(mark: Mark, left: u64) -> Self {
        let Mark {
            script,
            number,
            generation,
            ..
        } = mark;
        Walk {
            script,
            left,
            number,
            generation,
            drafts: Vec::new(),
            next: 0,
        }
    }

    /// The next write of the stretch.
    pub fn next(&mut self) -> Option<ExpectedWrite> {
        while self.left > 0 {
            if self.next == self.drafts.len() && !self.refill() {
                return None;
            }
            let draft = self.drafts[self.next];
            self.next += 1;
            self.left -= 1;
            if draft.op == Op::Write || draft.then_write {
                let number = self.number;
                self.number += 1;
                let Draft {
                    file, offset, len, ..
                } = draft;
                return Some(ExpectedWrite {
                    file,
                    offset,
                    len,
                    number,
                    generation: Some(self.generation),
                    before: None,
                });
            }
        }
        None
    }

    fn refill(&mut self) -> bool {
        self.drafts.clear();
        self.next = 0;
        let mut tries = 0;
        while self.script.fill(&mut self.drafts, 256) == 0 && tries < 2 {
            self.generation += 1;
            tries += 1;
        }
        !self.drafts.is_empty()
    }
}

/// The last write of each place of a stretch in which places are written more than once.
///
/// Memory is bounded: it notes the writes of one range of places at a time, as large a range as it has room for, and
/// walks the script again for the next range. Exact at any size, for one more walk per two million places or so.
pub(super) struct Ledger {
    start: Walk,
    /// Bytes of one place.
    grain: u64,
    /// Places below this are done.
    done: u64,
    /// (place, number of a write), sorted; at most the last two writes of each place.
    noted: Vec<(u64, u64)>,
    next: usize,
    most: usize,
    over: bool,
    /// One past the last noted place of this range.
    end: u64,
}

/// Files are told apart in the upper bits of a place.
const FILE_SHIFT: u32 = 44;

impl Ledger {
    /// For the writes of `start`, whose offsets and lengths are multiples of `grain` bytes.
    pub fn new(start: Walk, grain: u32) -> Self {
        Self::bounded(start, grain, NOTED)
    }

    fn bounded(start: Walk, grain: u32, most: usize) -> Self {
        let grain = u64::from(grain).max(SECTOR as u64);
        Ledger {
            start,
            grain,
            done: 0,
            noted: Vec::new(),
            next: 0,
            most,
            over: false,
            end: 0,
        }
    }

    fn next(&mut self) -> Option<ExpectedWrite> {
        if self.next == self.noted.len() && (self.over || !self.note_a_range()) {
            return None;
        }
        let (place, mut number) = self.noted[self.next];
        self.next += 1;
        let mut before = None;
        if let Some((_, later)) = self.noted.get(self.next).filter(|(next, _)| *next == place) {
            before = Some(std::mem::replace(&mut number, *later));
            self.next += 1;
        }
        let (file, unit) = (
            (place >> FILE_SHIFT) as u32,
            place & ((1 << FILE_SHIFT) - 1),
        );
        Some(ExpectedWrite {
            file,
            offset: unit * self.grain,
            len: self.grain as u32,
            number,
            generation: None,
            before,
        })
    }

    /// Notes the writes of the next range. False when there are none.
    fn note_a_range(&mut self) -> bool {
        self.noted.clear();
        self.next = 0;
        self.end = u64::MAX;
        let mut walk = self.start.clone();
        while let Some(write) = walk.next() {
            let first = u64::from(write.file) << FILE_SHIFT | write.offset / self.grain;
            for place in first..first + u64::from(write.len) / self.grain {
                self.note(place, write.number);
            }
        }
        self.condense();
        self.done = self.end;
        self.over = self.end == u64::MAX;
        !self.noted.is_empty()
    }

    fn note(&mut self, place: u64, number: u64) {
        if place < self.done || place >= self.end {
            return;
        }
        if self.noted.len() == self.most {
            self.condense();
            self.make_room();
            if place >= self.end {
                return;
            }
        }
        self.noted.push((place, number));
    }

    /// Keeps the last two writes of each place.
    fn condense(&mut self) {
        self.noted.sort_unstable();
        let mut kept = 0;
        for at in 0..self.noted.len() {
            let place = self.noted[at].0;
            let later = self
                .noted
                .get(at + 1..at + 3)
                .is_some_and(|two| two.iter().all(|(next, _)| *next == place));
            if !later {
                self.noted[kept] = self.noted[at];
                kept += 1;
            }
        }
        self.noted.truncate(kept);
    }

    /// Leaves the upper places to a later range until half is free.
    fn make_room(&mut self) {
        let half = self.most / 2;
        if self.noted.len() > half {
            self.end = self.noted[half].0.max(self.noted[0].0 + 1);
            let kept = self.noted.partition_point(|(place, _)| *place < self.end);
            self.noted.truncate(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fathom_model::{Access, PerDirection, Traffic};

    use super::*;
    use crate::script::{Region, build};

    fn script(blocks: u64) -> Script {
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
        )
        .expect("a script")
    }

    /// The model: a map from place to its last two writes, filled by hand.
    fn model(blocks: u64, writes: u64) -> BTreeMap<u64, (u64, Option<u64>)> {
        let mut walk = walk(blocks, writes);
        let mut last: BTreeMap<u64, (u64, Option<u64>)> = BTreeMap::new();
        while let Some(write) = walk.next() {
            let before = last.get(&write.offset).map(|(number, _)| *number);
            last.insert(write.offset, (write.number, before));
        }
        last
    }

    fn walk(blocks: u64, writes: u64) -> Walk {
        Walk::new(
            Mark {
                script: script(blocks),
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
    fn the_last_write_of_each_place_is_known_in_bounded_memory() {
        for (blocks, writes, most) in [
            (100, 1000, 64),
            (1000, 700, 4096),
            (5000, 20_000, 500),
            (3, 50, 4),
        ] {
            let mut ledger = Ledger::bounded(walk(blocks, writes), 4096, most);
            let mut found = BTreeMap::new();
            while let Some(write) = ledger.next() {
                assert!(
                    ledger.noted.capacity() <= most.next_power_of_two().max(8),
                    "{}",
                    ledger.noted.capacity()
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
                "{blocks} blocks, {writes} writes, {most} noted"
            );
        }
    }
}
