//! Types of `fathom ready`: checks of a storage target against the limits of an application.

use crate::Nanos;

/// What a check measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyMetric {
    /// Latency of fsync or fdatasync.
    Sync,
    /// Latency of reads: response time where the job has a rate, service time otherwise.
    Read,
    /// Latency of writes: response time where the job has a rate, service time otherwise.
    Write,
    /// I/Os per second, reads and writes together.
    Rate,
}

impl ReadyMetric {
    /// Its name in profiles and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ReadyMetric::Sync => "sync",
            ReadyMetric::Read => "read",
            ReadyMetric::Write => "write",
            ReadyMetric::Rate => "rate",
        }
    }

    /// The metric of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ReadyMetric> {
        [
            ReadyMetric::Sync,
            ReadyMetric::Read,
            ReadyMetric::Write,
            ReadyMetric::Rate,
        ]
        .into_iter()
        .find(|metric| metric.name() == name)
    }
}

/// The figure of a latency distribution that has a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadyFigure {
    /// The mean.
    Mean,
    /// A percentile above 0 and below 100.
    Percentile(f64),
}

impl std::fmt::Display for ReadyFigure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadyFigure::Mean => f.write_str("mean"),
            ReadyFigure::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

/// The limits of a check. The hard limit decides between pass and fail, the soft limit between pass and warn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadyLimit {
    /// The latency must not be higher.
    AtMost {
        /// The limited figure.
        figure: ReadyFigure,
        /// Above it the check fails.
        hard: Nanos,
        /// Above it the check warns.
        soft: Option<Nanos>,
    },
    /// The rate must not be lower; I/Os per second.
    AtLeast {
        /// Below it the check fails.
        hard: f64,
        /// Below it the check warns.
        soft: Option<f64>,
    },
}

impl ReadyLimit {
    /// The hard limit: nanoseconds, or I/Os per second.
    #[must_use]
    pub fn hard(&self) -> f64 {
        match self {
            ReadyLimit::AtMost { hard, .. } => hard.get() as f64,
            ReadyLimit::AtLeast { hard, .. } => *hard,
        }
    }

    /// The soft limit, in the same unit.
    #[must_use]
    pub fn soft(&self) -> Option<f64> {
        match self {
            ReadyLimit::AtMost { soft, .. } => soft.map(|soft| soft.get() as f64),
            ReadyLimit::AtLeast { soft, .. } => *soft,
        }
    }

    /// Whether it limits a rate from below.
    #[must_use]
    pub const fn is_rate(&self) -> bool {
        matches!(self, ReadyLimit::AtLeast { .. })
    }
}

/// A check: one figure of one job against its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadyCheck {
    /// What the application does there, such as `commits to the WAL`.
    pub title: String,
    /// The job that is judged.
    pub job: String,
    /// What is measured.
    pub metric: ReadyMetric,
    /// The limits.
    pub limit: ReadyLimit,
    /// What to change when it is not met.
    pub advice: Option<String>,
    /// Who published the limit.
    pub source: Option<String>,
}

/// The verdict of a check, and of all checks together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyVerdict {
    /// The whole interval is on the good side of all limits.
    Pass,
    /// The hard limit is met, the soft limit is not, or not surely.
    Warn,
    /// The measurement does not decide.
    Undecided,
    /// The whole interval is on the bad side of the hard limit.
    Fail,
}

impl ReadyVerdict {
    /// Its name in text and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ReadyVerdict::Pass => "pass",
            ReadyVerdict::Warn => "warn",
            ReadyVerdict::Undecided => "undecided",
            ReadyVerdict::Fail => "fail",
        }
    }

    /// The verdict of several checks: a failed one decides, then an undecided one, then a warning.
    #[must_use]
    pub fn of_all(verdicts: impl IntoIterator<Item = ReadyVerdict>) -> ReadyVerdict {
        let weight = |verdict: ReadyVerdict| verdict as u8;
        verdicts
            .into_iter()
            .max_by_key(|verdict| weight(*verdict))
            .unwrap_or(ReadyVerdict::Undecided)
    }
}

/// A figure with its interval. Nanoseconds for latencies, I/Os per second for rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadyEstimate {
    /// The estimate; `None` before anything was measured.
    pub value: Option<f64>,
    /// The lower end; `None` if the measurement gives none.
    pub low: Option<f64>,
    /// The upper end; `None` if the measurement gives none.
    pub high: Option<f64>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadyCheckResult {
    /// The check.
    pub check: ReadyCheck,
    /// The step of the profile that measured it.
    pub step: String,
    /// The figure, and its interval that holds at all looks together.
    pub estimate: ReadyEstimate,
    /// The confidence of the interval, 0 to 1.
    pub confidence: f64,
    /// I/Os that were measured.
    pub samples: u64,
    /// The number of independent I/Os that would give as narrow an interval.
    pub effective_samples: f64,
    /// Measured time until the last look, seconds.
    pub seconds: f64,
    /// I/Os per second of the judged kind, for latencies.
    pub rate: Option<f64>,
    /// The verdict.
    pub verdict: ReadyVerdict,
    /// Why it is undecided although an interval exists.
    pub reason: Option<String>,
}

impl ReadyCheckResult {
    /// How far the estimate is from the hard limit, as a share of the limit: positive on the good side.
    #[must_use]
    pub fn headroom(&self) -> Option<f64> {
        let hard = self.check.limit.hard();
        let value = self.estimate.value?;
        (hard > 0.0).then(|| {
            if self.check.limit.is_rate() {
                value / hard - 1.0
            } else {
                1.0 - value / hard
            }
        })
    }
}

/// The answer of `fathom ready`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadyResult {
    /// Name of the profile, `custom` for a load of the command line.
    pub profile: String,
    /// One line about it.
    pub title: String,
    /// The directory or device.
    pub target: String,
    /// The verdict of all checks.
    pub verdict: ReadyVerdict,
    /// Its reason in one sentence.
    pub reason: String,
    /// The measurement means nothing, so that a longer one would not decide either.
    pub has_fault: bool,
    /// The checks, in order.
    pub checks: Vec<ReadyCheckResult>,
    /// The loads that ran beside the judged jobs.
    pub background: Vec<String>,
    /// Conditions that affect the verdict, each with its consequence.
    pub notes: Vec<String>,
    /// Sources of the profile.
    pub sources: Vec<String>,
    /// Stored runs.
    pub runs: Vec<String>,
    /// The verdict of each host, and its reason; empty for one host.
    pub hosts: Vec<(String, ReadyVerdict, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_decides_then_an_undecided_one() {
        use ReadyVerdict::{Fail, Pass, Undecided, Warn};
        assert_eq!(ReadyVerdict::of_all([Pass, Warn, Undecided, Fail]), Fail);
        assert_eq!(ReadyVerdict::of_all([Pass, Warn, Undecided]), Undecided);
        assert_eq!(ReadyVerdict::of_all([Pass, Warn]), Warn);
        assert_eq!(ReadyVerdict::of_all([Pass]), Pass);
        assert_eq!(ReadyVerdict::of_all([]), Undecided);
    }
}
