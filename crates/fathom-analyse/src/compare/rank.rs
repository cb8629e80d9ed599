//! Rank test: uses only the order of the values.

/// Two-sided p of Mann and Whitney (1947), normal approximation with ties and continuity
/// correction. The variance is widened like that of a difference of two means of correlated values:
/// `s (t1/n1 + t2/n2)` instead of `s (1/n1 + 1/n2)`, with the correlation time of each side.
pub(super) fn rank_test(before: &[f64], after: &[f64], times: (f64, f64)) -> f64 {
    let (first, second) = (before.len() as f64, after.len() as f64);
    let (ranks, ties) = rank_sum(before, after);
    let total = first + second;
    let statistic = ranks - first * (first + 1.0) / 2.0;
    let spread = first * second / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if spread.is_nan() || spread <= 0.0 {
        return 1.0;
    }
    let off = ((statistic - first * second / 2.0).abs() - 0.5).max(0.0);
    let widened = spread * (times.0 * second + times.1 * first) / total;
    2.0 * upper_tail(off / widened.sqrt())
}

/// Sum of the ranks of `before` among all, ties sharing their mean rank; and the sum of t^3 - t
/// over all ties.
fn rank_sum(before: &[f64], after: &[f64]) -> (f64, f64) {
    let mut all: Vec<(f64, bool)> = before.iter().map(|value| (*value, true)).collect();
    all.extend(after.iter().map(|value| (*value, false)));
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut ties, mut place) = (0.0, 0.0, 0);
    for run in all.chunk_by(|a, b| a.0 == b.0) {
        let count = run.len() as f64;
        let rank = place as f64 + f64::midpoint(1.0, count);
        sum += rank * run.iter().filter(|(_, is_before)| *is_before).count() as f64;
        ties += count * count * count - count;
        place += run.len();
    }
    (sum, ties)
}

/// Probability of a standard normal value above `z`, which is not negative: Abramowitz and Stegun
/// 26.2.17, off by less than 7.5e-8.
fn upper_tail(z: f64) -> f64 {
    const B: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let sum = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy's documentation of mannwhitneyu: ages at diagnosis, U = 17, p = 0.11134688653314041
    /// (asymptotic).
    #[test]
    fn the_example_of_scipy() {
        let males = [19.0, 22.0, 16.0, 29.0, 24.0];
        let females = [20.0, 11.0, 17.0, 12.0];
        let p = rank_test(&males, &females, (1.0, 1.0));
        assert!((p - 0.111_346_886_533_140_41).abs() < 1e-6, "{p}");
        assert!(
            rank_test(&males, &females, (4.0, 4.0)) > 0.3,
            "fewer independent values show less"
        );
    }

    /// regression 0253: 16 and 40 intervals, with the highest correlation that can be estimated and
    /// no overlap, had p = 0.057: the mean of both times gives the longer side too much weight. By
    /// hand: z = 319.5 / sqrt(640 / 12 x 57 x (16/3 x 40 + 40/3 x 16) / 56).
    #[test]
    fn a_short_and_a_long_side_have_the_right_weight() {
        let (short, long): (Vec<f64>, Vec<f64>) = (
            (0..16).map(f64::from).collect(),
            (100..140).map(f64::from).collect(),
        );
        let p = rank_test(&short, &long, (16.0 / 3.0, 40.0 / 3.0));
        assert!((p - 0.0357).abs() < 5e-4, "{p}");
    }

    /// Tables of the normal distribution.
    #[test]
    fn the_tail_matches_tables() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.158_655_254),
            (1.959_963_985, 0.025),
            (3.0, 0.001_349_898),
        ] {
            assert!((upper_tail(z) - p).abs() < 1e-7, "{z}");
        }
    }

    #[test]
    fn equal_values_do_not_differ() {
        assert_eq!(rank_test(&[1.0; 20], &[1.0; 20], (1.0, 1.0)), 1.0);
    }
}
