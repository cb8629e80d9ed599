//! Random numbers of a job: one seeded generator for each purpose, so that an additional draw for
//! one purpose does not change another.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded generator (xoshiro256++, Blackman and Vigna 2019).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator of `purpose` for a job's seed.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Rng(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Any 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, without a division (Lemire 2019; the bias of at most n / 2^64 is too
    /// small to measure).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number in (0, 1].
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with a probability of `percent` %.
    #[inline]
    pub fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// For the distributions of `rand_distr`.
    pub fn inner(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_purposes_differ() {
        let draw = |seed, purpose| -> Vec<u64> {
            let mut rng = Rng::new(seed, purpose);
            (0..4).map(|_| rng.bits()).collect()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn below_fills_its_range_evenly() {
        let mut rng = Rng::new(7, 0);
        let mut seen = [0u32; 10];
        (0..100_000).for_each(|_| seen[rng.below(10) as usize] += 1);
        // Binomial, sd = sqrt(100000 * 0.1 * 0.9) = 95; six of them.
        assert!(
            seen.iter().all(|n| (9_430..=10_570).contains(n)),
            "{seen:?}"
        );
    }
}
