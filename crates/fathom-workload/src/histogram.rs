//! Counts by value, in buckets of 1.6 % width.

/// Bits of a value that a bucket keeps: 64 buckets per power of two.
const BITS: u32 = 6;
const BUCKETS: usize = ((64 - BITS + 1) << BITS) as usize;

/// Counts of values by their size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogHistogram {
    /// Grows to the largest bucket in use.
    counts: Vec<u64>,
    total: u64,
    sum: f64,
}

fn bucket(value: u64) -> usize {
    if value < 1 << BITS {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - BITS;
    ((u64::from(shift + 1) << BITS) + (value >> shift & ((1 << BITS) - 1))) as usize
}

/// The first value of a bucket.
fn start(bucket: usize) -> f64 {
    let (group, rest) = (bucket >> BITS, bucket & ((1 << BITS) - 1));
    if group == 0 {
        return rest as f64;
    }
    ((1 << BITS) + rest) as f64 * ((group - 1) as f64).exp2()
}

impl LogHistogram {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts a value `count` times.
    pub fn add_many(&mut self, value: u64, count: u64) {
        let bucket = bucket(value);
        if bucket >= self.counts.len() {
            self.counts.resize((bucket + 64).min(BUCKETS), 0);
        }
        self.counts[bucket] += count;
        self.total += count;
        self.sum += value as f64 * count as f64;
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &LogHistogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
    }

    /// Number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Their mean; 0 if there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        self.sum / self.total as f64
    }

    /// Squared coefficient of variation, within the width of a bucket.
    #[must_use]
    pub fn cv2(&self) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (from, to, count) in self.buckets() {
            let x = f64::midpoint(from, to);
            sum += x * count as f64;
            squares += x * x * count as f64;
        }
        if sum == 0.0 {
            return 0.0;
        }
        (squares * self.total as f64 / (sum * sum) - 1.0).max(0.0)
    }

    /// Start, end and count of each bucket with values, in order.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (start(bucket), start(bucket + 1), *count))
    }

    /// The value that `share` (0 to 1) of the values do not exceed, within the width of a bucket; 0 if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = share * self.total as f64;
        let (mut below, mut last) = (0.0, 0.0);
        for (from, to, count) in self.buckets() {
            let count = count as f64;
            last = to;
            if below + count >= rank {
                return from + (to - from) * ((rank - below) / count).clamp(0.0, 1.0);
            }
            below += count;
        }
        last
    }

    /// The largest difference of two distributions (Kolmogorov-Smirnov) where values are equal that differ by no more than
    /// the share `tolerance` of the smaller one, or by `least`; 0 to 1; `None` if one is empty. It is the smallest share of the
    /// values of one that have no partner among those of the other within the tolerance (Strassen, "The existence of probability
    /// measures with given marginals", 1965). Without a tolerance, two constant values that differ by a thousandth would be as far
    /// apart as any two.
    #[must_use]
    pub fn distance(&self, other: &LogHistogram, tolerance: f64, least: f64) -> Option<f64> {
        if self.total == 0 || other.total == 0 {
            return None;
        }
        let reach = |x: f64| (x * (1.0 + tolerance)).max(x + least);
        Some(self.excess(other, reach).max(other.excess(self, reach)))
    }

    /// By how much the share of the values up to `x` is largest above the share up to `reach(x)` of the other.
    fn excess(&self, other: &LogHistogram, reach: impl Fn(f64) -> f64) -> f64 {
        let mut others = other.buckets().peekable();
        let (mut mine, mut theirs, mut largest) = (0, 0, 0.0_f64);
        for (_, to, count) in self.buckets() {
            mine += count;
            let reach = reach(to);
            while let Some((_, _, count)) = others.next_if(|(_, to, _)| *to <= reach) {
                theirs += count;
            }
            let part = others.peek().map_or(0.0, |(from, to, count)| {
                ((reach - from) / (to - from)).max(0.0) * *count as f64
            });
            let share = (theirs as f64 + part) / other.total as f64;
            largest = largest.max(mine as f64 / self.total as f64 - share);
        }
        largest
    }

    /// The largest difference to a distribution function.
    #[must_use]
    pub fn distance_to(&self, cdf: impl Fn(f64) -> f64) -> f64 {
        let (mut below, mut largest) = (0.0_f64, 0.0_f64);
        for (_, to, count) in self.buckets() {
            below += count as f64 / self.total as f64;
            largest = largest.max((below - cdf(to)).abs());
        }
        largest
    }

    /// A value drawn with a number from 0 to 1.
    #[must_use]
    pub fn draw(&self, uniform: f64) -> u64 {
        self.quantile(uniform) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        for value in [
            0,
            1,
            63,
            64,
            65,
            127,
            128,
            1000,
            123_456_789,
            u64::MAX / 3,
            u64::MAX,
        ] {
            let bucket = bucket(value);
            assert!(bucket < BUCKETS);
            let value = value as f64;
            assert!(start(bucket) <= value * (1.0 + 1e-12), "{value}");
            assert!(start(bucket + 1) >= value * (1.0 - 1e-12), "{value}");
            assert!(value < 64.0 || start(bucket + 1) / start(bucket) < 1.016);
        }
    }

    #[test]
    fn quantiles_and_distances_are_those_of_the_definition() {
        let (mut one, mut two) = (LogHistogram::default(), LogHistogram::default());
        for value in 1..=1000 {
            one.add(value);
            two.add(value + 250);
        }
        assert!((one.quantile(0.5) / 500.0 - 1.0).abs() < 0.02);
        assert!((one.mean() - 500.5).abs() < 1e-9);
        // A shift by a quarter of a uniform distribution.
        let distance = one.distance(&two, 0.0, 0.0).expect("values");
        assert!((distance - 0.25).abs() < 0.01, "{distance}");
        assert_eq!(one.distance(&LogHistogram::default(), 0.0, 0.0), None);
        let uniform = one.distance_to(|x| (x / 1000.0).clamp(0.0, 1.0));
        assert!(uniform < 0.01, "{uniform}");
    }

    /// Even gaps that differ by 0.4 % are no other load; those that differ by more than the tolerance share nothing.
    #[test]
    fn values_within_the_tolerance_are_equal() {
        let all = |value: u64| {
            let mut histogram = LogHistogram::default();
            histogram.add_many(value, 1000);
            histogram
        };
        let (one, near, far) = (all(2_000_000), all(2_060_000), all(2_200_000));
        assert_eq!(one.distance(&near, 0.0, 0.0), Some(1.0));
        assert_eq!(one.distance(&near, 0.05, 0.0), Some(0.0));
        assert_eq!(near.distance(&one, 0.05, 0.0), Some(0.0));
        assert_eq!(one.distance(&far, 0.05, 0.0), Some(1.0));
        assert_eq!(far.distance(&one, 0.05, 0.0), Some(1.0));
        assert_eq!(one.distance(&far, 0.05, 150_000.0), Some(1.0));
        assert_eq!(one.distance(&far, 0.05, 250_000.0), Some(0.0));
        // Half of the values have a partner.
        let mut half = all(2_060_000);
        half.merge(&far);
        assert_eq!(one.distance(&half, 0.05, 0.0), Some(0.5));
        assert_eq!(half.distance(&one, 0.05, 0.0), Some(0.5));
        // An exponential distribution is as far from the constant of its mean as without a tolerance, but for the 5 % around it:
        // 1 - exp(-1 / 1.05), where all gaps of the constant are still to come.
        let mut poisson = LogHistogram::default();
        for index in 0..10_000 {
            poisson.add((-(1.0 - (f64::from(index) + 0.5) / 10_000.0).ln() * 2e6) as u64);
        }
        let distance = one.distance(&poisson, 0.05, 0.0).expect("values");
        let expected = 1.0 - (-1.0_f64 / 1.05).exp();
        assert!((distance - expected).abs() < 0.01, "{distance} {expected}");
    }
}
