//! Student's t distribution (1908), for few values.

/// Probability of a value further from zero than `t` on either side.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom <= 0.0 {
        return 1.0;
    }
    beta_share(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// Quantile of `share`, which is above a half. Newton's method from zero: the probability of larger values is a convex function of
/// them, so that each step ends below the quantile and none goes astray.
pub(crate) fn quantile(share: f64, freedom: f64) -> f64 {
    let half = f64::midpoint(freedom, 1.0);
    let scale =
        (ln_gamma(half) - ln_gamma(freedom / 2.0)).exp() / (freedom * std::f64::consts::PI).sqrt();
    let mut t = 0.0;
    for _ in 0..100 {
        let density = scale * (1.0 + t * t / freedom).powf(-half);
        let step = (two_sided(t, freedom) / 2.0 - (1.0 - share)) / density;
        t += step;
        if step.is_nan() || step.abs() <= t * 1e-12 {
            break;
        }
    }
    t
}

/// Regularised incomplete beta function: the continued fraction of Abramowitz and Stegun 26.5.8, by
/// Lentz's method (1976).
pub(crate) fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let tiny = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / tiny(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    // Near the mean of a narrow distribution the fraction needs about sqrt(a + b) terms.
    for m in 1..3000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / tiny(1.0 + term * d);
            c = tiny(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    (front * fraction).clamp(0.0, 1.0)
}

/// Stirling's series, which has twelve exact digits from 10 on; smaller values use the recurrence.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + (2.0 * std::f64::consts::PI).ln() / 2.0 + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Student's distribution: 97.5 %.
    #[test]
    fn the_tables() {
        for (freedom, t) in [
            (1.0, 12.706_205),
            (2.0, 4.302_653),
            (5.0, 2.570_582),
            (30.0, 2.042_272),
            (1e6, 1.959_966),
        ] {
            assert!(
                (quantile(0.975, freedom) - t).abs() < 2e-5,
                "{freedom}: {}",
                quantile(0.975, freedom)
            );
            assert!(
                (two_sided(t, freedom) - 0.05).abs() < 1e-6,
                "{freedom}: {}",
                two_sided(t, freedom)
            );
        }
        // 99.9995 %, from the closed forms of one and two degrees of freedom: tan(pi (p - 1/2)), and (2 p - 1) / sqrt(2 p (1 - p)).
        let share = 0.999_995;
        for (freedom, t) in [
            (1.0, (std::f64::consts::PI * (share - 0.5)).tan()),
            (
                2.0,
                (2.0 * share - 1.0) / (2.0 * share * (1.0 - share)).sqrt(),
            ),
        ] {
            let found = quantile(share, freedom);
            assert!((found / t - 1.0).abs() < 1e-9, "{freedom}: {found}, {t}");
        }
        assert_eq!(two_sided(0.0, 3.0), 1.0);
        assert_eq!(two_sided(f64::NAN, 3.0), 1.0);
    }
}
