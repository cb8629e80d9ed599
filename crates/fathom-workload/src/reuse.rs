//! Reuse distances and the miss-ratio curve with fixed-size SHARDS (Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC
//! Construction with SHARDS", FAST 2015): blocks are sampled by their hash, so that all accesses of a sampled block are seen.

use std::collections::BinaryHeap;

use crate::hash::{NumberMap, mix};

/// Bytes of a block: of footprint, working set, reuse and popularity.
pub const BLOCK: u64 = 4096;
/// Sampled blocks at most; the error of a miss ratio is about 1/sqrt of this.
const SAMPLES: usize = 32 << 10;
/// Slots of the order of accesses; compacted when used up.
const SLOTS: usize = 4 * SAMPLES;
/// Buckets of distances per power of two.
const PER_OCTAVE: f64 = 8.0;
/// Blocks of one I/O that are looked at: 16 MiB.
const LARGEST: u64 = 4096;

#[derive(Clone, Copy)]
struct Sample {
    slot: u32,
    window: u32,
}

/// Sampled accesses to blocks.
pub(crate) struct Reuse {
    blocks: NumberMap<u64, Sample>,
    /// Blocks by hash, the largest first.
    by_hash: BinaryHeap<(u64, u64)>,
    /// Blocks whose hash is below are sampled.
    threshold: u64,
    /// Sums over the slots that hold the last access of a block (Fenwick tree).
    tree: Vec<u32>,
    next: usize,
    /// Weighted accesses by the logarithm of their distance in blocks.
    distances: Vec<f64>,
    /// Weighted first accesses.
    cold: f64,
    /// All accesses, sampled or not.
    accesses: u64,
    window: u32,
    window_blocks: f64,
    window_sum: f64,
    windows: u64,
    window_max: f64,
}

impl Default for Reuse {
    fn default() -> Self {
        Reuse {
            blocks: NumberMap::default(),
            by_hash: BinaryHeap::new(),
            threshold: u64::MAX,
            tree: vec![0; SLOTS + 1],
            next: 0,
            distances: Vec::new(),
            cold: 0.0,
            accesses: 0,
            window: 0,
            window_blocks: 0.0,
            window_sum: 0.0,
            windows: 0,
            window_max: 0.0,
        }
    }
}

impl Reuse {
    fn add_at(&mut self, slot: usize, value: i32) {
        let mut at = slot + 1;
        while at <= SLOTS {
            self.tree[at] = self.tree[at].wrapping_add_signed(value);
            at += at & at.wrapping_neg();
        }
    }

    /// Blocks whose last access is in a slot up to this one.
    fn up_to(&self, slot: usize) -> u32 {
        let (mut at, mut sum) = (slot + 1, 0);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }

    /// Gives the blocks consecutive slots in the order of their last access.
    fn compact(&mut self) {
        let mut order: Vec<(u32, u64)> = self
            .blocks
            .iter()
            .map(|(block, sample)| (sample.slot, *block))
            .collect();
        order.sort_unstable();
        self.tree.fill(0);
        self.next = order.len();
        for (slot, (_, block)) in order.into_iter().enumerate() {
            if let Some(sample) = self.blocks.get_mut(&block) {
                sample.slot = slot as u32;
            }
            self.add_at(slot, 1);
        }
    }

    /// One in how many blocks is sampled.
    fn factor(&self) -> f64 {
        u64::MAX as f64 / self.threshold as f64
    }

    /// The accesses of an I/O; `second` is the window of the working set.
    pub fn add(&mut self, device: u32, offset: u64, length: u32, second: u32) {
        if second != self.window {
            self.end_window();
            self.window = second;
        }
        let first = offset / BLOCK;
        let last = offset.saturating_add(u64::from(length).saturating_sub(1)) / BLOCK;
        for number in first..=last.min(first + LARGEST - 1) {
            self.accesses += 1;
            let block = number ^ u64::from(device) << 52;
            let hash = mix(block.wrapping_add(0x9e37_79b9_7f4a_7c15));
            if hash < self.threshold {
                self.sampled(block, hash);
            }
        }
    }

    fn sampled(&mut self, block: u64, hash: u64) {
        if self.next == SLOTS {
            self.compact();
        }
        let weight = self.factor();
        let slot = self.next;
        self.next += 1;
        let sample = Sample {
            slot: slot as u32,
            window: self.window,
        };
        let old = self.blocks.insert(block, sample);
        if old.is_none_or(|old| old.window != self.window) {
            self.window_blocks += weight;
        }
        match old {
            Some(old) => {
                let old = old.slot as usize;
                let between = self.blocks.len() as u32 - self.up_to(old);
                self.add_at(old, -1);
                // The block itself counts: a cache of this size holds it.
                let distance = f64::from(between + 1) * weight;
                let bucket = (distance.log2() * PER_OCTAVE).ceil().max(0.0) as usize;
                if bucket >= self.distances.len() {
                    self.distances.resize(bucket + 1, 0.0);
                }
                self.distances[bucket] += weight;
            }
            None => {
                self.cold += weight;
                self.by_hash.push((hash, block));
            }
        }
        self.add_at(slot, 1);
        if self.blocks.len() > SAMPLES {
            let largest = self.by_hash.peek().map_or(0, |(hash, _)| *hash);
            self.threshold = largest;
            while let Some((hash, block)) = self.by_hash.peek().copied() {
                if hash < largest {
                    break;
                }
                self.by_hash.pop();
                if let Some(sample) = self.blocks.remove(&block) {
                    self.add_at(sample.slot as usize, -1);
                }
            }
        }
    }

    fn end_window(&mut self) {
        if self.window_blocks > 0.0 {
            self.windows += 1;
            self.window_sum += self.window_blocks;
            self.window_max = self.window_max.max(self.window_blocks);
        }
        self.window_blocks = 0.0;
    }

    /// The result.
    pub fn finish(mut self) -> Locality {
        self.end_window();
        let bytes = |blocks: f64| (blocks * BLOCK as f64) as u64;
        let known: f64 = self.cold + self.distances.iter().sum::<f64>();
        // The difference to the known number of accesses belongs to the smallest distances (SHARDS-adj).
        let total = self.accesses as f64;
        let mut hits = (total - known).max(-self.distances.first().copied().unwrap_or(0.0));
        let mut curve = Vec::new();
        for (bucket, weight) in self.distances.iter().enumerate() {
            hits += weight;
            let size = (bucket as f64 / PER_OCTAVE).exp2() * BLOCK as f64;
            let miss = (1.0 - hits / total.max(1.0)).clamp(0.0, 1.0);
            curve.push((size, miss));
        }
        Locality {
            footprint: bytes(self.blocks.len() as f64 * self.factor()),
            working_set_mean: bytes(self.window_sum / self.windows.max(1) as f64),
            working_set_max: bytes(self.window_max),
            miss_ratio: curve,
            sampled: 1.0 / self.factor(),
        }
    }
}

/// Which parts of a device are used, and used again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locality {
    /// Bytes of the different blocks of 4 KiB that are read or written.
    pub footprint: u64,
    /// Bytes of different blocks in a second, mean of the seconds with I/O.
    pub working_set_mean: u64,
    /// The largest of these.
    pub working_set_max: u64,
    /// Size of an LRU cache in bytes, and the share of block accesses that miss it, by growing size.
    pub miss_ratio: Vec<(f64, f64)>,
    /// The share of blocks that was sampled.
    pub sampled: f64,
}

impl Locality {
    /// The share of accesses that miss a cache of this size.
    #[must_use]
    pub fn miss_ratio_at(&self, bytes: f64) -> f64 {
        let after = self
            .miss_ratio
            .partition_point(|(size, _)| *size <= bytes * (1.0 + 1e-9));
        after
            .checked_sub(1)
            .map_or(1.0, |index| self.miss_ratio[index].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop over n blocks misses every cache below n blocks and hits every larger one.
    #[test]
    fn a_loop_has_a_step_as_its_curve() {
        for blocks in [1000_u64, 200_000] {
            let mut reuse = Reuse::default();
            for round in 0..5 {
                for block in 0..blocks {
                    reuse.add(0, block * BLOCK, 4096, round);
                }
            }
            let locality = reuse.finish();
            let footprint = (blocks * BLOCK) as f64;
            assert!((locality.footprint as f64 / footprint - 1.0).abs() < 0.02);
            assert!((locality.working_set_mean as f64 / footprint - 1.0).abs() < 0.03);
            assert!(locality.miss_ratio_at(footprint * 0.85) > 0.97);
            let hit = locality.miss_ratio_at(footprint * 1.15);
            assert!((hit - 0.2).abs() < 0.02, "{hit}");
        }
    }

    /// Uniform accesses to N blocks hit an LRU cache of c blocks with probability c/N.
    #[test]
    fn uniform_accesses_have_a_straight_curve() {
        let (blocks, mut state) = (100_000_u64, 1_u64);
        let mut reuse = Reuse::default();
        for _ in 0..2_000_000 {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            reuse.add(0, (mix(state) % blocks) * BLOCK, 4096, 0);
        }
        let locality = reuse.finish();
        for share in [0.25, 0.5, 0.75] {
            let miss = locality.miss_ratio_at(blocks as f64 * BLOCK as f64 * share);
            // One in twenty accesses is a first one.
            assert!((miss - (1.0 - share)).abs() < 0.06, "{share}: {miss}");
        }
    }
}
