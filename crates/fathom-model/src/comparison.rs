//! Two results side by side.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::Direction;

/// A figure of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean completion latency, nanoseconds.
    Mean,
    /// A percentile of the completion latency, nanoseconds.
    Percentile(f64),
}

impl Metric {
    /// Whether a larger value is the better one.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Metric::Iops | Metric::Bandwidth)
    }
}

impl Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Iops => f.write_str("iops"),
            Metric::Bandwidth => f.write_str("bw"),
            Metric::Mean => f.write_str("mean"),
            Metric::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

impl FromStr for Metric {
    type Err = ();

    fn from_str(text: &str) -> Result<Metric, ()> {
        match text {
            "iops" => Ok(Metric::Iops),
            "bw" => Ok(Metric::Bandwidth),
            "mean" => Ok(Metric::Mean),
            "median" => Ok(Metric::Percentile(50.0)),
            other => {
                let percent: f64 = other
                    .strip_prefix('p')
                    .and_then(|text| text.parse().ok())
                    .ok_or(())?;
                if (0.0..=100.0).contains(&percent) {
                    Ok(Metric::Percentile(percent))
                } else {
                    Err(())
                }
            }
        }
    }
}

/// The difference between two series of the same figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Median of the first, in its unit.
    pub before: f64,
    /// Median of the second.
    pub after: f64,
    /// Change of the median as a share: 0.05 is 5 % more.
    pub change: f64,
    /// 95 % confidence interval of the change (bootstrap of the logarithm of the median,
    /// widened by the correlation time; of repeats, Welch's); never below -1.
    pub interval: (f64, f64),
    /// Probability of ranks so different when there is no difference (Mann-Whitney, its variance widened by the
    /// correlation time of the series).
    pub p: f64,
    /// The smallest change that would have been shown in four cases of five or more: the width of `interval` on the
    /// logarithmic scale.
    pub resolution: f64,
}

impl Difference {
    /// The level of interval and test.
    pub const LEVEL: f64 = 0.05;

    /// Whether interval and test agree that there is a difference.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.p < Self::LEVEL && (self.interval.0 > 0.0 || self.interval.1 < 0.0)
    }
}

/// An option in which two jobs of the same name differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Which job.
    pub job: String,
    /// Which option.
    pub option: String,
    /// Its values; `None` where it is not set.
    pub values: (Option<String>, Option<String>),
}

/// One figure on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which job.
    pub job: String,
    /// Of which I/O.
    pub direction: Direction,
    /// Which figure.
    pub metric: Metric,
    /// Over the whole first run.
    pub before: f64,
    /// Over the whole second run.
    pub after: f64,
    /// `after / before - 1`.
    pub change: f64,
    /// What the intervals of both runs say.
    pub difference: Option<Difference>,
}

/// Two results side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Figures that both have.
    pub rows: Vec<Row>,
    /// Where the plans differ.
    pub unlike: Vec<Unlike>,
    /// Jobs that only one side has.
    pub alone: Vec<String>,
    /// Settings of the queue of a device in both that are others in the second; `job` is the device.
    pub settings: Vec<Unlike>,
    /// How many runs are on each side, where there is more than one: differences are then those between runs, not intervals.
    pub repeats: Option<(usize, usize)>,
}
