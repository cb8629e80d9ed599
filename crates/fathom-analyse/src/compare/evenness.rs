//! Finds what became less even: a rate that varies more, or a longer tail.

use fathom_model::{ComparisonRow, Difference, Direction, LessEven, Metric};

use super::correlation::correlation_time;
use super::runs::pairs;
use super::{ComparedRun, FEWEST_INTERVALS};

/// The deviation must grow at least by this factor: less has no practical meaning.
const LEAST_FACTOR: f64 = 1.25;
/// A rate that varies less than this is even.
const EVEN: f64 = 0.01;
/// Quantile of the normal distribution for a two-sided test at 5 %.
const NORMAL_QUANTILE: f64 = 1.96;
/// Percentiles from here on belong to the tail.
const TAIL: f64 = 90.0;

/// The directions of jobs that are less even after than before; `rows` compare their metrics.
pub(super) fn less_even(
    before: &[ComparedRun],
    after: &[ComparedRun],
    rows: &[ComparisonRow],
) -> Vec<LessEven> {
    let mut all = Vec::new();
    for (job, other) in before.iter().zip(pairs(before, after)) {
        let Some(other) = other.map(|at| &after[at]) else {
            continue;
        };
        for figure in job
            .figures
            .iter()
            .filter(|figure| figure.metric == Metric::Iops)
        {
            let second = other
                .figures
                .iter()
                .find(|one| one.metric == Metric::Iops && one.direction == figure.direction);
            let found = LessEven {
                job: job.name.clone(),
                direction: figure.direction,
                deviation: second
                    .and_then(|second| larger_deviation(&figure.series, &second.series)),
                tail: longer_tail(&job.name, figure.direction, rows),
            };
            if found.deviation.is_some() || found.tail.is_some() {
                all.push(found);
            }
        }
    }
    all
}

/// The worst percentile, if it is significantly longer.
fn longer_tail(job: &str, direction: Direction, rows: &[ComparisonRow]) -> Option<(Metric, f64)> {
    let tails = rows.iter().filter_map(|row| match row.metric {
        Metric::Percentile(percent) if percent >= TAIL => Some((percent, row)),
        _ => None,
    });
    let (_, row) = tails
        .filter(|(_, row)| row.job == job && row.direction == direction)
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let found = row.difference.filter(Difference::is_significant)?;
    (found.change > 0.0).then_some((row.metric, found.change))
}

/// Both deviations as shares of their means, if the second is significantly larger: the difference of the logarithms beside
/// its standard error, for which each series counts as many values as are independent.
fn larger_deviation(before: &[f64], after: &[f64]) -> Option<(f64, f64)> {
    let (first, second) = (Spread::of(before)?, Spread::of(after)?);
    let growth = (second.share / first.share.max(EVEN)).ln();
    let error = (first.variance_of_log + second.variance_of_log).sqrt();
    (growth >= LEAST_FACTOR.ln() && growth > NORMAL_QUANTILE * error)
        .then_some((first.share, second.share))
}

/// The standard deviation of a series as a share of its mean.
struct Spread {
    share: f64,
    /// Variance of the logarithm of the standard deviation: `(kurtosis - 1) / 4n` (delta method).
    variance_of_log: f64,
}

impl Spread {
    fn of(series: &[f64]) -> Option<Spread> {
        if series.len() < FEWEST_INTERVALS {
            return None;
        }
        let n = series.len() as f64;
        let mean = series.iter().sum::<f64>() / n;
        let moment = |power: i32| series.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
        let (second, fourth) = (moment(2), moment(4));
        if mean <= 0.0 {
            return None;
        }
        // The normal distribution has 3; a constant series has none.
        let kurtosis = if second > 0.0 {
            fourth / (second * second)
        } else {
            3.0
        };
        let independent = n / correlation_time(series).max(1.0);
        Some(Spread {
            share: second.sqrt() / mean,
            variance_of_log: (kurtosis.max(3.0) - 1.0) / (4.0 * independent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Noise;
    use super::*;

    /// Series with known standard deviations. Of 200 pairs without a difference at most one in twenty is less even; a deviation
    /// of five times is found always.
    #[test]
    fn a_larger_deviation_is_found_and_chance_is_not() {
        let mut noise = Noise(11);
        let mut found = |sd: f64, phi: f64| {
            let series = |noise: &mut Noise, sd| noise.series(60, 100.0, sd, phi);
            larger_deviation(&series(&mut noise, 3.0), &series(&mut noise, sd)).is_some()
        };
        for phi in [0.0, 0.5] {
            let chance = (0..200).filter(|_| found(3.0, phi)).count();
            assert!(chance <= 10, "{chance} of 200 at {phi}");
            assert!((0..50).all(|_| found(15.0, phi)), "{phi}");
        }
        assert!(!found(2.0, 0.0), "a more even rate");
    }
}
