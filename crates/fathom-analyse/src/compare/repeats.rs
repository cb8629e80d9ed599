//! Compares two groups of repeated runs. They include the variation between runs, which the series
//! of a single run does not show.

use fathom_model::Difference;

use super::RESOLUTION_FACTOR;
use super::student::{quantile, two_sided};

/// Compares the same figure of several runs on each side, on the logarithmic scale: Welch's test
/// (1947), or Student's if one side is a single run, with the variance of the other side. `None` if
/// there are fewer than three runs in total, or a figure is not positive.
#[must_use]
pub fn repeated(before: &[f64], after: &[f64]) -> Option<Difference> {
    let positive = |runs: &[f64]| {
        !runs.is_empty() && runs.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    if before.len() + after.len() < 3 || !positive(before) || !positive(after) {
        return None;
    }
    let ((first, spread_a), (second, spread_b)) = (moments(before), moments(after));
    let (n, m) = (before.len() as f64, after.len() as f64);
    let (error, freedom) = match (spread_a, spread_b) {
        (Some(a), Some(b)) => welch((a / n, n), (b / m, m)),
        (Some(one), None) | (None, Some(one)) => ((one * (1.0 / n + 1.0 / m)).sqrt(), n + m - 2.0),
        (None, None) => return None,
    };
    let change = second - first;
    let reach = error * quantile(1.0 - Difference::LEVEL / 2.0, freedom);
    let share = |log: f64| log.exp_m1();
    let interval = (share(change - reach), share(change + reach));
    let p = if error > 0.0 {
        two_sided(change / error, freedom)
    } else {
        f64::from(u8::from(change == 0.0))
    };
    Some(Difference {
        before: first.exp(),
        after: second.exp(),
        change: share(change),
        interval,
        p,
        resolution: share(RESOLUTION_FACTOR * reach),
    })
}

/// Standard error and degrees of freedom (Satterthwaite 1946) of two variances of a mean.
fn welch((a, n): (f64, f64), (b, m): (f64, f64)) -> (f64, f64) {
    let both = a + b;
    let freedom = if both > 0.0 {
        both * both / (a * a / (n - 1.0) + b * b / (m - 1.0))
    } else {
        n + m - 2.0
    };
    (both.sqrt(), freedom)
}

/// Mean and variance of the logarithms; no variance for a single value.
fn moments(runs: &[f64]) -> (f64, Option<f64>) {
    let count = runs.len() as f64;
    let mean = runs.iter().map(|value| value.ln()).sum::<f64>() / count;
    let squares: f64 = runs.iter().map(|value| (value.ln() - mean).powi(2)).sum();
    (mean, (runs.len() > 1).then(|| squares / (count - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Noise;
    use super::*;

    /// Logarithms 0, 1, 2 and 3, 4, 5: error sqrt(1/3 + 1/3), 4 degrees of freedom, t = 3.674, p =
    /// 0.0213 by the tables.
    #[test]
    fn by_hand() {
        let of = |logs: [f64; 3]| logs.map(f64::exp);
        let found = repeated(&of([0.0, 1.0, 2.0]), &of([3.0, 4.0, 5.0])).expect("enough");
        assert!((found.p - 0.021_31).abs() < 1e-4, "{}", found.p);
        assert!((found.change - 3f64.exp_m1()).abs() < 1e-9);
        assert!(
            ((1.0 + found.interval.0).ln() - (3.0 - 2.776_445 * (2.0f64 / 3.0).sqrt())).abs()
                < 1e-4,
            "{:?}",
            found.interval
        );
    }

    #[test]
    fn one_in_twenty_differs_by_chance_and_the_interval_contains_the_true_value() {
        let mut noise = Noise(3);
        let (mut shown, mut held) = (0, 0);
        for _ in 0..1000 {
            let (before, after) = (
                noise.series(4, 100.0, 3.0, 0.0),
                noise.series(3, 100.0, 3.0, 0.0),
            );
            let found = repeated(&before, &after).expect("enough");
            shown += u32::from(found.is_significant());
            held += u32::from((found.interval.0..=found.interval.1).contains(&0.0));
        }
        assert!(
            shown <= 65 && (930..=985).contains(&held),
            "{shown} shown, {held} held"
        );
    }

    #[test]
    fn too_few_runs_give_no_result() {
        assert_eq!(repeated(&[1.0], &[2.0]), None);
        assert_eq!(repeated(&[1.0, 0.0], &[2.0, 2.0]), None);
        let same = repeated(&[5.0, 5.0], &[5.0, 5.0]).expect("enough");
        assert!(!same.is_significant() && same.change == 0.0, "{same:?}");
        assert!(
            repeated(&[5.0, 5.0], &[6.0, 6.0])
                .expect("enough")
                .is_significant()
        );
        // One new run against three old ones: no difference within their variation.
        assert!(
            !repeated(&[100.0, 102.0, 98.0], &[103.0])
                .expect("enough")
                .is_significant()
        );
        assert!(
            repeated(&[100.0, 102.0, 98.0], &[150.0])
                .expect("enough")
                .is_significant()
        );
    }
}
