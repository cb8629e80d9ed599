//! When I/Os arrive: moments, dispersion, autocorrelation, and the model that describes the gaps best.

use crate::histogram::LogHistogram;

/// Windows of the index of dispersion, in nanoseconds.
pub const WINDOWS: [u64; 3] = [10_000_000, 100_000_000, 1_000_000_000];
/// Rounds of the fit of the hyper-exponential distribution.
const ROUNDS: usize = 400;
/// By how much the Kolmogorov-Smirnov distance must shrink for a model with more parameters.
const GAIN: f64 = 0.01;
/// Gaps over which the local mean is taken.
const LOCAL: f64 = 500.0;
/// The mean of [`Arrivals::local`].
pub(crate) const UNIT: f64 = 1e6;
/// Gaps needed for a fit.
const ENOUGH: u64 = 50;

/// The model of the gaps between arrivals. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalModel {
    /// Too few gaps, or a trace without times.
    Unknown,
    /// Even gaps.
    Constant {
        /// The gap.
        gap: f64,
    },
    /// A Poisson process.
    Exponential {
        /// The mean gap.
        mean: f64,
    },
    /// Two-phase hyper-exponential (H2): with this share the gaps have the first mean, otherwise the second.
    Hyper {
        /// Share of the gaps of the first phase.
        share: f64,
        /// Mean of the first phase, the shorter one.
        short: f64,
        /// Mean of the second phase.
        long: f64,
    },
    /// Bursts of Poisson arrivals with even pauses between them.
    OnOff {
        /// Mean number of I/Os in a burst.
        burst: f64,
        /// Mean gap within a burst.
        gap: f64,
        /// Mean pause.
        pause: f64,
        /// Standard deviation of the pause.
        deviation: f64,
    },
}

impl ArrivalModel {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            ArrivalModel::Unknown => "unknown",
            ArrivalModel::Constant { .. } => "constant",
            ArrivalModel::Exponential { .. } => "exponential",
            ArrivalModel::Hyper { .. } => "H2",
            ArrivalModel::OnOff { .. } => "on/off",
        }
    }

    /// Its mean gap.
    pub(crate) fn mean(&self) -> Option<f64> {
        match *self {
            ArrivalModel::Unknown => None,
            ArrivalModel::Constant { gap } => Some(gap),
            ArrivalModel::Exponential { mean } => Some(mean),
            ArrivalModel::Hyper { share, short, long } => {
                Some(share * short + (1.0 - share) * long)
            }
            ArrivalModel::OnOff {
                burst, gap, pause, ..
            } => Some(gap + (pause - gap) / burst.max(1.0)),
        }
    }

    /// The share of gaps up to `x`.
    fn cdf(&self, x: f64) -> f64 {
        let exponential = |mean: f64| 1.0 - (-x / mean.max(1e-9)).exp();
        match *self {
            ArrivalModel::Unknown => 0.0,
            ArrivalModel::Constant { gap } => f64::from(u8::from(x >= gap)),
            ArrivalModel::Exponential { mean } => exponential(mean),
            ArrivalModel::Hyper { share, short, long } => {
                share * exponential(short) + (1.0 - share) * exponential(long)
            }
            ArrivalModel::OnOff {
                burst,
                gap,
                pause,
                deviation,
            } => {
                let pauses = 1.0 / burst.max(1.0);
                (1.0 - pauses) * exponential(gap)
                    + pauses * normal((x - pause) / deviation.max(pause * 0.01))
            }
        }
    }
}

/// The normal distribution function (logistic approximation, error below 0.01).
fn normal(x: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * x).exp())
}

#[derive(Clone, Debug, Default)]
struct Dispersion {
    window: u64,
    count: u64,
    windows: f64,
    sum: f64,
    squares: f64,
}

impl Dispersion {
    fn add(&mut self, window: u64) {
        if window > self.window {
            self.close(window - self.window);
            self.window = window;
        }
        self.count += 1;
    }

    fn close(&mut self, windows: u64) {
        let count = self.count as f64;
        self.sum += count;
        self.squares += count * count;
        self.windows += windows as f64;
        self.count = 0;
    }

    /// Variance of the counts over their mean: 1 for a Poisson process.
    fn index(&self) -> Option<f64> {
        if self.windows < 10.0 || self.sum == 0.0 {
            return None;
        }
        let mean = self.sum / self.windows;
        Some((self.squares / self.windows - mean * mean) / mean)
    }
}

/// Observes arrivals.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrivalCounter {
    first: Option<u64>,
    last: u64,
    previous: f64,
    pub gaps: LogHistogram,
    squares: f64,
    products: f64,
    dispersion: [Dispersion; 3],
    local_mean: f64,
    local: LogHistogram,
}

impl ArrivalCounter {
    pub fn add(&mut self, time: u64) {
        let is_first = self.first.is_none();
        let first = *self.first.get_or_insert(time);
        if !is_first {
            let gap = time.saturating_sub(self.last);
            self.gaps.add(gap);
            let gap = gap as f64;
            self.squares += gap * gap;
            self.products += gap * self.previous;
            self.previous = gap;
            let weight = 1.0 / LOCAL.min(self.gaps.total() as f64);
            self.local_mean += (gap - self.local_mean) * weight;
            if self.gaps.total() as f64 > LOCAL / 10.0 && self.local_mean > 0.0 {
                self.local.add((gap / self.local_mean * UNIT) as u64);
            }
        }
        self.last = time;
        for (dispersion, window) in self.dispersion.iter_mut().zip(WINDOWS) {
            dispersion.add(time.saturating_sub(first) / window);
        }
    }

    pub fn finish(self) -> Arrivals {
        let count = self.gaps.total().max(1) as f64;
        let mean = self.gaps.mean();
        let variance = (self.squares / count - mean * mean).max(0.0);
        let cv2 = if mean > 0.0 {
            variance / (mean * mean)
        } else {
            0.0
        };
        let (model, distance) = fit(&self.gaps, cv2);
        Arrivals {
            mean_gap: mean,
            cv2,
            autocorrelation: if variance > 0.0 {
                (self.products / count - mean * mean) / variance
            } else {
                0.0
            },
            dispersion: self.dispersion.map(|dispersion| dispersion.index()),
            model,
            distance,
            local: fit(&self.local, self.local.cv2()).0,
            gaps: self.gaps,
        }
    }
}

/// When I/Os arrive. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Mean gap between two arrivals.
    pub mean_gap: f64,
    /// Squared coefficient of variation of the gaps: 0 even, 1 Poisson, more is bursty.
    pub cv2: f64,
    /// Correlation of a gap with the next one.
    pub autocorrelation: f64,
    /// Variance of the counts over their mean, in windows of 10 ms, 100 ms and 1 s; `None` with fewer than ten windows.
    pub dispersion: [Option<f64>; 3],
    /// The model that describes the gaps best.
    pub model: ArrivalModel,
    /// Kolmogorov-Smirnov distance of that model, 0 to 1.
    pub distance: f64,
    /// The model of the gaps relative to their mean at that time, which is 1,000,000: without the phases.
    pub local: ArrivalModel,
    /// All gaps.
    pub gaps: LogHistogram,
}

fn fit(gaps: &LogHistogram, cv2: f64) -> (ArrivalModel, f64) {
    let mean = gaps.mean();
    if gaps.total() < ENOUGH || mean < 1.0 {
        return (ArrivalModel::Unknown, 1.0);
    }
    if cv2 < 0.5 {
        let model = ArrivalModel::Constant { gap: mean };
        return (model, gaps.distance_to(|x| model.cdf(x)));
    }
    let mut candidates = vec![ArrivalModel::Exponential { mean }];
    if cv2 > 1.1 {
        // Bursts with even pauses are close to an H2 in this distance, whose long gaps are few; the hole between the gaps decides.
        let pauses = on_off(gaps);
        candidates.push(pauses.unwrap_or_else(|| hyper(gaps)));
    }
    let mut best = (ArrivalModel::Unknown, f64::INFINITY);
    for candidate in candidates {
        let distance = gaps.distance_to(|x| candidate.cdf(x));
        if distance < best.1 - if best.1.is_finite() { GAIN } else { 0.0 } {
            best = (candidate, distance);
        }
    }
    best
}

/// Maximum likelihood by expectation maximisation over the buckets.
fn hyper(gaps: &LogHistogram) -> ArrivalModel {
    let mean = gaps.mean();
    let total = gaps.total() as f64;
    let points: Vec<(f64, f64)> = gaps
        .buckets()
        .map(|(from, to, count)| (f64::midpoint(from, to), count as f64))
        .collect();
    let (mut share, mut short, mut long) = (0.5, gaps.quantile(0.5).max(1.0) * 0.5, mean * 2.0);
    for _ in 0..ROUNDS {
        let (mut weight, mut near, mut far) = (0.0, 0.0, 0.0);
        for (x, count) in &points {
            let first = share / short * (-x / short).exp();
            let second = (1.0 - share) / long * (-x / long).exp();
            let belongs = if first + second > 0.0 {
                first / (first + second)
            } else {
                0.0
            };
            weight += belongs * count;
            near += belongs * count * x;
            far += (1.0 - belongs) * count * x;
        }
        share = (weight / total).clamp(1e-6, 1.0 - 1e-6);
        short = (near / weight.max(1e-9)).max(0.5);
        long = (far / (total - weight).max(1e-9)).max(0.5);
    }
    if short > long {
        (share, short, long) = (1.0 - share, long, short);
    }
    ArrivalModel::Hyper { share, short, long }
}

/// Bursts and pauses, where the gaps between them have a hole of at least a factor of 3 without values.
fn on_off(gaps: &LogHistogram) -> Option<ArrivalModel> {
    let buckets: Vec<_> = gaps.buckets().collect();
    let mean = gaps.mean();
    let (mut cut, mut widest) = (None, 3.0);
    for (index, pair) in buckets.windows(2).enumerate() {
        let hole = pair[1].0 / pair[0].1.max(1.0);
        if pair[1].0 > mean && hole > widest {
            (cut, widest) = (Some(index + 1), hole);
        }
    }
    let cut = cut?;
    let moments = |part: &[(f64, f64, u64)]| {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (from, to, number) in part {
            let (x, number) = (f64::midpoint(*from, *to), *number as f64);
            count += number;
            sum += number * x;
            squares += number * x * x;
        }
        let mean = sum / count;
        (count, mean, (squares / count - mean * mean).max(0.0).sqrt())
    };
    let (inner, gap, _) = moments(&buckets[..cut]);
    let (pauses, pause, deviation) = moments(&buckets[cut..]);
    (pauses >= 5.0 && deviation < 0.5 * pause).then_some(ArrivalModel::OnOff {
        burst: (inner + pauses) / pauses,
        gap,
        pause,
        deviation,
    })
}
