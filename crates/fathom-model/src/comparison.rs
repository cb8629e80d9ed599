//! Two results side by side.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::{ComparedInput, Direction, Gate};

/// A metric of a result.
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

/// The difference between two series of the same metric.
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
    /// p-value of the Mann-Whitney test (its variance widened by the
    /// correlation time of the series).
    pub p: f64,
    /// The smallest change that is detected with a probability of at least 80 %: the width of `interval` on the
    /// logarithmic scale.
    pub resolution: f64,
}

impl Difference {
    /// The level of interval and test.
    pub const LEVEL: f64 = 0.05;

    /// Whether interval and test both show a difference.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.p < Self::LEVEL && (self.interval.0 > 0.0 || self.interval.1 < 0.0)
    }
}

/// An option in which two jobs of the same name differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionDifference {
    /// Which job.
    pub job: String,
    /// Which option.
    pub option: String,
    /// Its values; `None` where it is not set.
    pub values: (Option<String>, Option<String>),
}

/// One metric of both results.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonRow {
    /// Which job.
    pub job: String,
    /// Of which I/O.
    pub direction: Direction,
    /// Which metric.
    pub metric: Metric,
    /// Over the whole first run.
    pub before: f64,
    /// Over the whole second run.
    pub after: f64,
    /// `after / before - 1`.
    pub change: f64,
    /// The statistical comparison of the intervals of both runs.
    pub difference: Option<Difference>,
    /// There are no intervals, but both runs have samples of the rate, and the rates differ by more than twice their standard
    /// deviations together.
    pub is_apart: bool,
}

/// How the results of one pattern and depth compare in two collections of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadSummary {
    /// The pattern: `randread`.
    pub pattern: String,
    /// The queue depth of each job.
    pub depth: u32,
    /// Results with significantly more IOPS that are not less even, or whose samples are clearly higher.
    pub better: usize,
    /// Results with significantly more IOPS and a less even rate or a worse tail.
    pub mixed: usize,
    /// Results with significantly fewer, or whose samples are clearly lower.
    pub worse: usize,
    /// Results without a significant difference, or without intervals and samples that show one.
    pub undecided: usize,
    /// The smallest and the largest change of the IOPS, as shares.
    pub change: (f64, f64),
}

/// How two collections of results compare, such as the folders of two drives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectionSummary {
    /// Names of the first and the second, with their drives.
    pub names: (String, String),
    /// Their IOPS by pattern and depth.
    pub loads: Vec<LoadSummary>,
}

/// Two results side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Of collections of results: a summary of each with the first.
    pub summaries: Vec<CollectionSummary>,
    /// Metrics that both have.
    pub rows: Vec<ComparisonRow>,
    /// Jobs of different names that were paired because their loads are the same: before, after.
    pub renamed_jobs: Vec<(String, String)>,
    /// Directions of jobs that are less even in the second result.
    pub less_even: Vec<LessEven>,
    /// How even the rates are, where requested.
    pub shapes: Vec<ShapeComparison>,
    /// Options in which the plans differ.
    pub option_differences: Vec<OptionDifference>,
    /// Jobs that only one side has.
    pub unmatched_jobs: Vec<String>,
    /// Queue settings of a device that differ between the two; `job` is the device.
    pub settings: Vec<OptionDifference>,
    /// The verdict of each input, in the order of the arguments.
    pub inputs: Vec<ComparedInput>,
    /// The outcome of each limit.
    pub gates: Vec<Gate>,
    /// Why databases differ, by what each transaction cost.
    pub explanations: Vec<Explanation>,
    /// Number of runs on each side, if more than one. The differences are then between runs, not between intervals.
    pub repeats: Option<(usize, usize)>,
}

/// What a difference of the transactions per second goes with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Name of the job.
    pub job: String,
    /// The evidence.
    pub sentence: String,
}

/// One direction of a job whose second result is less even: its rate varies more, or its tail is longer.
#[derive(Clone, Debug, PartialEq)]
pub struct LessEven {
    /// Name of the job.
    pub job: String,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Standard deviation of the rate over the intervals as a share of its mean, before and after, if it is significantly larger.
    pub deviation: Option<(f64, f64)>,
    /// The worst percentile of both results and its change as a share, if it is significantly longer.
    pub tail: Option<(Metric, f64)>,
}

/// How even the rate of one direction of a job is over time, in both results.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeComparison {
    /// Name of the job.
    pub job: String,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Before and after.
    pub shapes: (RateShape, RateShape),
    /// How much later the pattern of the second result comes, seconds, and the correlation of the two at that shift; `None`
    /// without a common period.
    pub shift: Option<(f64, f64)>,
}

/// The rate of one direction over the intervals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateShape {
    /// Mean, I/Os per second.
    pub mean: f64,
    /// Standard deviation as a share of the mean.
    pub deviation: f64,
    /// The slowest interval, I/Os per second.
    pub worst: f64,
    /// The fastest interval, I/Os per second.
    pub best: f64,
    /// The period with which the rate rises and falls, seconds, and the correlation at that lag.
    pub period: Option<(f64, f64)>,
}
