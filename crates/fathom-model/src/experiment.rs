//! Results of experiments: the figures of a cell, and a grid of cells.

use crate::{Nanos, RunEnd, Simulated, Verdict};

/// The figures of one cell, or of one of its targets, for tables and searches.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFigures {
    /// Good I/Os per second, of all directions.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Offered I/Os per second in an open loop; `None` in a closed one.
    pub offered: Option<f64>,
    /// The latency: response time (from due to completed) in an open loop, service time (clat) in a closed one.
    pub latency: CellLatency,
    /// I/Os that ended short, failed, timed out or were not sent.
    pub bad: u64,
    /// Those of them that were not sent: due, but the run ended first.
    pub not_sent: u64,
    /// errno of the first job that failed; 0 when none did.
    pub error: i32,
    /// Its duration in total, measured.
    pub elapsed: Nanos,
    /// How it ended.
    pub end: RunEnd,
    /// Whether the figures can be used.
    pub verdict: Verdict,
    /// Codes of the findings that degrade or invalidate it.
    pub codes: Vec<String>,
    /// I/Os per second of each target, in the cell's order of targets, where several were loaded at once.
    pub per_target: Vec<f64>,
    /// The latency of each sixth of the measured time of each repeat, in order; empty where the run has too few intervals.
    pub parts: Vec<CellLatency>,
}

/// A valid cell without I/O.
impl Default for CellFigures {
    fn default() -> Self {
        CellFigures {
            iops: 0.0,
            bandwidth: 0.0,
            offered: None,
            latency: CellLatency::default(),
            bad: 0,
            not_sent: 0,
            error: 0,
            elapsed: Nanos::ZERO,
            end: RunEnd::Completed,
            verdict: Verdict::Valid,
            codes: Vec::new(),
            per_target: Vec::new(),
            parts: Vec::new(),
        }
    }
}

/// A latency distribution in a few figures, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the name of a figure")]
pub struct CellLatency {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub p9999: f64,
    pub max: f64,
}

/// A mean and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean of the repeats.
    pub mean: f64,
    /// Half width of its 95 % interval (Student's t over the repeats); `None` for a single value.
    pub half_width: Option<f64>,
    /// How many repeats.
    pub n: u32,
}

impl Estimate {
    /// Half width of the interval as a share of the mean; `None` for a single value or a mean of zero.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        self.half_width
            .filter(|_| self.mean > 0.0)
            .map(|half| half / self.mean)
    }
}

/// The result of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What was varied.
    pub axes: Vec<String>,
    /// Measured cells in the order of the axes.
    pub rows: Vec<GridRow>,
    /// Cells of the grid that were not measured.
    pub left_out: u32,
    /// Conclusions from all cells, each with its figures.
    pub sentences: Vec<String>,
    /// Set where a simulated device was measured.
    pub simulated: Option<Simulated>,
}

/// One cell of a grid, its repeats combined.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// Its value on each axis.
    pub values: Vec<String>,
    /// I/Os per second.
    pub iops: Estimate,
    /// Mean of the repeats of everything else; the worst verdict, all codes.
    pub figures: CellFigures,
    /// Why it could not be measured.
    pub failed: Option<String>,
}
