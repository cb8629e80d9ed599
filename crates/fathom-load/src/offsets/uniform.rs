//! Uniform random blocks: with replacement, or each block once per pass.

use super::{Offsets, Permutation, Span};
use crate::rng::Rng;

/// Any block, drawn with replacement (`norandommap`). A pass never ends by itself.
#[derive(Clone, Debug)]
pub(crate) struct Uniform {
    span: Span,
    blocks: u64,
    rng: Rng,
}

impl Uniform {
    pub fn new(span: Span, rng: Rng) -> Self {
        Uniform {
            span,
            blocks: span.blocks(),
            rng,
        }
    }
}

impl Offsets for Uniform {
    #[inline]
    fn next(&mut self, len: u32) -> Option<u64> {
        let block = self.rng.below(self.blocks);
        Some(self.span.fit(block, len))
    }

    fn fill(&mut self, len: u32, out: &mut [u64]) -> usize {
        if u64::from(len) <= self.span.align {
            out.iter_mut()
                .for_each(|slot| *slot = self.span.at(self.rng.below(self.blocks)));
        } else {
            out.iter_mut()
                .for_each(|slot| *slot = self.span.fit(self.rng.below(self.blocks), len));
        }
        out.len()
    }
}

/// Each block once, in random order; the next pass has another order. Blocks are as large as the
/// I/O.
#[derive(Clone, Debug)]
pub(crate) struct Permuted {
    span: Span,
    seed: u64,
    pass: u64,
    order: Permutation,
    /// The position in the order.
    cursor: u64,
}

impl Permuted {
    pub fn new(span: Span, seed: u64) -> Self {
        Permuted {
            span,
            seed,
            pass: 0,
            order: Permutation::new(span.blocks(), seed),
            cursor: 0,
        }
    }

    fn next_pass(&mut self) {
        self.pass += 1;
        self.cursor = 0;
        self.order = Permutation::new(
            self.span.blocks(),
            self.seed ^ self.pass.wrapping_mul(0xa076_1d64_78bd_642f),
        );
    }
}

impl Offsets for Permuted {
    fn next(&mut self, len: u32) -> Option<u64> {
        let mut one = [0];
        (self.fill(len, &mut one) == 1).then_some(one[0])
    }

    fn end_pass(&mut self) {
        if self.cursor > 0 {
            self.next_pass();
        }
    }

    fn fill(&mut self, _len: u32, out: &mut [u64]) -> usize {
        let filled = self.order.walk(&mut self.cursor, out);
        out[..filled]
            .iter_mut()
            .for_each(|block| *block = self.span.at(*block));
        if filled < out.len() {
            self.next_pass();
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const SPAN: Span = Span {
        start: 4096,
        end: 4096 * 101,
        align: 4096,
    };

    #[test]
    fn a_permuted_pass_touches_every_block_once_and_passes_differ() {
        let mut offsets = Permuted::new(SPAN, 3);
        let mut pass = || std::iter::from_fn(|| offsets.next(4096)).collect::<Vec<_>>();
        let (first, second) = (pass(), pass());
        assert_ne!(first, second);
        for mut seen in [first, second] {
            seen.sort_unstable();
            assert_eq!(seen, (1..101).map(|n| n * 4096).collect::<Vec<_>>());
        }
    }

    #[test]
    fn fill_gives_the_same_offsets_as_next() {
        let (mut a, mut b) = (Permuted::new(SPAN, 3), Permuted::new(SPAN, 3));
        let mut out = [0; 7];
        for _ in 0..40 {
            let n = a.fill(4096, &mut out);
            let requested: Vec<u64> = (0..n).map_while(|_| b.next(4096)).collect();
            assert_eq!(&out[..n], requested);
            if n < out.len() {
                assert_eq!(b.next(4096), None);
            }
        }
    }

    /// Of 100 blocks, 10,000 draws leave one out in one case of 10^41.
    #[test]
    fn uniform_draws_reach_every_block() {
        let mut offsets = Uniform::new(SPAN, Rng::new(1, 1));
        let drawn = std::iter::from_fn(|| offsets.next(4096)).take(10_000);
        let seen: std::collections::BTreeSet<u64> = drawn.collect();
        let every: Vec<u64> = (1..101).map(|n| n * 4096).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), every);
    }

    #[test]
    fn uniform_draws_stay_inside_even_for_large_blocks() {
        let mut offsets = Uniform::new(SPAN, Rng::new(1, 1));
        for len in [512, 4096, 16_384] {
            for _ in 0..1000 {
                let at = offsets.next(len).expect("endless");
                assert!(at >= SPAN.start && at + u64::from(len) <= SPAN.end);
            }
        }
    }
}
