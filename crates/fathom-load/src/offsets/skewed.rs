//! Some blocks are hotter than others: zipf, pareto, normal.

use rand_distr::{Distribution as _, Normal};

use super::zipf::Zipf;
use super::{Offsets, Permutation, Span};
use crate::rng::Rng;

/// Draws ranks from a distribution and maps them to blocks of the span. With replacement; a pass
/// never ends by itself.
#[derive(Clone, Debug)]
pub(crate) struct Skewed {
    span: Span,
    blocks: u64,
    distribution: RankDistribution,
    placement: Placement,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum RankDistribution {
    Zipf(Zipf),
    /// Self-similar (Gray et al. 1994): rank = n u^e with e = ln h / ln (1 - h), so that the share
    /// 1 - h of the accesses goes to the share h of the blocks.
    Pareto {
        exponent: f64,
    },
    /// Gaussian around the middle.
    Normal(Normal<f64>),
}

/// Maps ranks to blocks.
#[derive(Clone, Debug)]
enum Placement {
    /// Hot blocks are scattered over the span.
    Scattered(Permutation),
    /// The hottest block is this one; the next ranks follow it.
    From(u64),
    /// Rank 0 is this block, and the others are scattered from there by fio's multiplicative hash.
    Hashed(u64),
}

/// The multiplier of fio's hash of 64 bits: 2^64 divided by the square of the golden ratio.
const HASH_MULTIPLIER: u64 = 0x61c8_8646_80b5_83eb;

impl Skewed {
    pub fn zipf(span: Span, theta: f64, center: Option<f64>, seed: u64, rng: Rng) -> Option<Self> {
        let distribution = RankDistribution::Zipf(Zipf::new(span.blocks(), theta)?);
        Some(Skewed::new(span, distribution, center, seed, rng))
    }

    pub fn pareto(
        span: Span,
        power: f64,
        center: Option<f64>,
        seed: u64,
        rng: Rng,
    ) -> Option<Self> {
        let exponent = power.ln() / (1.0 - power).ln();
        exponent.is_finite().then(|| {
            Skewed::new(
                span,
                RankDistribution::Pareto { exponent },
                center,
                seed,
                rng,
            )
        })
    }

    pub fn normal(
        span: Span,
        deviation_percent: f64,
        center: Option<f64>,
        rng: Rng,
    ) -> Option<Self> {
        let n = span.blocks() as f64;
        let distribution = RankDistribution::Normal(
            Normal::new(n * center.unwrap_or(0.5), n * deviation_percent / 100.0).ok()?,
        );
        Some(Skewed::new(span, distribution, Some(0.0), 0, rng))
    }

    /// Scatters the blocks around a center as fio does, if `scatters`. Without a center they are
    /// scattered already.
    pub fn scattered(mut self, scatters: bool) -> Self {
        if let (true, Placement::From(first)) = (scatters, &self.placement) {
            self.placement = Placement::Hashed(*first);
        }
        self
    }

    /// Scatters the blocks as fio does, moved by this share of the span.
    pub fn scattered_around(mut self, shift: f64) -> Self {
        let blocks = self.blocks as i64;
        let shift = ((self.blocks as f64 * shift) as i64).rem_euclid(blocks.max(1));
        self.placement = Placement::Hashed(shift as u64);
        self
    }

    fn new(
        span: Span,
        distribution: RankDistribution,
        center: Option<f64>,
        seed: u64,
        rng: Rng,
    ) -> Self {
        let blocks = span.blocks();
        let placement = match center {
            None => Placement::Scattered(Permutation::new(blocks, seed)),
            Some(share) => Placement::From(((share * blocks as f64) as u64).min(blocks - 1)),
        };
        Skewed {
            span,
            blocks,
            distribution,
            placement,
            rng,
        }
    }

    /// A rank below the number of blocks, 0 the hottest (for the normal distribution: the block
    /// itself).
    fn rank(&mut self) -> u64 {
        let last = self.blocks - 1;
        match &self.distribution {
            RankDistribution::Zipf(zipf) => zipf.draw(&mut self.rng),
            RankDistribution::Pareto { exponent } => {
                ((self.blocks as f64 * self.rng.unit().powf(*exponent)) as u64).min(last)
            }
            RankDistribution::Normal(normal) => loop {
                // Draws beyond the span are drawn again, so that the ends get no extra share.
                let at = normal.sample(self.rng.inner()).floor();
                if at >= 0.0 && at <= last as f64 {
                    break at as u64;
                }
            },
        }
    }
}

impl Offsets for Skewed {
    fn next(&mut self, len: u32) -> Option<u64> {
        let rank = self.rank();
        let block = match &self.placement {
            Placement::Scattered(order) => order.at(rank),
            Placement::Hashed(first) => {
                let hash = rank.wrapping_mul(HASH_MULTIPLIER);
                hash.wrapping_add(*first) % self.blocks
            }
            Placement::From(first) => {
                let block = first + rank;
                if block >= self.blocks {
                    block - self.blocks
                } else {
                    block
                }
            }
        };
        Some(self.span.fit(block, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const N: u64 = 1000;
    const SPAN: Span = Span {
        start: 0,
        end: N * 4096,
        align: 4096,
    };

    fn counts(mut offsets: Skewed, draws: u32) -> Vec<u32> {
        let mut counts = vec![0u32; N as usize];
        (0..draws)
            .for_each(|_| counts[(offsets.next(4096).expect("endless") / 4096) as usize] += 1);
        counts
    }

    #[test]
    fn zipf_frequencies_follow_the_distribution() {
        let theta = 1.2;
        let draws = 400_000;
        let mut seen = counts(
            Skewed::zipf(SPAN, theta, None, 5, Rng::new(1, 1)).expect("valid"),
            draws,
        );
        seen.sort_unstable_by(|a, b| b.cmp(a));
        let norm: f64 = (1..=N).map(|k| (k as f64).powf(-theta)).sum();
        // Chi-square over the 50 hottest ranks: 49 degrees of freedom, 99.9 % quantile 85.4.
        let chi: f64 = (1..=50)
            .map(|k| {
                let expected = f64::from(draws) * f64::from(k).powf(-theta) / norm;
                (f64::from(seen[k as usize - 1]) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < 85.4, "chi-square {chi}");
    }

    #[test]
    fn pareto_02_sends_80_percent_of_accesses_to_20_percent_of_blocks() {
        let seen = counts(
            Skewed::pareto(SPAN, 0.2, Some(0.0), 5, Rng::new(1, 1)).expect("valid"),
            100_000,
        );
        let hot: u32 = seen[..200].iter().sum();
        assert!((78_500..=81_500).contains(&hot), "{hot}");
    }

    #[test]
    fn normal_has_the_requested_mean_and_deviation() {
        let seen = counts(
            Skewed::normal(SPAN, 10.0, None, Rng::new(1, 1)).expect("valid"),
            100_000,
        );
        let mean = seen
            .iter()
            .enumerate()
            .map(|(i, n)| i as f64 * f64::from(*n))
            .sum::<f64>()
            / 1e5;
        let near: u32 = seen[400..600].iter().sum();
        // One deviation on either side holds 68.27 %.
        assert!(
            (mean - 499.5).abs() < 2.0 && (67_300..=69_300).contains(&near),
            "{mean} {near}"
        );
    }

    #[test]
    fn hot_blocks_are_scattered_without_a_center() {
        let hottest = |center| {
            let seen = counts(
                Skewed::zipf(SPAN, 1.5, center, 5, Rng::new(1, 1)).expect("valid"),
                10_000,
            );
            (0..N as usize).max_by_key(|i| seen[*i]).expect("not empty")
        };
        assert_eq!(hottest(Some(0.25)), 250);
        assert_ne!(hottest(None), 0);
    }
}
