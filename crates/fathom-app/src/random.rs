//! Random numbers of the transactions: splitmix64 (Steele, Lea and Flood, 2014), which is fast, seeded and good enough to choose
//! rows.

use crate::AppSpec;
use crate::spec::{ACCOUNTS, TELLERS};

/// The rows of a transaction of TPC-B, numbered from 1, and the amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) delta: i64,
    pub(crate) account: i64,
    pub(crate) teller: i64,
    pub(crate) branch: i64,
}

impl Rows {
    pub(crate) fn draw(spec: &AppSpec, random: &mut Random) -> Rows {
        let scale = i64::from(spec.scale.max(1));
        Rows {
            delta: random.between(-5000, 5000),
            account: random.between(1, scale * ACCOUNTS),
            teller: random.between(1, scale * TELLERS),
            branch: random.between(1, scale),
        }
    }
}

/// A generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.abs_diff(low).saturating_add(1);
        let below = ((u128::from(self.bits()) * u128::from(span)) >> 64) as i64;
        low + below
    }

    /// A time between two arrivals of a Poisson process of this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        let unit = ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_of_the_range_are_drawn_and_the_mean_is_kept() {
        let mut random = Random::new(1);
        let mut seen = [0; 4];
        for _ in 0..4000 {
            let drawn = random.between(-1, 2);
            seen[(drawn + 1) as usize] += 1;
        }
        assert!(
            seen.iter().all(|times| (800..1200).contains(times)),
            "{seen:?}"
        );
        let sum: f64 = (0..10_000).map(|_| random.exponential(5.0)).sum();
        assert!((4.7..5.3).contains(&(sum / 10_000.0)), "{sum}");
    }
}
