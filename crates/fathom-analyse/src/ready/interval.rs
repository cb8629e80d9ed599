//! Intervals of a percentile, a mean and a rate from consecutive blocks of a measurement, whose values depend on each other.
//!
//! **Percentiles.** The share of latencies above a limit has the interval of Clopper and Pearson (1934). Latencies that follow
//! each other are alike, so they count as fewer independent ones: Korn and Graubard (1998) put the effective sample size, the
//! number of values divided by the design effect of Kish (1965), into that interval, with a correction for the degrees of
//! freedom with which the design effect is known. The design effect comes from batch means (Schmeiser 1982) of several
//! lengths; the largest one counts. Inverting the interval over all limits gives the interval of the percentile.
//!
//! **Means and rates.** The ratio of two sums with the batch-means variance of its residuals (Cochran 1977, 6.4) and
//! Student's t.

use fathom_model::{Histogram, ReadyEstimate, bucket_range};

use super::LatencyBlock;
use crate::compare::student::{beta_share, quantile};

/// With fewer batches their variance is hardly known.
pub(super) const FEWEST_BATCHES: usize = 16;
/// More independent values narrow no interval below the width of a bucket.
const MOST_EFFECTIVE: f64 = 1e6;

/// A count of values above a limit is found up to this share of it, on the side that proves: less than one of the most values that count.
const MAX_ERROR_OF_COUNT: f64 = 1e-6;

/// Sums over one block: what is counted, and out of how much.
type Part = (f64, f64);

/// The variance of a ratio of sums, relative to the square of its denominator's sum.
#[derive(Clone, Copy, Debug)]
struct RatioVariance {
    variance: f64,
    batches: usize,
}

/// Variance of `sum(counted) / sum(whole)` by batch means of 1, 2, 4, ... blocks; the largest one. `None` with too few
/// blocks.
fn ratio_variance(parts: &[Part]) -> Option<RatioVariance> {
    let (counted, whole) = parts
        .iter()
        .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    if whole <= 0.0 {
        return None;
    }
    let ratio = counted / whole;
    let mut length = 1;
    let mut largest: Option<RatioVariance> = None;
    while parts.len() / length >= FEWEST_BATCHES {
        let residuals = parts.chunks_exact(length).map(|batch| {
            batch
                .iter()
                .map(|(counted, whole)| counted - ratio * whole)
                .sum::<f64>()
        });
        let batches = parts.len() / length;
        let squares: f64 = residuals.map(|residual| residual * residual).sum();
        let variance = squares * batches as f64 / (batches - 1) as f64 / (whole * whole);
        // The last batch may be missing: the variance of the mean of all blocks is smaller by the share that was used.
        let used = (batches * length) as f64 / parts.len() as f64;
        let found = RatioVariance {
            variance: variance / used,
            batches,
        };
        if largest.is_none_or(|known| found.variance > known.variance) {
            largest = Some(found);
        }
        length *= 2;
    }
    largest
}

/// Mean or rate with the interval whose ends are each exceeded with a probability of `tail`.
pub(super) fn ratio_interval(parts: &[Part], tail: f64) -> ReadyEstimate {
    let (counted, whole) = parts
        .iter()
        .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let value = (whole > 0.0).then(|| counted / whole);
    let half = ratio_variance(parts).map(|found| {
        quantile(1.0 - tail, (found.batches - 1) as f64) * found.variance.max(0.0).sqrt()
    });
    ReadyEstimate {
        value,
        low: value.zip(half).map(|(value, half)| (value - half).max(0.0)),
        high: value.zip(half).map(|(value, half)| value + half),
    }
}

/// The number of independent values that are worth as much as these for a statement about the share above a limit. The first
/// number is `all` values, the second how many of them are above, for each block.
fn effective(blocks: &[Part], tail: f64) -> Option<f64> {
    let (above, all) = blocks
        .iter()
        .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let share = above / all;
    if share <= 0.0 || share >= 1.0 {
        return Some(all);
    }
    let found = ratio_variance(blocks)?;
    let design_effect = (found.variance * all / (share * (1.0 - share))).max(1.0);
    if design_effect == 1.0 {
        return Some(all);
    }
    let (normal, student) = (
        quantile(1.0 - tail, 1e6),
        quantile(1.0 - tail, (found.batches - 1) as f64),
    );
    Some(all / design_effect * (normal / student).powi(2))
}

/// How many of `n` values may be above a limit so that the share above it is surely at most `allowed`; `None` if not even zero
/// proves it.
fn most_above(n: f64, allowed: f64, tail: f64) -> Option<f64> {
    let proves = |above: f64| beta_share(allowed, above + 1.0, n - above) >= 1.0 - tail;
    if n < 1.0 || !proves(0.0) {
        return None;
    }
    let (mut low, mut high) = (0.0, n * allowed);
    while high - low > MAX_ERROR_OF_COUNT * high.max(1.0) {
        let middle = f64::midpoint(low, high);
        if proves(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// How many of `n` values must be above a limit so that the share above it is surely more than `allowed`; `None` if not even
/// all of them prove it.
fn fewest_above(n: f64, allowed: f64, tail: f64) -> Option<f64> {
    let proves = |above: f64| beta_share(allowed, above, n - above + 1.0) <= tail;
    if n < 1.0 || !proves(n) {
        return None;
    }
    let (mut low, mut high) = (n * allowed, n);
    while high - low > MAX_ERROR_OF_COUNT * high.max(1.0) {
        let middle = f64::midpoint(low, high);
        if proves(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Fewer values above a limit do not show how alike neighbours are.
const FEWEST_ABOVE: f64 = 10.0;
/// Limits between the percentile and the maximum that are looked at.
const STEPS: usize = 24;

/// Limits from the percentile upwards, each with how many values are above it and the effective number of values there: how much
/// alike neighbours are differs between the usual latencies, which drift, and the slow ones. A limit with too few values
/// above it has the effective number of the last one with enough, or else `n`.
fn upper_end(
    total: &Histogram,
    value: f64,
    limits: &[f64],
    n: f64,
    at: impl Fn(f64) -> (f64, f64),
) -> Vec<(f64, f64, f64)> {
    let ends: Vec<f64> = total
        .indexed()
        .map(|(bucket, _)| bucket_range(bucket).1 as f64)
        .filter(|end| *end >= value)
        .collect();
    let step = ends.len().div_ceil(STEPS).max(1);
    let mut all: Vec<f64> = ends.iter().copied().step_by(step).collect();
    all.extend(ends.last());
    all.extend(limits.iter().filter(|limit| **limit >= value));
    all.sort_by(f64::total_cmp);
    let mut last = n;
    let with_counts = all.into_iter().map(|limit| {
        let (above, n) = at(limit);
        if above >= FEWEST_ABOVE {
            last = n;
        }
        (limit, above, last)
    });
    with_counts.collect()
}

/// A percentile with its interval, and the effective number of values.
pub(super) fn percentile_interval(
    blocks: &[LatencyBlock],
    total: &Histogram,
    percent: f64,
    limits: &[f64],
    tail: f64,
) -> (ReadyEstimate, f64) {
    let all = (total.count() + total.overflow()) as f64;
    let Some(value) = total.percentile(percent) else {
        return (ReadyEstimate::default(), 0.0);
    };
    // The design effect at the percentile itself and at the limits; the largest one counts.
    let parts = |limit: f64| -> Vec<Part> {
        let count = |block: &LatencyBlock| {
            let above = block
                .counts
                .iter()
                .filter(|(bucket, _)| bucket_range(*bucket as usize).0 as f64 > limit)
                .map(|(_, n)| f64::from(*n))
                .sum::<f64>();
            (above, block.count as f64)
        };
        blocks.iter().map(count).collect()
    };
    let mut n = Some(all);
    for limit in std::iter::once(value).chain(limits.iter().copied()) {
        let at_limit = effective(&parts(limit), tail);
        n = n.zip(at_limit).map(|(n, at_limit)| n.min(at_limit));
    }
    let Some(n) = n.map(|n| n.min(MOST_EFFECTIVE)) else {
        let unknown = ReadyEstimate {
            value: Some(value),
            ..ReadyEstimate::default()
        };
        return (unknown, 0.0);
    };
    let allowed = 1.0 - percent / 100.0;
    let fewest = fewest_above(n, allowed, tail).map(|above| above * all / n);
    let mut above = all;
    let mut low = None;
    for (bucket, count) in total.indexed() {
        above -= count as f64;
        if low.is_none() && fewest.is_some_and(|fewest| above < fewest) {
            low = Some(bucket_range(bucket).0 as f64);
        }
    }
    let high = upper_end(total, value, limits, n, |limit| {
        let parts = parts(limit);
        let above = parts.iter().map(|part| part.0).sum::<f64>();
        let n = effective(&parts, tail).map_or(0.0, |n| n.min(MOST_EFFECTIVE));
        (above, n)
    })
    .into_iter()
    .find(|(_, above, n)| {
        most_above(*n, allowed, tail).is_some_and(|most| *above <= most * all / n + 1e-9)
    })
    .map(|(limit, ..)| limit);
    let estimate = ReadyEstimate {
        value: Some(value),
        low: low.map(|low| low.min(value)),
        high: high.map(|high| high.max(value)),
    };
    (estimate, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule of three, exactly: without an event in n trials the upper 95 % limit of the share is 1 - 0.05^(1/n), so 299
    /// trials prove less than 1 %, 298 do not.
    #[test]
    fn no_event_in_299_trials_proves_less_than_one_percent() {
        assert!(most_above(299.0, 0.01, 0.05).is_some());
        assert_eq!(most_above(298.0, 0.01, 0.05), None);
    }

    /// Clopper and Pearson, 10 of 100 (any table of the exact binomial interval): 4.900 % to 17.622 %.
    #[test]
    fn the_exact_binomial_interval_of_ten_in_a_hundred() {
        let most = most_above(100.0, 0.176_222_6, 0.025).expect("enough values");
        assert!((most - 10.0).abs() < 1e-3, "{most}");
        let fewest = fewest_above(100.0, 0.049_004_69, 0.025).expect("enough values");
        assert!((fewest - 10.0).abs() < 1e-3, "{fewest}");
    }

    /// Blocks of ten equal values are worth one tenth: the design effect is 10.
    #[test]
    fn repeated_values_count_once() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        let parts: Vec<Part> = (0..4096)
            .map(|_| (if next() % 10 == 0 { 10.0 } else { 0.0 }, 10.0))
            .collect();
        let variance = ratio_variance(&parts).expect("enough blocks");
        let share = parts.iter().map(|part| part.0).sum::<f64>() / 40_960.0;
        let effect = variance.variance * 40_960.0 / (share * (1.0 - share));
        assert!((9.0..20.0).contains(&effect), "{effect}");
        let single = |part: &Part| (part.0 / 10.0, 1.0);
        let n = effective(&parts.iter().map(single).collect::<Vec<_>>(), 0.01).expect("a number");
        assert!((2000.0..=4096.0).contains(&n), "{n}");
    }

    /// 16 blocks with the counts 9 and 11 in turn: the mean is 10, the variance of a block 16/15, t(0.975, 15) = 2.1314.
    #[test]
    fn a_rate_by_hand() {
        let parts: Vec<Part> = (0..16)
            .map(|i| (if i % 2 == 0 { 9.0 } else { 11.0 }, 1.0))
            .collect();
        let rate = ratio_interval(&parts, 0.025);
        let half = 2.131_45 * (16.0_f64 / 15.0 / 16.0).sqrt();
        assert_eq!(rate.value, Some(10.0));
        assert!(
            (rate.high.expect("an end") - 10.0 - half).abs() < 1e-3,
            "{rate:?}"
        );
        assert_eq!(ratio_interval(&parts[..15], 0.025).high, None);
    }
}
