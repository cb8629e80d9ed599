//! How even a rate is over time: deviation, extremes, period, and the shift between two series.

use fathom_model::{Metric, RateShape, ShapeComparison};

use super::runs::pairs;
use super::{ComparedRun, Figure};

/// A rate is periodic if its correlation with itself one period later is at least this.
const PERIODIC: f64 = 0.5;
/// Minimum number of periods in a series; fewer could be chance.
const PERIODS: usize = 3;

/// The shapes of the rates of all pairs of jobs that have intervals.
#[must_use]
pub fn shapes(before: &[ComparedRun], after: &[ComparedRun]) -> Vec<ShapeComparison> {
    let mut all = Vec::new();
    for (job, other) in before.iter().zip(pairs(before, after)) {
        let Some(other) = other.map(|n| &after[n]) else {
            continue;
        };
        for figure in job.figures.iter().filter(|figure| has_shape(figure)) {
            let same = |one: &&Figure| has_shape(one) && one.direction == figure.direction;
            let Some(second) = other.figures.iter().find(same) else {
                continue;
            };
            let shapes = (
                shape(&figure.series, job.interval_s),
                shape(&second.series, other.interval_s),
            );
            let is_comparable = job.interval_s > 0.0 && job.interval_s == other.interval_s;
            let shift = shapes
                .0
                .period
                .zip(shapes.1.period)
                .filter(|_| is_comparable)
                .and_then(|(period, _)| {
                    let lags = (period.0 / job.interval_s).round() as usize;
                    shift(&figure.series, &second.series, lags)
                })
                .map(|(lag, correlation)| (lag as f64 * job.interval_s, correlation));
            all.push(ShapeComparison {
                job: job.name.clone(),
                direction: figure.direction,
                shapes,
                shift,
            });
        }
    }
    all
}

fn has_shape(figure: &Figure) -> bool {
    figure.metric == Metric::Iops && figure.series.len() >= super::FEWEST_INTERVALS
}

fn shape(series: &[f64], interval_s: f64) -> RateShape {
    let mean = mean(series);
    let variance =
        series.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (series.len() - 1) as f64;
    RateShape {
        mean,
        deviation: if mean > 0.0 {
            variance.sqrt() / mean
        } else {
            0.0
        },
        worst: series.iter().copied().fold(f64::INFINITY, f64::min),
        best: series.iter().copied().fold(0.0, f64::max),
        period: period(series).map(|(lag, correlation)| (lag as f64 * interval_s, correlation)),
    }
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len().max(1) as f64
}

/// Correlation of `a` with `b` that is `lag` values later, both as deviations from their means; between -1 and 1.
fn correlation(a: &[f64], b: &[f64], lag: usize) -> f64 {
    let pairs = || a.iter().zip(b.iter().skip(lag));
    let n = pairs().count().max(1) as f64;
    let (mean_a, mean_b) = (
        pairs().map(|(x, _)| x).sum::<f64>() / n,
        pairs().map(|(_, y)| y).sum::<f64>() / n,
    );
    let (mut product, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (x, y) in pairs() {
        let (x, y) = (x - mean_a, y - mean_b);
        product += x * y;
        square_a += x * x;
        square_b += y * y;
    }
    let scale = (square_a * square_b).sqrt();
    if scale > 0.0 { product / scale } else { 0.0 }
}

/// The lag of the first peak of the autocorrelation after it was negative: a trend or slow drift never becomes negative before a
/// peak, and is not a period.
fn period(series: &[f64]) -> Option<(usize, f64)> {
    let lags = series.len() / PERIODS;
    let at: Vec<f64> = (0..=lags + 1)
        .map(|lag| correlation(series, series, lag))
        .collect();
    let negative = at.iter().position(|r| *r < 0.0)?;
    let positive = (negative..=lags).find(|lag| at[*lag] > 0.0)?;
    // The highest value before the correlation is negative again.
    let end = (positive..=lags)
        .find(|lag| at[*lag] < 0.0)
        .unwrap_or(lags + 1);
    let peak = (positive..end).max_by(|a, b| at[*a].total_cmp(&at[*b]))?;
    (at[peak] >= PERIODIC).then_some((peak, at[peak]))
}

/// The shift below one period at which the second series follows the first best.
fn shift(before: &[f64], after: &[f64], period: usize) -> Option<(usize, f64)> {
    let all = (0..period.max(1)).map(|lag| (lag, correlation(before, after, lag)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, r)| *r >= PERIODIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 I/Os per second plus a sine of 200 with a period of 12 values.
    fn wave(shift: usize) -> Vec<f64> {
        let angle = |n: usize| std::f64::consts::TAU * (n as f64 - shift as f64) / 12.0;
        (0..96).map(|n| 1000.0 + 200.0 * angle(n).sin()).collect()
    }

    /// Regression 0506: `compare` called an uneven rate better without a word on its unevenness. A sine of amplitude 200 around
    /// 1,000 has a standard deviation of 200 / sqrt(2) = 14.1 %, reaches 800 and 1,200, and has its own period.
    #[test]
    fn the_shape_of_a_sine() {
        let found = shape(&wave(0), 5.0);
        assert!((found.deviation - 0.1414).abs() < 0.001, "{found:?}");
        assert_eq!((found.worst.round(), found.best.round()), (800.0, 1200.0));
        assert_eq!(found.period.map(|(s, _)| s), Some(60.0));
        assert_eq!(shift(&wave(0), &wave(4), 12).map(|(lag, _)| lag), Some(4));
    }

    #[test]
    fn noise_trends_and_constants_have_no_period() {
        let trend: Vec<f64> = (0..96).map(f64::from).collect();
        let mut noise = super::super::tests::Noise(3);
        for series in [trend, vec![5.0; 96], noise.series(96, 100.0, 5.0, 0.0)] {
            assert_eq!(period(&series), None);
        }
    }
}
