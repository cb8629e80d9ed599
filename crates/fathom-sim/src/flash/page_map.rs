//! Page mapping with greedy garbage collection, at a bounded cost of memory.
//!
//! Up to 1 GiB every page of 4 KiB is mapped. A larger device is sampled: one page of each run of
//! `stride` pages, at a pseudo-random place in the run, goes through the same mapping with the same
//! over-provisioning. A write stream keeps its order, its skew and the share of pages that it
//! overwrites in such a sample, so that the share of valid pages in collected blocks, and with it
//! the write amplification, is that of the whole device. (Sampling by address: Waldspurger et
//! al., FAST 2015, use it for caches.) A mapped page takes 4 bytes, and 4 bytes per physical page:
//! 2.4 MiB for 1 GiB at 30 % over-provisioning, and no more for any larger device.

use crate::random::Random;

/// Pages that are mapped at most.
const SAMPLE_PAGES: u64 = 1 << 18;

/// Blocks beyond the over-provisioning: two that are being filled and one that is free. In a real
/// device they are a negligible share.
const SPARE_BLOCKS: u32 = 3;

const UNMAPPED: u32 = u32::MAX;

/// What collecting the last block cost, spread over the writes for which it made room.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Collection {
    /// Pages copied per page that the host writes.
    pub copies_per_page: f64,
    /// Whether blocks are erased to make room.
    pub erasing: bool,
}

#[derive(Clone, Debug)]
pub(super) struct PageMap {
    stride: u64,
    pages: u64,
    block_pages: u32,
    /// Physical page of each sampled logical page.
    physical: Vec<u32>,
    /// Logical page of each physical page.
    logical: Vec<u32>,
    valid: Vec<u32>,
    buckets: Buckets,
    free: Vec<u32>,
    /// The blocks being filled with host pages and with copies, and their next pages.
    host_block: (u32, u32),
    copy_block: (u32, u32),
    written: u64,
    copied: u64,
    latest: Collection,
}

impl PageMap {
    pub fn new(pages: u64, over_provisioning: f64) -> Self {
        let stride = pages.div_ceil(SAMPLE_PAGES).max(1);
        let sampled = pages.div_ceil(stride) as u32;
        let block_pages = (sampled / 512).clamp(4, 256);
        let physical_pages = f64::from(sampled) * (1.0 + over_provisioning);
        let blocks = (physical_pages / f64::from(block_pages)).ceil() as u32 + SPARE_BLOCKS;
        let mut free: Vec<u32> = (0..blocks).rev().collect();
        let host = free.pop().unwrap_or(0);
        let copy = free.pop().unwrap_or(0);
        PageMap {
            stride,
            pages,
            block_pages,
            physical: vec![UNMAPPED; sampled as usize],
            logical: vec![UNMAPPED; (blocks * block_pages) as usize],
            valid: vec![0; blocks as usize],
            buckets: Buckets::new(blocks, block_pages),
            free,
            host_block: (host, 0),
            copy_block: (copy, 0),
            written: 0,
            copied: 0,
            latest: Collection::default(),
        }
    }

    /// Writes every page once, in order.
    pub fn fill(&mut self) {
        for page in 0..self.physical.len() as u32 {
            self.write_sampled(page);
        }
        self.reset_counts();
    }

    /// Overwrites pages at random, `times` as many as the device has.
    pub fn overwrite(&mut self, times: f64, random: &mut Random) {
        let sampled = self.physical.len() as u64;
        for _ in 0..(sampled as f64 * times) as u64 {
            let page = random.below(sampled) as u32;
            self.write_sampled(page);
        }
        self.reset_counts();
    }

    /// Writes `count` pages from `first`.
    pub fn write(&mut self, first: u64, count: u64) -> Collection {
        self.for_sampled(first, count, Self::write_sampled);
        self.latest
    }

    /// Unmaps `count` pages from `first`.
    pub fn trim(&mut self, first: u64, count: u64) {
        self.for_sampled(first, count, |map, page| {
            map.invalidate(page);
            map.physical[page as usize] = UNMAPPED;
        });
    }

    /// Programmed pages per page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        if self.written == 0 {
            1.0
        } else {
            (self.written + self.copied) as f64 / self.written as f64
        }
    }

    pub fn reset_counts(&mut self) {
        (self.written, self.copied) = (0, 0);
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let words = self.physical.len() + self.logical.len() + self.valid.len() + self.free.len();
        4 * (words + self.buckets.words()) as u64
    }

    fn for_sampled(&mut self, first: u64, count: u64, mut each: impl FnMut(&mut Self, u32)) {
        let end = (first + count).min(self.pages);
        if self.stride == 1 {
            for page in first..end {
                each(self, page as u32);
            }
            return;
        }
        for run in first / self.stride..end.div_ceil(self.stride) {
            let start = run * self.stride;
            // The last run may be short: its sampled page has to exist.
            let length = self.stride.min(self.pages - start);
            let page = start + mix(run) % length;
            if (first..end).contains(&page) {
                each(self, run as u32);
            }
        }
    }

    fn write_sampled(&mut self, page: u32) {
        self.written += 1;
        self.invalidate(page);
        if self.host_block.1 == self.block_pages {
            self.buckets
                .insert(self.host_block.0, self.valid[self.host_block.0 as usize]);
            if self.free.len() < 2 {
                self.collect();
            }
            let block = self.free.pop().expect("collecting frees a block");
            self.host_block = (block, 0);
        }
        let (block, next) = self.host_block;
        self.place(page, block, next);
        self.host_block.1 += 1;
    }

    fn invalidate(&mut self, page: u32) {
        let old = self.physical[page as usize];
        if old == UNMAPPED {
            return;
        }
        self.logical[old as usize] = UNMAPPED;
        let block = old / self.block_pages;
        self.valid[block as usize] -= 1;
        self.buckets.lower(block, self.valid[block as usize]);
    }

    fn place(&mut self, page: u32, block: u32, next: u32) {
        let physical = block * self.block_pages + next;
        self.physical[page as usize] = physical;
        self.logical[physical as usize] = page;
        self.valid[block as usize] += 1;
    }

    /// Collects the blocks with the fewest valid pages until one more block is free.
    fn collect(&mut self) {
        let (mut copied, mut gained) = (0_u64, 0_u64);
        while self.free.len() < 2 {
            let Some(victim) = self.buckets.take_lowest() else {
                break;
            };
            let valid = self.valid[victim as usize];
            copied += u64::from(valid);
            gained += u64::from(self.block_pages - valid);
            for next in 0..self.block_pages {
                let page = self.logical[(victim * self.block_pages + next) as usize];
                if page != UNMAPPED {
                    self.copy(page, victim);
                }
            }
            self.valid[victim as usize] = 0;
            self.free.push(victim);
        }
        self.copied += copied;
        self.latest = Collection {
            copies_per_page: copied as f64 / gained.max(1) as f64,
            erasing: true,
        };
    }

    fn copy(&mut self, page: u32, from: u32) {
        if self.copy_block.1 == self.block_pages {
            self.buckets
                .insert(self.copy_block.0, self.valid[self.copy_block.0 as usize]);
            let block = self.free.pop().expect("a free block is kept for copies");
            self.copy_block = (block, 0);
        }
        self.logical[self.physical[page as usize] as usize] = UNMAPPED;
        self.valid[from as usize] -= 1;
        let (block, next) = self.copy_block;
        self.place(page, block, next);
        self.copy_block.1 += 1;
    }
}

/// Full blocks, in one list for each number of valid pages: the lowest is found without a search.
#[derive(Clone, Debug)]
struct Buckets {
    first: Vec<u32>,
    before: Vec<u32>,
    after: Vec<u32>,
    /// The list that each block is in; `ABSENT` while it is being filled or free.
    list: Vec<u32>,
    lowest: u32,
}

const ABSENT: u32 = u32::MAX;

impl Buckets {
    fn new(blocks: u32, block_pages: u32) -> Self {
        Buckets {
            first: vec![ABSENT; block_pages as usize + 1],
            before: vec![ABSENT; blocks as usize],
            after: vec![ABSENT; blocks as usize],
            list: vec![ABSENT; blocks as usize],
            lowest: 0,
        }
    }

    fn words(&self) -> usize {
        self.first.len() + 3 * self.list.len()
    }

    fn insert(&mut self, block: u32, valid: u32) {
        let head = self.first[valid as usize];
        self.before[block as usize] = ABSENT;
        self.after[block as usize] = head;
        if head != ABSENT {
            self.before[head as usize] = block;
        }
        self.first[valid as usize] = block;
        self.list[block as usize] = valid;
        self.lowest = self.lowest.min(valid);
    }

    fn remove(&mut self, block: u32) {
        let (before, after) = (self.before[block as usize], self.after[block as usize]);
        if before == ABSENT {
            self.first[self.list[block as usize] as usize] = after;
        } else {
            self.after[before as usize] = after;
        }
        if after != ABSENT {
            self.before[after as usize] = before;
        }
        self.list[block as usize] = ABSENT;
    }

    /// The block has `valid` pages now; a block that is being filled is in no list.
    fn lower(&mut self, block: u32, valid: u32) {
        if self.list[block as usize] != ABSENT {
            self.remove(block);
            self.insert(block, valid);
        }
    }

    fn take_lowest(&mut self) -> Option<u32> {
        while *self.first.get(self.lowest as usize)? == ABSENT {
            self.lowest += 1;
        }
        let block = self.first[self.lowest as usize];
        self.remove(block);
        Some(block)
    }
}

/// The finaliser of SplitMix64: a fixed pseudo-random number for each argument.
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Which pages hold data: one bit per page, in pieces that exist only where data was written.
#[derive(Debug)]
pub(super) struct Mapped {
    /// `None` when all pages hold data.
    pieces: Option<Vec<Option<Box<[u64; PIECE_WORDS]>>>>,
    pages: u64,
    used: u64,
}

const PIECE_WORDS: usize = 512;
const PIECE_PAGES: u64 = PIECE_WORDS as u64 * 64;

impl Mapped {
    pub fn all(pages: u64) -> Self {
        Mapped {
            pieces: None,
            pages,
            used: pages,
        }
    }

    pub fn none(pages: u64) -> Self {
        Mapped {
            pieces: Some(vec![None; pages.div_ceil(PIECE_PAGES) as usize]),
            pages,
            used: 0,
        }
    }

    pub fn contains(&self, page: u64) -> bool {
        let Some(pieces) = &self.pieces else {
            return true;
        };
        pieces[(page / PIECE_PAGES) as usize]
            .as_ref()
            .is_some_and(|piece| piece[(page % PIECE_PAGES / 64) as usize] >> (page % 64) & 1 == 1)
    }

    /// Marks the pages as holding data, or not.
    pub fn set(&mut self, first: u64, count: u64, data: bool) {
        if self.pieces.is_none() {
            if data {
                return;
            }
            // The first trim of a full device: from here on each page has its bit.
            let pieces = self.pages.div_ceil(PIECE_PAGES) as usize;
            self.pieces = Some(vec![Some(Box::new([u64::MAX; PIECE_WORDS])); pieces]);
        }
        let pieces = self.pieces.as_mut().expect("made above");
        let mut page = first;
        let end = first + count;
        while page < end {
            let piece = &mut pieces[(page / PIECE_PAGES) as usize];
            let word_end = ((page / 64 + 1) * 64).min(end);
            if piece.is_none() && !data {
                page = ((page / PIECE_PAGES + 1) * PIECE_PAGES).min(end);
                continue;
            }
            let piece = piece.get_or_insert_with(|| Box::new([0; PIECE_WORDS]));
            let bits = (word_end - page) as u32;
            let mask = (u64::MAX >> (64 - bits)) << (page % 64);
            let word = &mut piece[(page % PIECE_PAGES / 64) as usize];
            if data {
                self.used += u64::from((mask & !*word).count_ones());
                *word |= mask;
            } else {
                self.used -= u64::from((mask & *word).count_ones());
                *word &= !mask;
            }
            page = word_end;
        }
    }

    /// Pages that hold data.
    pub fn used(&self) -> u64 {
        self.used
    }

    pub fn memory_bytes(&self) -> u64 {
        self.pieces.as_ref().map_or(0, |pieces| {
            let made = pieces.iter().flatten().count() as u64;
            8 * pieces.len() as u64 + made * PIECE_PAGES / 8
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of a set of ranges equal those of a plain list of flags.
    #[test]
    fn mapped_pages_equal_a_list_of_flags() {
        let pages = 3 * PIECE_PAGES + 100;
        let mut random = Random::new(7);
        for full in [false, true] {
            let mut mapped = if full {
                Mapped::all(pages)
            } else {
                Mapped::none(pages)
            };
            let mut flags = vec![full; pages as usize];
            for _ in 0..200 {
                let first = random.below(pages);
                let count = random.below(20_000).min(pages - first);
                let data = random.below(2) == 0;
                mapped.set(first, count, data);
                flags[first as usize..(first + count) as usize].fill(data);
            }
            for (page, flag) in flags.iter().enumerate() {
                assert_eq!(mapped.contains(page as u64), *flag, "{page}");
            }
            assert_eq!(
                mapped.used(),
                flags.iter().filter(|flag| **flag).count() as u64
            );
        }
    }

    /// Each mapped page has one physical page, and the valid counts add up, whatever is written
    /// and trimmed.
    #[test]
    fn the_map_stays_consistent() {
        for (pages, over_provisioning) in [(4096, 0.07), (20_000, 0.28), (3_000_000, 0.15)] {
            let mut map = PageMap::new(pages, over_provisioning);
            let mut random = Random::new(pages);
            let mut mapped = vec![false; map.physical.len()];
            for _ in 0..400_000 {
                let first = random.below(pages);
                let count = (1 + random.below(64)).min(pages - first);
                let trim = random.below(10) == 0;
                map.for_sampled(first, count, |_, page| mapped[page as usize] = !trim);
                if trim {
                    map.trim(first, count);
                } else {
                    map.write(first, count);
                }
            }
            for (page, is_mapped) in mapped.iter().enumerate() {
                let physical = map.physical[page];
                assert_eq!(physical != UNMAPPED, *is_mapped);
                if *is_mapped {
                    assert_eq!(map.logical[physical as usize], page as u32);
                }
            }
            let valid: u32 = map.valid.iter().sum();
            assert_eq!(valid as usize, mapped.iter().filter(|page| **page).count());
        }
    }
}
