//! One pass of writes that leaves flash in the state that long random writing would (`sprandom`):
//! it writes as many bytes as the flash has, in regions that each then hold as many outdated blocks
//! as a region of that age.

use super::{Offsets, Permutation, Span};
use crate::rng::Rng;

/// Shares are drawn in steps of one part in this.
const WHOLE: u64 = 10_000;

/// Parameters of the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flash {
    /// Over-provisioning, as a share of the span.
    pub spare: f64,
    /// Number of regions of the flash.
    pub regions: u32,
    /// Bytes of a write cache that must fill up before a block is written again; 0 is none.
    pub cache: u64,
}

/// Blocks of the span in random order; a share of the blocks of each region is written again in the
/// next one.
#[derive(Clone, Debug)]
pub(crate) struct Aged {
    span: Span,
    seed: u64,
    pass: u64,
    order: Permutation,
    cursor: u64,
    rng: Rng,
    /// Out of [`WHOLE`] blocks of each region, this many are outdated by the next one.
    outdated: Vec<u64>,
    writes: u64,
    defers: bool,
    region: usize,
    /// Writes left in this region.
    left: u64,
    /// Blocks of the previous region that this one writes again, and blocks of this one for the
    /// next.
    again: Vec<u64>,
    next: Vec<u64>,
}

impl Aged {
    /// `None` if the flash is too small for that many regions, or if its cache holds a whole
    /// region.
    pub fn new(span: Span, flash: Flash, seed: u64, rng: Rng) -> Option<Self> {
        let writes = physical(span, flash.spare) / u64::from(flash.regions.max(1)) / span.align;
        if writes == 0 || flash.cache > writes * span.align {
            return None;
        }
        let outdated = valid_shares(flash.regions as usize, flash.spare);
        let outdated = outdated
            .into_iter()
            .map(|valid| ((1.0 - valid) * WHOLE as f64).round() as u64)
            .collect();
        let order = Permutation::new(span.blocks(), seed);
        Some(Aged {
            span,
            seed,
            pass: 0,
            order,
            cursor: 0,
            rng,
            outdated,
            writes,
            defers: flash.cache > 0,
            region: 0,
            left: writes,
            again: Vec::new(),
            next: Vec::new(),
        })
    }

    fn step(&mut self) -> Option<u64> {
        while self.left == 0 {
            self.region += 1;
            if self.region == self.outdated.len() {
                return None;
            }
            std::mem::swap(&mut self.again, &mut self.next);
            self.next.clear();
            self.left = self.writes.max(self.again.len() as u64);
        }
        let due = !self.again.is_empty() && (!self.defers || self.again.len() as u64 >= self.left);
        let block = if due {
            self.again.pop()
        } else {
            self.fresh().or_else(|| self.again.pop())
        }?;
        self.left -= 1;
        if self.rng.below(WHOLE) < self.outdated[self.region] {
            self.next.push(block);
        }
        Some(block)
    }

    fn fresh(&mut self) -> Option<u64> {
        let mut one = [0];
        (self.order.walk(&mut self.cursor, &mut one) == 1).then_some(one[0])
    }

    fn next_region(&mut self) {
        self.pass += 1;
        self.order = Permutation::new(
            self.span.blocks(),
            self.seed ^ self.pass.wrapping_mul(0xa076_1d64_78bd_642f),
        );
        (self.cursor, self.region, self.left) = (0, 0, self.writes);
        self.again.clear();
        self.next.clear();
    }
}

impl Offsets for Aged {
    fn next(&mut self, _len: u32) -> Option<u64> {
        let block = self.step();
        if block.is_none() {
            self.next_region();
        }
        block.map(|block| self.span.at(block))
    }

    fn end_pass(&mut self) {
        if self.cursor > 0 {
            self.next_region();
        }
    }
}

/// Bytes of flash for a span.
pub(crate) fn physical(span: Span, spare: f64) -> u64 {
    let logical = span.blocks() * span.align;
    let bytes = logical.saturating_add((logical as f64 * spare).ceil() as u64);
    bytes - bytes % span.align
}

/// Share of each region that is still valid in steady state, beginning with the region that is
/// collected next.
///
/// Desnoyers (ACM Transactions on Storage 8(2), 2012): the number of blocks with a given share of
/// valid pages is inversely proportional to that share. The region collected next has a valid share
/// of 1 - 1/WA; the write amplification WA is close to 0.5 / spare + 0.7. Cutting the curve into
/// equal parts gives regions of equal size.
fn valid_shares(regions: usize, spare: f64) -> Vec<f64> {
    let lowest = 1.0 - 1.0 / (0.5 / spare + 0.7);
    let steps = (regions.max(2) - 1) as f64;
    let shares: Vec<f64> = (0..regions)
        .map(|n| 1.0 + (lowest - 1.0) * n as f64 / steps)
        .collect();
    let mut filled = 0.0;
    let places: Vec<f64> = shares
        .iter()
        .map(|share| {
            filled += 1.0 / share;
            filled
        })
        .collect();
    let (first, last) = (places[0], filled);
    let at = |n: usize| first + (last - first) * n as f64 / steps;
    (0..regions)
        .rev()
        .map(|n| between(&places, &shares, at(n)))
        .collect()
}

/// Linear interpolation at `x`; `places` are ascending.
fn between(places: &[f64], values: &[f64], x: f64) -> f64 {
    let after = places
        .partition_point(|place| *place < x)
        .clamp(1, places.len().max(2) - 1);
    let Some((x0, x1)) = places.get(after - 1).zip(places.get(after)) else {
        return values[0];
    };
    values[after - 1] + (values[after] - values[after - 1]) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        start: 8192,
        end: 8192 + (64 << 20),
        align: 4096,
    };

    fn aged(cache: u64) -> Aged {
        let flash = Flash {
            spare: 0.15,
            regions: 10,
            cache,
        };
        Aged::new(SPAN, flash, 3, Rng::new(3, 1)).expect("64 MiB hold ten regions")
    }

    /// What fio's head prints with --debug=sprandom for 64 MiB, spr_op=0.15 and ten regions.
    #[test]
    fn regions_have_the_shares_that_fio_gives_them() {
        let outdated = [
            0.2479, 0.2237, 0.1988, 0.1730, 0.1464, 0.1190, 0.0906, 0.0614, 0.0312, 0.0,
        ];
        let shares = valid_shares(10, 0.15);
        for (valid, outdated) in shares.iter().zip(outdated) {
            assert!((1.0 - valid - outdated).abs() < 0.0001, "{shares:?}");
        }
        assert_eq!(physical(SPAN, 0.15), 77_172_736);
        assert_eq!(valid_shares(1, 0.15).len(), 1);
    }

    /// fio wrote 18,841 blocks; each block of the span is written at least once, and again as often
    /// as the share of its region requires.
    #[test]
    fn a_pass_writes_the_flash_once_and_leaves_outdated_blocks_in_each_region() {
        for cache in [0, 1 << 20] {
            let mut aged = aged(cache);
            let pass: Vec<u64> = std::iter::from_fn(|| aged.next(4096)).collect();
            assert!(pass.len().abs_diff(18_841) <= 40, "{}", pass.len());
            let mut last = std::collections::HashMap::new();
            pass.iter().enumerate().for_each(|(at, offset)| {
                last.insert(*offset, at);
            });
            assert!(last.len() as f64 > 0.985 * 16_384.0, "{}", last.len());
            assert!(
                pass.iter()
                    .all(|offset| *offset >= 8192 && offset + 4096 <= SPAN.end)
            );
            for (region, expected) in [(0, 0.2479), (3, 0.1730), (6, 0.0906)] {
                let blocks = &pass[region * 1884..(region + 1) * 1884];
                let outdated = (region * 1884..)
                    .zip(blocks)
                    .filter(|(at, offset)| last[*offset] > *at)
                    .count();
                let share = outdated as f64 / 1884.0;
                // Five standard deviations of that many draws are at most 0.05.
                assert!(
                    (share - expected).abs() < 0.05,
                    "cache {cache}, region {region}: {share}"
                );
            }
        }
    }

    #[test]
    fn with_a_cache_no_block_is_rewritten_before_the_cache_is_full() {
        let mut aged = aged(4 << 20);
        let pass: Vec<u64> = std::iter::from_fn(|| aged.next(4096)).collect();
        let mut seen = std::collections::HashMap::new();
        for (at, offset) in pass.iter().enumerate() {
            if let Some(before) = seen.insert(*offset, at) {
                assert!(
                    at - before >= (4 << 20) / 4096,
                    "{offset} at {before} and {at}"
                );
            }
        }
    }

    #[test]
    fn a_copy_gives_the_same_offsets_and_passes_differ() {
        let (mut one, mut other) = (aged(0), aged(0).boxed());
        let walk = |offsets: &mut dyn Offsets| {
            std::iter::from_fn(|| offsets.next(4096)).collect::<Vec<_>>()
        };
        let first = walk(&mut one);
        assert_eq!(first, walk(&mut *other));
        assert_ne!(first, walk(&mut one));
    }

    impl Aged {
        fn boxed(&self) -> Box<dyn Offsets> {
            super::super::OffsetsClone::boxed_clone(self)
        }
    }

    #[test]
    fn flash_too_small_for_the_regions_is_refused() {
        let small = Span {
            start: 0,
            end: 40_960,
            align: 4096,
        };
        let flash = |regions, cache| Flash {
            spare: 0.15,
            regions,
            cache,
        };
        assert!(Aged::new(small, flash(100, 0), 1, Rng::new(1, 1)).is_none());
        assert!(Aged::new(SPAN, flash(10, 8 << 20), 1, Rng::new(1, 1)).is_none());
    }
}
