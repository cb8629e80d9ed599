//! Every number below n exactly once, in an order that looks random, with a few words of state.

use crate::rng::Rng;

/// With fewer rounds, small domains fail runs tests.
const ROUNDS: usize = 6;

/// A bijection of `0..n`: an unbalanced Feistel network over the next power of two with cycle
/// walking (Black and Rogaway 2002). It replaces a bitmap of used blocks and works at any size.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    low_bits: u32,
    low_mask: u64,
    /// The domain, a power of two.
    domain: u64,
    low_shift: u32,
    high_shift: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..n` for `seed`.
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = if n < 2 {
            1
        } else {
            64 - (n - 1).leading_zeros()
        }
        .max(2);
        let low_bits = bits / 2;
        let mut rng = Rng::new(seed, 0x7065_726d);
        Permutation {
            n,
            low_bits,
            low_mask: (1 << low_bits) - 1,
            domain: 1 << bits,
            low_shift: 64 - low_bits,
            high_shift: 64 - (bits - low_bits),
            keys: std::array::from_fn(|_| rng.bits()),
        }
    }

    /// Length of the permutation.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Image of `index`, which must be below [`Permutation::len`].
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.n);
        let mut value = self.shuffle(index);
        // The domain is less than 2n, so fewer than two rounds are needed on average. The loop ends
        // because the network is a bijection and `index` itself is a value below n on the same
        // cycle.
        while value >= self.n {
            value = self.shuffle(value);
        }
        value
    }

    /// Fills `out` with images in order, continuing from `cursor`, which starts at 0; fewer are
    /// returned only at the end of the permutation. Instead of walking cycles it goes through the
    /// whole power of two and drops values that are too large: there are no branches to mispredict,
    /// and the rounds of many numbers overlap.
    #[inline]
    pub fn walk(&self, cursor: &mut u64, out: &mut [u64]) -> usize {
        let domain = self.domain;
        let mut filled = 0;
        while filled < out.len() && *cursor < domain {
            // Each number fills at most one entry, so this many cannot overrun.
            let many = (out.len() - filled).min((domain - *cursor) as usize);
            for number in *cursor..*cursor + many as u64 {
                let value = self.shuffle(number);
                out[filled] = value;
                filled += usize::from(value < self.n);
            }
            *cursor += many as u64;
        }
        filled
    }

    #[inline]
    fn shuffle(&self, value: u64) -> u64 {
        let (mut low, mut high) = (value & self.low_mask, value >> self.low_bits);
        for pair in self.keys.chunks_exact(2) {
            high ^= mix(low, pair[0]) >> self.high_shift;
            low ^= mix(high, pair[1]) >> self.low_shift;
        }
        high << self.low_bits | low
    }
}

/// A multiplication of which the caller takes the highest bits: only they depend on every bit of
/// `value`, however small it is.
#[inline]
fn mix(value: u64, key: u64) -> u64 {
    (value ^ key).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_occurs_exactly_once() {
        for n in [1, 2, 3, 5, 64, 255, 256, 1000, 65_537, 1_000_003] {
            let permutation = Permutation::new(n, n * 31);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let to = permutation.at(i) as usize;
                assert!(!seen[to], "{n}: {to} twice");
                seen[to] = true;
            }
        }
    }

    #[test]
    fn walking_gives_every_number_once_in_chunks_of_any_size() {
        for n in [1, 2, 3, 64, 65, 1000, 4097] {
            let permutation = Permutation::new(n, 5);
            let (mut cursor, mut seen, mut out) = (0, Vec::new(), [0; 7]);
            loop {
                let filled = permutation.walk(&mut cursor, &mut out);
                seen.extend_from_slice(&out[..filled]);
                if filled < out.len() {
                    break;
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_are_separated_and_seeds_differ() {
        let n = 1_000_003u64;
        let (a, b) = (Permutation::new(n, 1), Permutation::new(n, 2));
        let steps = (1..10_000)
            .filter(|i| a.at(*i).abs_diff(a.at(i - 1)) == 1)
            .count();
        let equal = (0..10_000).filter(|i| a.at(*i) == b.at(*i)).count();
        assert!(
            steps < 3 && equal < 3,
            "{steps} steps of one, {equal} equal"
        );
        // Serial correlation of a random order is about N(0, 1/m).
        let mean = (n - 1) as f64 / 2.0;
        let xs: Vec<f64> = (0..10_000).map(|i| a.at(i) as f64 - mean).collect();
        let var: f64 = xs.iter().map(|x| x * x).sum();
        let cov: f64 = xs.windows(2).map(|w| w[0] * w[1]).sum();
        assert!((cov / var).abs() < 0.05);
    }

    /// The runs test of Wald and Wolfowitz: how many standard deviations the number of runs above
    /// and below the median differs from that of a random order.
    fn runs_z(permutation: &Permutation) -> f64 {
        let n = permutation.len();
        let above: Vec<bool> = (0..n).map(|i| permutation.at(i) >= n / 2).collect();
        let runs = 1 + above.windows(2).filter(|w| w[0] != w[1]).count();
        let (high, all) = (above.iter().filter(|a| **a).count() as f64, n as f64);
        let expected = 2.0 * high * (all - high) / all + 1.0;
        let variance = (expected - 1.0) * (expected - 2.0) / (all - 1.0);
        (runs as f64 - expected) / variance.sqrt()
    }

    /// Regression 0005: with four rounds and the middle bits of the product, half of the orders of
    /// 256 blocks and nearly all of 4096 failed a runs test at 5 %, as fio's own suite found; of
    /// random orders, one in twenty fails.
    #[test]
    fn small_orders_pass_a_runs_test() {
        for n in [256, 1000, 4096] {
            let zs: Vec<f64> = (0..400)
                .map(|seed| runs_z(&Permutation::new(n, seed * 7919)))
                .collect();
            let mean = zs.iter().sum::<f64>() / 400.0;
            let failed = zs.iter().filter(|z| z.abs() > 1.96).count();
            // Mean 0 with a standard error of 0.05; binomial count 20, sd 4.4.
            assert!(
                mean.abs() < 0.25 && failed < 40,
                "{n}: mean {mean}, {failed} of 400 fail"
            );
        }
    }

    #[test]
    fn the_largest_devices_fit() {
        let permutation = Permutation::new(1 << 52, 9);
        assert!((0..1000).all(|i| permutation.at(i << 40 | i) < 1 << 52));
    }
}
