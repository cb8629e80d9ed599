//! Mean of repeats with its confidence interval.

use fathom_model::Estimate;

/// Two-sided 95 % points of Student's t distribution for 1 to 30 degrees of freedom (any table of
/// it).
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The same for the normal distribution.
const Z95: f64 = 1.959_964;

/// Mean and 95 % confidence interval of `values`, which are repeats of one measurement.
#[must_use]
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len();
    let mean = if n == 0 {
        0.0
    } else {
        values.iter().sum::<f64>() / n as f64
    };
    let half = (n > 1).then(|| {
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / (n - 1) as f64;
        t95(n - 1) * (variance / n as f64).sqrt()
    });
    Estimate {
        mean,
        half_width: half,
        n: n as u32,
    }
}

/// Beyond the table: the first term of the Cornish-Fisher expansion (Abramowitz and Stegun,
/// 26.7.5), exact to 0.001 there.
pub(crate) fn t95(freedom: usize) -> f64 {
    let expansion = Z95 + (Z95.powi(3) + Z95) / (4.0 * freedom as f64);
    T95.get(freedom.saturating_sub(1))
        .copied()
        .unwrap_or(expansion)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: mean 10, variance (1 + 0 + 1) / 2 = 1, half = 4.303 x sqrt(1/3) = 2.484.
    #[test]
    fn three_values_by_hand() {
        let found = estimate(&[9.0, 10.0, 11.0]);
        assert_eq!((found.mean, found.n), (10.0, 3));
        assert!(
            (found.half_width.expect("an interval") - 2.4844).abs() < 1e-3,
            "{found:?}"
        );
        assert!((found.relative().expect("a share") - 0.248_44).abs() < 1e-4);
    }

    #[test]
    fn one_value_has_no_interval_and_equal_ones_an_empty_one() {
        assert_eq!(
            estimate(&[5.0]),
            Estimate {
                mean: 5.0,
                half_width: None,
                n: 1
            }
        );
        assert_eq!(estimate(&[5.0; 4]).half_width, Some(0.0));
        assert_eq!(estimate(&[]).n, 0);
    }

    /// t(0.975, 40) = 2.021 and t(0.975, 120) = 1.980 in any table.
    #[test]
    fn many_repeats_approach_the_normal_distribution() {
        assert!(
            (t95(40) - 2.021).abs() < 0.002 && (t95(120) - 1.980).abs() < 0.001,
            "{} {}",
            t95(40),
            t95(120)
        );
    }
}
