//! Quantiles of Student's t.

/// The quantile 0.975 for 1 to 30 degrees of freedom (any table of the distribution).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Half width of a 95 % interval in standard errors; infinite without degrees of freedom.
pub(crate) fn t_95(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        1..=30 => T_975[freedom - 1],
        // The first terms of the expansion in 1 / freedom, exact to three digits here.
        _ => {
            let (z, n) = (1.959_964_f64, freedom as f64);
            z + (z.powi(3) + z) / (4.0 * n)
                + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::t_95;

    /// Published quantiles: 40, 60 and 120 degrees of freedom, and the normal distribution.
    #[test]
    fn the_expansion_continues_the_table() {
        for (freedom, t) in [(40, 2.021), (60, 2.000), (120, 1.980), (100_000, 1.960)] {
            assert!(
                (t_95(freedom) - t).abs() < 6e-4,
                "{freedom}: {}",
                t_95(freedom)
            );
        }
        assert_eq!(t_95(0), f64::INFINITY);
        assert_eq!(t_95(1), 12.706);
    }
}
