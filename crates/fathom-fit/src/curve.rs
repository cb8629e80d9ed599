//! One curve: the law that fits a set of loads best, with its errors.

use crate::law::{Law, LawKind, PARAMETERS};
use crate::least_squares::{Matrix, Minimum, gradient, minimise};
use crate::student::t_95;

/// The confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;
/// A prediction is refused beyond this factor of the largest measured load.
pub const REACH: f64 = 2.0;
/// A fit needs this many different loads: one more than a law has parameters.
pub const FEWEST_LOADS: usize = PARAMETERS + 1;
/// A fit needs loads over at least this factor.
const SPAN: f64 = 4.0;
/// Of two laws whose errors in cross-validation differ by less than this (relative error, so one in
/// ten thousand), the first in [`LawKind::ALL`] is taken.
const SAME_ERROR: f64 = 1e-4;
/// Depths to measure, in the order in which a message suggests them.
const SUGGESTED: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// One measured point of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Queue depth of each job.
    pub depth: u32,
    /// Concurrent jobs.
    pub jobs: u32,
    /// Good I/Os per second of all jobs.
    pub iops: f64,
    /// Mean latency, seconds, if it was measured.
    pub mean_s: Option<f64>,
}

impl LoadPoint {
    /// A point.
    #[must_use]
    pub fn new(depth: u32, jobs: u32, iops: f64, mean_s: Option<f64>) -> LoadPoint {
        LoadPoint {
            depth,
            jobs,
            iops,
            mean_s,
        }
    }

    /// The I/Os in flight: depth times jobs.
    #[must_use]
    pub fn in_flight(&self) -> f64 {
        f64::from(self.depth) * f64::from(self.jobs)
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.depth > 0 && self.jobs > 0 && self.iops.is_finite() && self.iops > 0.0
    }
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; may be infinite.
    pub high: f64,
}

impl Interval {
    /// Whether the value is inside.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half the width relative to the middle: 0.05 is plus or minus 5 %. Infinite for an open end.
    #[must_use]
    pub fn relative(&self) -> f64 {
        let sum = self.high + self.low;
        if sum.is_finite() && sum > 0.0 {
            (self.high - self.low) / sum
        } else {
            f64::INFINITY
        }
    }
}

/// Why there is no curve or no prediction. Each text says what to measure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Not enough different loads.
    #[error(
        "{found} different load{}, a fit needs at least {FEWEST_LOADS} (I/Os in flight measured: {}); measure next: iodepth={}",
        if *.found == 1 { "" } else { "s" }, list(.measured), list(.next)
    )]
    TooFew {
        /// Different loads found.
        found: usize,
        /// They.
        measured: Vec<f64>,
        /// Depths to measure.
        next: Vec<f64>,
    },
    /// The loads are too close together to show a curve.
    #[error(
        "the loads reach only from {low} to {high} I/Os in flight, a fit needs a factor of {SPAN}; measure next: iodepth={}",
        list(.next)
    )]
    TooNarrow {
        /// Smallest load.
        low: f64,
        /// Largest load.
        high: f64,
        /// Depths to measure.
        next: Vec<f64>,
    },
    /// A prediction too far from the measurements.
    #[error(
        "{load} I/Os in flight are outside the range of the measurements: {low} to {high} were measured, and a prediction is made from {} to {}; measure next: iodepth={load}",
        low / REACH, high * REACH
    )]
    OutOfRange {
        /// The load.
        load: f64,
        /// Smallest measured load.
        low: f64,
        /// Largest measured load.
        high: f64,
    },
}

fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(",")
    }
}

/// A law with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The law, fitted to all points.
    pub law: Law,
    /// Root mean square of the relative errors at loads that were left out, one load at a time.
    pub cross_validation: f64,
    /// Root mean square of the relative residuals.
    pub residual: f64,
}

/// A fitted parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its value, in the unit of the law.
    pub value: f64,
    /// Its 95 % interval; unlimited if the points do not determine it.
    pub interval: Interval,
    /// The value is at the end of its allowed range, where no interval can be given.
    pub is_at_bound: bool,
}

/// A prediction for one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// I/Os per second.
    pub iops: f64,
    /// 95 % interval of the curve.
    pub curve: Interval,
    /// 95 % interval of one more measurement.
    pub measurement: Interval,
    /// Mean latency, seconds.
    pub mean_s: f64,
}

/// A curve that was fitted to points.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveFit {
    /// The chosen law.
    pub law: Law,
    /// Its parameters with their intervals.
    pub parameters: [Parameter; PARAMETERS],
    /// All laws, the chosen one first.
    pub candidates: Vec<Candidate>,
    /// The points, by load.
    pub points: Vec<LoadPoint>,
    /// Time between a completion and the next submission, seconds: Little's law with the measured
    /// mean latencies.
    pub think_s: f64,
    /// Standard deviation of the residuals of `ln X`.
    pub sigma: f64,
    /// Points less parameters.
    pub freedom: usize,
    /// Root mean square of the relative differences between points of equal load and their mean;
    /// `None` without such points. No law of the load alone can be more exact than this.
    pub same_load: Option<f64>,
    inverse: Matrix,
}

/// Fits the law that predicts left-out loads best.
///
/// # Errors
/// When the points have too few different loads, or they are too close together.
pub fn fit(points: &[LoadPoint]) -> Result<CurveFit, FitError> {
    let points = usable(points)?;
    let mut all: Vec<(Candidate, Minimum)> = LawKind::ALL
        .into_iter()
        .map(|kind| candidate(kind, &points))
        .collect();
    // A stable sort by steps of the error keeps the order of the laws for equal ones.
    all.sort_by(|a, b| a.0.cross_validation.total_cmp(&b.0.cross_validation));
    let least = all[0].0.cross_validation;
    let best = LawKind::ALL
        .into_iter()
        .filter_map(|kind| all.iter().position(|one| one.0.law.kind == kind))
        .find(|at| all[*at].0.cross_validation <= least + SAME_ERROR)
        .unwrap_or(0);
    let chosen = all.remove(best);
    all.insert(0, chosen);
    let candidates = all.iter().map(|one| one.0).collect();
    Ok(curve(points, candidates, &all[0].1))
}

/// Whether [`fit`] finds a law for these points, without the fit: that takes as long as reading hundreds of results.
#[must_use]
pub fn can_fit(points: &[LoadPoint]) -> bool {
    usable(points).is_ok()
}

/// Fits one law.
///
/// # Errors
/// As [`fit`].
pub fn fit_law(kind: LawKind, points: &[LoadPoint]) -> Result<CurveFit, FitError> {
    let points = usable(points)?;
    let (candidate, minimum) = candidate(kind, &points);
    Ok(curve(points, vec![candidate], &minimum))
}

/// The points that a fit can use, by load.
pub(crate) fn usable(points: &[LoadPoint]) -> Result<Vec<LoadPoint>, FitError> {
    let mut points: Vec<LoadPoint> = points
        .iter()
        .copied()
        .filter(LoadPoint::is_usable)
        .collect();
    points.sort_by(|a, b| {
        (a.in_flight(), a.depth)
            .partial_cmp(&(b.in_flight(), b.depth))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let measured = loads(&points);
    let next = |count: usize| -> Vec<f64> {
        let missing = SUGGESTED.into_iter().filter(|n| !measured.contains(n));
        missing.take(count).collect()
    };
    if measured.len() < FEWEST_LOADS {
        return Err(FitError::TooFew {
            found: measured.len(),
            next: next(6 - measured.len().min(5)),
            measured,
        });
    }
    let (low, high) = (measured[0], measured[measured.len() - 1]);
    if high / low < SPAN {
        return Err(FitError::TooNarrow {
            low,
            high,
            next: next(3),
        });
    }
    Ok(points)
}

/// The different loads, rising.
fn loads(points: &[LoadPoint]) -> Vec<f64> {
    let mut all: Vec<f64> = points.iter().map(LoadPoint::in_flight).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

fn logs(points: &[LoadPoint]) -> Vec<(f64, f64)> {
    points
        .iter()
        .map(|point| (point.in_flight(), point.iops.ln()))
        .collect()
}

fn candidate(kind: LawKind, points: &[LoadPoint]) -> (Candidate, Minimum) {
    let all = logs(points);
    let minimum = minimise(kind, &all);
    let mut sum = 0.0;
    for load in loads(points) {
        let (left_out, kept): (Vec<_>, Vec<_>) = all.iter().partition(|point| point.0 == load);
        let law = minimise(kind, &kept).law;
        sum += left_out
            .iter()
            .map(|(n, y): &(f64, f64)| ((law.log_iops(*n) - y).exp() - 1.0).powi(2))
            .sum::<f64>();
    }
    let candidate = Candidate {
        law: minimum.law,
        cross_validation: (sum / all.len() as f64).sqrt(),
        residual: (minimum.sum / all.len() as f64).sqrt(),
    };
    (candidate, minimum)
}

fn curve(points: Vec<LoadPoint>, candidates: Vec<Candidate>, minimum: &Minimum) -> CurveFit {
    let law = minimum.law;
    let count = minimum.free.iter().filter(|free| **free).count();
    let freedom = points.len().saturating_sub(count);
    let sigma = (minimum.sum / freedom.max(1) as f64).sqrt();
    let t = t_95(freedom);
    let coordinates = law.coordinates();
    let parameters = std::array::from_fn(|n| {
        let info = &law.kind.parameters()[n];
        let half = t * sigma * minimum.inverse[n][n].max(0.0).sqrt();
        let end = |coordinate: f64| {
            // Outside the allowed range there is no other end.
            if info.is_log {
                coordinate.exp()
            } else {
                coordinate.max(info.bounds.0)
            }
        };
        let interval = if minimum.free[n] && half.is_finite() {
            Interval {
                low: end(coordinates[n] - half),
                high: end(coordinates[n] + half),
            }
        } else {
            Interval {
                low: 0.0,
                high: f64::INFINITY,
            }
        };
        Parameter {
            value: law.values[n],
            interval,
            is_at_bound: !minimum.free[n],
        }
    });
    CurveFit {
        law,
        parameters,
        candidates,
        think_s: think_time(&law, &points),
        same_load: same_load(&points),
        points,
        sigma,
        freedom,
        inverse: minimum.inverse,
    }
}

/// The think time that makes `R = N / X - Z` fit the mean latencies best: the median over the points,
/// limited to the latency of the law without load. Single I/Os in flight show it best, because it is
/// the same at every load and the latency is shortest there.
fn think_time(law: &Law, points: &[LoadPoint]) -> f64 {
    let shallow = points[0].in_flight() * 4.0;
    let mut seen: Vec<f64> = points
        .iter()
        .filter(|point| point.in_flight() <= shallow)
        .filter_map(|point| Some(point.in_flight() / point.iops - point.mean_s?))
        .collect();
    if seen.is_empty() {
        return 0.0;
    }
    seen.sort_by(f64::total_cmp);
    seen[seen.len() / 2].clamp(0.0, law.residence_s(1.0))
}

fn same_load(points: &[LoadPoint]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_usize);
    for load in loads(points) {
        let values: Vec<f64> = points
            .iter()
            .filter(|point| point.in_flight() == load)
            .map(|point| point.iops.ln())
            .collect();
        if values.len() > 1 {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            sum += values.iter().map(|y| (y - mean).powi(2)).sum::<f64>();
            count += values.len() - 1;
        }
    }
    (count > 0).then(|| (sum / count as f64).sqrt())
}

impl CurveFit {
    /// Smallest and largest measured load.
    #[must_use]
    pub fn measured(&self) -> (f64, f64) {
        (
            self.points[0].in_flight(),
            self.points[self.points.len() - 1].in_flight(),
        )
    }

    /// Throughput and latency at a load.
    ///
    /// # Errors
    /// When the load is beyond twice the largest measured load, or below half the smallest one.
    pub fn predict(&self, in_flight: f64) -> Result<Prediction, FitError> {
        let (low, high) = self.measured();
        // Written so that it refuses what is not a number.
        if !(in_flight >= low / REACH && in_flight <= high * REACH) {
            return Err(FitError::OutOfRange {
                load: in_flight,
                low,
                high,
            });
        }
        let slope = gradient(self.law.kind, &self.law.coordinates(), in_flight);
        let variance = self.variance(&slope);
        let (iops, t) = (self.law.iops(in_flight), t_95(self.freedom));
        let interval = |variance: f64| {
            let half = t * self.sigma * variance.max(0.0).sqrt();
            Interval {
                low: iops * (-half).exp(),
                high: iops * half.exp(),
            }
        };
        Ok(Prediction {
            iops,
            curve: interval(variance),
            measurement: interval(variance + 1.0),
            mean_s: (in_flight / iops - self.think_s).max(0.0),
        })
    }

    /// I/Os in service at the ceiling: the ceiling over the throughput of one I/O in flight. Exact
    /// for servers of fixed service times and for a balanced closed system. `None` for a law
    /// without a ceiling, or a curve that falls again.
    pub(crate) fn servers(&self) -> Option<(f64, Interval)> {
        let kind = self.law.kind;
        let (ceiling, mut slope) = match kind {
            LawKind::SoftMinimum => (self.law.values[1], [0.0, 1.0, 0.0]),
            LawKind::Usl => {
                let [lambda, sigma, kappa] = self.law.values;
                // The coherence must not matter where it was measured.
                if kappa * self.measured().1 > 0.1 * sigma {
                    return None;
                }
                (lambda / sigma, [1.0, -1.0 / sigma, 0.0])
            }
            LawKind::Ncq => return None,
        };
        let at_one = gradient(kind, &self.law.coordinates(), 1.0);
        for (part, one) in slope.iter_mut().zip(at_one) {
            *part -= one;
        }
        let half = t_95(self.freedom) * self.sigma * self.variance(&slope).max(0.0).sqrt();
        let servers = ceiling / self.law.iops(1.0);
        let interval = Interval {
            low: servers * (-half).exp(),
            high: servers * half.exp(),
        };
        half.is_finite().then_some((servers, interval))
    }

    /// The variance of a function of the parameters with this gradient, in units of `sigma`.
    fn variance(&self, slope: &[f64; PARAMETERS]) -> f64 {
        let mut variance = 0.0;
        for row in 0..PARAMETERS {
            for column in 0..PARAMETERS {
                let part = slope[row] * slope[column];
                if part != 0.0 {
                    variance += part * self.inverse[row][column];
                }
            }
        }
        variance
    }

    /// The largest relative residual, with its sign: measured against the law.
    #[must_use]
    pub fn worst(&self) -> (LoadPoint, f64) {
        let error = |point: &LoadPoint| point.iops / self.law.iops(point.in_flight()) - 1.0;
        self.points
            .iter()
            .map(|point| (*point, error(point)))
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
            .unwrap_or((self.points[0], 0.0))
    }
}
