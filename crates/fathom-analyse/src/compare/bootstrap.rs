//! Confidence without a formula: series drawn again from their own blocks.

use super::median_of;

/// Series drawn; the percentiles used are then known to about a hundredth of the interval's width.
const DRAWS: usize = 2000;

/// The interval that holds the change of the median, as a share, with confidence `1 - level`. Blocks are as long as two
/// correlation times, so that what hangs together is drawn together.
pub(super) fn interval_of_change(before: &[f64], after: &[f64], times: (f64, f64), level: f64) -> (f64, f64) {
    // The same series always give the same interval.
    let mut state = 0x5eed;
    let mut scratch = Vec::with_capacity(before.len().max(after.len()));
    let mut changes: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let first = drawn_median(before, times.0, &mut state, &mut scratch);
            let second = drawn_median(after, times.1, &mut state, &mut scratch);
            second / first - 1.0
        })
        .filter(|change| change.is_finite())
        .collect();
    if changes.is_empty() {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    changes.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| changes[((changes.len() - 1) as f64 * share).round() as usize];
    (at(level / 2.0), at(1.0 - level / 2.0))
}

fn drawn_median(series: &[f64], time: f64, state: &mut u64, drawn: &mut Vec<f64>) -> f64 {
    let block = ((2.0 * time).ceil() as usize - 1).clamp(1, series.len().div_ceil(2));
    drawn.clear();
    while drawn.len() < series.len() {
        let start = (uniform(state) * (series.len() - block + 1) as f64) as usize;
        let rest = series.len() - drawn.len();
        drawn.extend_from_slice(&series[start..start + block.min(rest)]);
    }
    median_of(drawn)
}

/// From 0 to below 1: SplitMix64 (Steele, Lea and Flood 2014).
pub(super) fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
