//! How many intervals hang together.

/// So many standard errors are added to the correlation of neighbours: a short series shows less of it than there is.
const CAUTION: f64 = 0.7;

/// Integrated autocorrelation time in intervals, 1 for independent ones: that of the first neighbours, or of all, whichever is
/// longer. At most a third of the series: then three values count as independent, and what is computed from so few is wide, not refused.
pub(super) fn correlation_time(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let at_lag = |lag: usize| {
        let products = series.iter().zip(&series[lag..]).map(|(a, b)| (a - mean) * (b - mean));
        products.sum::<f64>() / count
    };
    let variance = at_lag(0);
    if variance.is_nan() || variance <= 0.0 {
        return 1.0;
    }
    let first = at_lag(1) / variance;
    summed(series.len(), &|lag| at_lag(lag) / variance).max(of_neighbours(first, count)).clamp(1.0, (count / 3.0).max(1.0))
}

/// Of a series in which each value hangs on the one before it: (1 + r) / (1 - r). That `r` comes out too low in a short one, by
/// (1 + 3r) / n (Marriott and Pope 1954), is set right.
fn of_neighbours(r: f64, count: f64) -> f64 {
    let right = ((count * r + 1.0) / (count - 3.0)).clamp(-0.99, 0.99);
    let careful = (right + CAUTION * ((1.0 - right * right) / count).sqrt()).clamp(0.0, 0.97);
    (1.0 + careful) / (1.0 - careful)
}

/// `1 + 2 sum of rho(k)`, up to the first lag of five such times (Sokal 1997) and at most a quarter of the series.
fn summed(length: usize, rho: &dyn Fn(usize) -> f64) -> f64 {
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
            assert!((found - expected).abs() <= 0.2 * expected, "phi {phi}: {found} instead of {expected}");
        }
    }

    #[test]
    fn a_constant_has_none() {
        assert_eq!(correlation_time(&[5.0; 30]), 1.0);
    }
}
