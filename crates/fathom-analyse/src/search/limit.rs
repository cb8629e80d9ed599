//! Limits on latency: `p99<=1ms`.

use std::fmt;
use std::str::FromStr;

use fathom_model::{CellLatency, Nanos};

use crate::latency_class::{MOST_OF_DISK, MOST_OF_FLASH};

use crate::figures::duration;

/// Percentiles that every cell has.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// A figure of a latency distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatencyFigure {
    /// The mean.
    Mean,
    /// A percentile that every cell has: 50, 90, 99, 99.9 or 99.99.
    Percentile(f64),
    /// The maximum.
    Max,
}

impl fmt::Display for LatencyFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LatencyFigure::Mean => f.write_str("mean"),
            LatencyFigure::Percentile(percent) => write!(f, "p{percent}"),
            LatencyFigure::Max => f.write_str("max"),
        }
    }
}

/// A limit that a load meets or exceeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SloLimit {
    /// The limited figure.
    pub figure: LatencyFigure,
    /// The largest allowed value.
    pub most: Nanos,
}

impl LatencyFigure {
    /// Its value, nanoseconds.
    #[must_use]
    pub fn of(self, latency: &CellLatency) -> f64 {
        match self {
            LatencyFigure::Mean => latency.mean,
            LatencyFigure::Max => latency.max,
            LatencyFigure::Percentile(percent) => match percent {
                p if p >= 99.99 => latency.p9999,
                p if p >= 99.9 => latency.p999,
                p if p >= 99.0 => latency.p99,
                p if p >= 90.0 => latency.p90,
                _ => latency.p50,
            },
        }
    }
}

impl SloLimit {
    /// Whether this latency meets it.
    #[must_use]
    pub fn holds(&self, latency: &CellLatency) -> bool {
        self.figure.of(latency) <= self.most.get() as f64
    }

    /// Minimum number of I/Os of a trial, so that ten of them are beyond the percentile.
    #[must_use]
    pub fn least_ios(&self) -> u64 {
        match self.figure {
            LatencyFigure::Percentile(percent) => (1000.0 / (100.0 - percent)).ceil() as u64,
            LatencyFigure::Mean | LatencyFigure::Max => 100,
        }
    }
}

impl fmt::Display for SloLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.figure, duration(self.most.get() as f64))
    }
}

/// An invalid limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseLimitError(String);

impl FromStr for SloLimit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        let wrong = |why: &str| {
            ParseLimitError(format!(
                "'{}' {why}; use a limit such as p99<=1ms, mean<=500us or max<=0.1s",
                text.escape_debug()
            ))
        };
        let preset = |most| SloLimit {
            figure: LatencyFigure::Mean,
            most,
        };
        match text.trim() {
            "hdd" => return Ok(preset(MOST_OF_DISK)),
            "ssd" => return Ok(preset(MOST_OF_FLASH)),
            _ => {}
        }
        let (figure, most) = text
            .split_once("<=")
            .or_else(|| text.split_once('<'))
            .ok_or_else(|| wrong("has no <="))?;
        let figure = match figure.trim() {
            "mean" | "avg" => LatencyFigure::Mean,
            "max" => LatencyFigure::Max,
            name => {
                let percent = name
                    .strip_prefix(['p', 'P'])
                    .and_then(|number| number.parse::<f64>().ok());
                LatencyFigure::Percentile(percent.filter(|p| PERCENTILES.contains(p)).ok_or_else(
                    || wrong("names neither mean, max, p50, p90, p99, p99.9 nor p99.99"),
                )?)
            }
        };
        let most = time(most.trim()).ok_or_else(|| wrong("needs a time with a unit"))?;
        Ok(SloLimit { figure, most })
    }
}

/// A number with its unit, up to an hour. A number without unit is refused as ambiguous.
fn time(text: &str) -> Option<Nanos> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let ns = number.trim().parse::<f64>().ok()? * unit;
    (ns.is_finite() && (1.0..=3.6e12).contains(&ns)).then(|| Nanos::new(ns.round() as u64))
}
