//! Zipf-distributed ranks, exact at any size, for the cost of two random numbers.
//!
//! The ranks are divided into cells within which the weight hardly changes. A cell is drawn from an
//! alias table (Walker 1977; Vose 1991) by the weight of its first rank, and a rank in it
//! uniformly. That rank is accepted with the ratio of its own weight to the weight of the first:
//! rejection sampling (von Neumann 1951). Nearly all draws are accepted without computing that
//! ratio.

use crate::rng::Rng;

/// Cells in each power of two of ranks, so that the weight changes by less than theta / 64 in each.
const CELLS_PER_OCTAVE: u64 = 64;

/// Draws ranks 0, 1, 2... below `n`; rank k has the weight (k + 1)^-theta.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    theta: f64,
    cells: Vec<ZipfCell>,
    /// Alias table: the share of 2^64 that stays with the cell, and the alternative cell.
    alias: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct ZipfCell {
    /// First rank, from 1.
    first: u64,
    count: u64,
    /// Draws below this share of 2^64 are accepted for every rank of the cell.
    always_accepted: u64,
}

impl Zipf {
    /// The distribution over `n` ranks; `None` without ranks or if the exponent is not positive and
    /// finite.
    pub fn new(n: u64, theta: f64) -> Option<Self> {
        if n == 0 || !theta.is_finite() || theta <= 0.0 {
            return None;
        }
        let mut cells = Vec::new();
        let mut first = 1;
        while first <= n {
            let count = (first / CELLS_PER_OCTAVE).max(1).min(n - first + 1);
            let last = first + count - 1;
            let always_accepted = share((first as f64 / last as f64).powf(theta));
            cells.push(ZipfCell {
                first,
                count,
                always_accepted,
            });
            first = last + 1;
        }
        let weights: Vec<f64> = cells
            .iter()
            .map(|cell| cell.count as f64 * (cell.first as f64).powf(-theta))
            .collect();
        Some(Zipf {
            theta,
            alias: alias(&weights),
            cells,
        })
    }

    /// The next rank, 0 the most frequent.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let (column, share) = split(rng.bits(), self.alias.len() as u64);
            let (stay, other) = self.alias[column as usize];
            let cell = self.cells[if share < stay {
                column as usize
            } else {
                other as usize
            }];
            if cell.count == 1 {
                return cell.first - 1;
            }
            let (step, share) = split(rng.bits(), cell.count);
            let rank = cell.first + step;
            if share <= cell.always_accepted || self.accepts(cell.first, rank, share) {
                return rank - 1;
            }
        }
    }

    #[cold]
    fn accepts(&self, first: u64, rank: u64, draw: u64) -> bool {
        draw <= share((first as f64 / rank as f64).powf(self.theta))
    }
}

/// A number below `n` and the rest of the draw, as a share of 2^64.
#[inline]
fn split(bits: u64, n: u64) -> (u64, u64) {
    let product = u128::from(bits) * u128::from(n);
    ((product >> 64) as u64, product as u64)
}

/// A probability as a share of 2^64.
fn share(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

/// Vose's alias table for these weights.
fn alias(weights: &[f64]) -> Vec<(u64, u32)> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut rest: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
    let mut table: Vec<(u64, u32)> = (0..weights.len() as u32)
        .map(|cell| (u64::MAX, cell))
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..rest.len()).partition(|cell| rest[*cell] < 1.0);
    while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
        table[low] = (share(rest[low]), high as u32);
        rest[high] -= 1.0 - rest[low];
        if rest[high] < 1.0 {
            small.extend(large.pop());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of `draws` against the distribution, over the `hot` first ranks and the rest as
    /// one class.
    fn chi_square(n: u64, theta: f64, draws: u32, hot: usize) -> f64 {
        let zipf = Zipf::new(n, theta).expect("valid");
        let mut rng = Rng::new(11, 3);
        let mut seen = vec![0u32; hot + 1];
        for _ in 0..draws {
            let rank = zipf.draw(&mut rng);
            assert!(rank < n);
            seen[(rank as usize).min(hot)] += 1;
        }
        // Beyond 10,000 terms the sum comes from the Euler-Maclaurin formula, far more exact than
        // the draws can show.
        let exact: f64 = (1..=n.min(10_000)).map(|k| (k as f64).powf(-theta)).sum();
        let (a, b) = (10_000.0f64, n as f64);
        let tail = (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta)
            + (b.powf(-theta) - a.powf(-theta)) / 2.0;
        let norm = if n > 10_000 { exact + tail } else { exact };
        let expected = |class: usize| -> f64 {
            let hot_share = |k: usize| (k as f64 + 1.0).powf(-theta) / norm;
            f64::from(draws)
                * if class < hot {
                    hot_share(class)
                } else {
                    1.0 - (0..hot).map(hot_share).sum::<f64>()
                }
        };
        (0..=hot)
            .map(|class| (f64::from(seen[class]) - expected(class)).powi(2) / expected(class))
            .sum()
    }

    #[test]
    fn frequencies_follow_the_distribution_at_every_size_and_exponent() {
        // 200 degrees of freedom: the 99.9 % quantile of chi-square is 267.5.
        for (n, theta) in [
            (1000, 1.2),
            (1 << 32, 1.1),
            (1 << 32, 0.9),
            (5_000_000, 2.0),
            (300, 0.3),
        ] {
            let chi = chi_square(n, theta, 2_000_000, 200);
            assert!(chi < 267.5, "n {n}, theta {theta}: chi-square {chi}");
        }
    }

    #[test]
    fn each_octave_of_the_tail_has_its_weight() {
        // Without the rejection, every cell of several ranks would get up to theta / 64 too much.
        let (octaves, theta, draws) = (20, 1.1, 5_000_000u32);
        let zipf = Zipf::new((1 << octaves) - 1, theta).expect("valid");
        let (mut rng, mut seen) = (Rng::new(1, 1), vec![0u32; octaves]);
        (0..draws).for_each(|_| seen[(zipf.draw(&mut rng) + 1).ilog2() as usize] += 1);
        let weight = |octave: usize| -> f64 {
            (1u64 << octave..2 << octave)
                .map(|k| (k as f64).powf(-theta))
                .sum()
        };
        let norm: f64 = (0..octaves).map(weight).sum();
        let expected = |octave| f64::from(draws) * weight(octave) / norm;
        let chi: f64 = (0..octaves)
            .map(|o| (f64::from(seen[o]) - expected(o)).powi(2) / expected(o))
            .sum();
        // 19 degrees of freedom: the 99.9 % quantile is 43.8.
        assert!(chi < 43.8, "chi-square {chi}");
    }

    #[test]
    fn one_rank_and_no_ranks() {
        assert_eq!(
            Zipf::new(1, 1.1).expect("valid").draw(&mut Rng::new(1, 1)),
            0
        );
        assert!(
            Zipf::new(0, 1.1).is_none()
                && Zipf::new(5, f64::NAN).is_none()
                && Zipf::new(5, 0.0).is_none()
        );
    }

    #[test]
    fn the_table_is_small_at_any_size() {
        let zipf = Zipf::new(1 << 52, 1.1).expect("valid");
        assert!(zipf.cells.len() < 64 + 64 * 52);
    }
}
