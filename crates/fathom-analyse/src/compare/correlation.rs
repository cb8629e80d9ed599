//! Correlation time of a series of intervals.

/// Standard errors that are added to the correlation of neighbours, because a short series
/// underestimates it.
const EXTRA_ERRORS: f64 = 0.8;

/// Integrated autocorrelation time in intervals; 1 for independent intervals. It is the longer one
/// of the time from the first neighbours and the time from all lags, and at most a third of the
/// series: three values then count as independent, which gives wide intervals instead of none. It
/// is computed from ranks, which gives nearly the same result for normal values: otherwise one
/// stall of a hundred times the usual latency would hide the correlation of the rest.
pub(super) fn correlation_time(series: &[f64]) -> f64 {
    time_of(&ranks(series))
}

/// The correlation time for the median, if it is `time` for the mean. The median depends only on
/// the side of each value, and the sides of two normal values with correlation r have the
/// correlation 2 asin(r) / pi (Sheppard 1899). The correlations are those of a first-order
/// autoregressive series.
pub(super) fn median_time(time: f64) -> f64 {
    let r = ((time - 1.0) / (time + 1.0)).clamp(0.0, 0.999);
    let powers =
        std::iter::successors(Some(r), |power| Some(power * r)).take_while(|power| *power > 1e-4);
    1.0 + 2.0
        * powers
            .map(|power| power.asin() * std::f64::consts::FRAC_2_PI)
            .sum::<f64>()
}

/// The rank of each value; equal values share their mean rank.
fn ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_unstable_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| series[*a] == series[*b]) {
        equal
            .iter()
            .for_each(|place| ranks[*place] = first as f64 + (equal.len() - 1) as f64 / 2.0);
        first += equal.len();
    }
    ranks
}

fn time_of(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let at_lag = |lag: usize| {
        let products = series
            .iter()
            .zip(&series[lag..])
            .map(|(a, b)| (a - mean) * (b - mean));
        products.sum::<f64>() / count
    };
    let variance = at_lag(0);
    if variance.is_nan() || variance <= 0.0 {
        return 1.0;
    }
    let first = at_lag(1) / variance;
    integrated_time(series.len(), &|lag| at_lag(lag) / variance)
        .max(first_order_time(first, count))
        .clamp(1.0, (count / 3.0).max(1.0))
}

/// Correlation time of a first-order autoregressive series: (1 + r) / (1 - r). Corrected for the
/// bias of `r` in a short series, (1 + 3r) / n (Marriott and Pope 1954).
fn first_order_time(r: f64, count: f64) -> f64 {
    let right = ((count * r + 1.0) / (count - 3.0)).clamp(-0.99, 0.99);
    let careful = (right + EXTRA_ERRORS * ((1.0 - right * right) / count).sqrt()).clamp(0.0, 0.97);
    (1.0 + careful) / (1.0 - careful)
}

/// `1 + 2 sum of rho(k)`, up to the first lag of five such times (Sokal 1997) and at most a quarter
/// of the series.
fn integrated_time(length: usize, rho: &dyn Fn(usize) -> f64) -> f64 {
    let mut time = 1.0;
    for lag in 1..=length / 4 {
        time += 2.0 * rho(lag);
        if lag as f64 >= 5.0 * time.max(1.0) {
            break;
        }
    }
    time
}

#[cfg(test)]
mod tests {
    use super::super::tests::Noise;
    use super::*;

    /// For x[n] = phi x[n-1] + noise the time is (1 + phi) / (1 - phi).
    #[test]
    fn the_time_of_a_known_process() {
        for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let series = Noise(11).series(20_000, 10.0, 1.0, phi);
            let found = correlation_time(&series);
            assert!(
                (found - expected).abs() <= 0.2 * expected,
                "phi {phi}: {found} instead of {expected}"
            );
        }
    }

    /// By hand: sides of the median of neighbours with correlation 0.5 agree to 2 asin(0.5) / pi =
    /// 1/3; of all, 1 + 2 (0.3333 + 0.1609 + 0.0798 + 0.0398 + 0.0199 + ...) = 2.31 where the mean
    /// has 3.
    #[test]
    fn the_median_is_less_correlated_than_the_mean() {
        assert!(
            (median_time(3.0) - 2.307).abs() < 0.002,
            "{}",
            median_time(3.0)
        );
        assert_eq!(median_time(1.0), 1.0);
    }

    /// One stall does not hide the correlation of the rest.
    #[test]
    fn an_outlier_does_not_hide_correlation() {
        let mut series = Noise(11).series(2_000, 100.0, 5.0, 0.8);
        series[700] = 1e6;
        let found = correlation_time(&series);
        assert!((6.5..12.0).contains(&found), "{found} instead of 9");
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [1.5, 0.0, 1.5, 3.0]);
    }

    #[test]
    fn a_constant_has_none() {
        assert_eq!(correlation_time(&[5.0; 30]), 1.0);
    }
}
