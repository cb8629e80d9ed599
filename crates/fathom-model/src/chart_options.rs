//! What a chart shows: filters, axes and limits.

use std::fmt;
use std::str::FromStr;

use crate::{AxisScale, Chart, Direction, DirectionFigures, HostLink, JobFigures};

/// What a chart shows. Empty lists and `None` mean all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartOptions {
    /// Patterns, by fio's names.
    pub rw: Vec<String>,
    /// Reads, writes or trims only.
    pub direction: Option<Direction>,
    /// Queue depths.
    pub depths: Vec<u32>,
    /// Numbers of jobs.
    pub jobs: Vec<u32>,
    /// Block sizes.
    pub blocks: Vec<u64>,
    /// Names of jobs.
    pub names: Vec<String>,
    /// The x axis.
    pub x: Option<Dimension>,
    /// The y axis of charts over two parameters.
    pub y: Option<Dimension>,
    /// The metric on the y axis.
    pub metric: Option<Dimension>,
    /// A second metric, with its own y axis.
    pub second_metric: Option<Dimension>,
    /// A latency figure (mean, percentile or maximum) and its limit, nanoseconds.
    pub slo: Option<(Dimension, f64)>,
    /// The load that a search found within all of its limits, in place of the best step within `slo`.
    pub answer: Option<Option<u64>>,
    /// The link whose capacity is drawn as a ceiling, and how many of them are used together.
    pub link: Option<(HostLink, u32)>,
    /// Replaces the title.
    pub title: Option<String>,
    /// Replaces the subtitle.
    pub subtitle: Option<String>,
    /// End of the y axis, in base units.
    pub y_max: Option<f64>,
    /// Limits of the axes, in their displayed units.
    pub axis_limits: AxisLimits,
    /// Source of the figures.
    pub credit: String,
    /// How the intervals of a long run are combined.
    pub smoothing: Smoothing,
    /// Over which time they are combined, nanoseconds; `None` is chosen from the length of the run.
    pub window: Option<u64>,
    /// Every point of every series, for a table.
    pub is_complete: bool,
    /// Values of a data sheet.
    pub rated_values: Vec<RatedValue>,
    /// Name of that sheet.
    pub sheet: String,
}

impl ChartOptions {
    /// Whether the filters include this job.
    #[must_use]
    pub fn matches(&self, cell: &JobFigures) -> bool {
        let among = |wanted: &[u32], value: Option<u32>| {
            wanted.is_empty() || value.is_some_and(|value| wanted.contains(&value))
        };
        (self.rw.is_empty() || self.rw.contains(&cell.rw))
            && among(&self.depths, cell.depth)
            && among(&self.jobs, cell.jobs)
            && (self.blocks.is_empty()
                || cell.block.is_some_and(|block| self.blocks.contains(&block)))
            && (self.names.is_empty() || self.names.contains(&cell.name))
    }
}

/// How a chart over time combines intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Smoothing {
    /// The median of each window, with a band of quantiles, if a run has very many intervals.
    #[default]
    Auto,
    /// The median of each window, with a band of quantiles.
    Median,
    /// The mean of each window, with a band of quantiles.
    Mean,
    /// Each interval.
    None,
}

/// Limits of the axes, in their displayed units: first the upper, then the lower y axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxisLimits {
    /// Start.
    pub from: [Option<f64>; 2],
    /// End.
    pub to: [Option<f64>; 2],
    /// End of the x axis.
    pub x_to: Option<f64>,
}

impl AxisLimits {
    /// Sets the limits of the axes of `chart`.
    pub fn apply(&self, chart: &mut Chart) {
        for (side, axis) in chart.y.iter_mut().enumerate().take(2) {
            let base = |limit: Option<f64>| limit.map(|value| value * axis.unit.divide);
            let (from, to) = (base(self.from[side]), base(self.to[side]));
            (axis.from, axis.to) = (from.or(axis.from), to.or(axis.to));
        }
        if let Some(to) = self
            .x_to
            .filter(|_| !matches!(chart.x.scale, AxisScale::Names(_)))
        {
            chart.x.to = Some(to * chart.x.unit.divide);
        }
    }
}

/// One figure of a data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct RatedValue {
    /// Name and value, such as `random read, 72,000 IOPS`.
    pub label: String,
    /// Direction; `None` for mixed I/O.
    pub direction: Option<Direction>,
    /// Share of reads in mixed I/O, percent.
    pub mix: Option<u32>,
    /// Random addresses.
    pub random: bool,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// The metric.
    pub metric: Dimension,
    /// The value, in base units.
    pub value: f64,
}

/// A parameter or a metric of a job that has one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dimension {
    /// Queue depth of one job.
    Depth,
    /// Number of concurrent jobs.
    Jobs,
    /// Depth times jobs.
    Outstanding,
    /// Block size.
    Block,
    /// Share of reads, percent.
    Mix,
    /// Planned rate of an open loop.
    Offered,
    /// Planned bandwidth of an open loop.
    Rate,
    /// Start of the region.
    Offset,
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Mean,
    /// A percentile of the latency.
    Percentile(f64),
    /// The largest latency.
    Max,
    /// Standard deviation of the latency.
    Deviation,
    /// Mean submission latency.
    Slat,
    /// Mean total latency.
    Lat,
    /// CPU time per I/O.
    CpuPerIo,
    /// CPU time per MiB.
    CpuPerMib,
    /// CPU in percent of one core, all jobs.
    Cpu,
}

/// The text does not name a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDimensionError(String);

impl fmt::Display for ParseDimensionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown dimension '{}'; use depth, jobs, outstanding, block, mix, offered, offered-bw, \
             offset, iops, bw, mean, p50 (any percentile), max, stddev, slat, lat, cpu, cpu-per-io or cpu-per-mib",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for ParseDimensionError {}

impl FromStr for Dimension {
    type Err = ParseDimensionError;

    fn from_str(name: &str) -> Result<Dimension, ParseDimensionError> {
        Ok(match name {
            "depth" | "iodepth" => Dimension::Depth,
            "jobs" | "numjobs" => Dimension::Jobs,
            "outstanding" => Dimension::Outstanding,
            "block" | "bs" => Dimension::Block,
            "mix" | "rwmixread" => Dimension::Mix,
            "offered" | "rate" => Dimension::Offered,
            "offered-bw" => Dimension::Rate,
            "offset" => Dimension::Offset,
            "iops" => Dimension::Iops,
            "bw" => Dimension::Bandwidth,
            "mean" | "clat" => Dimension::Mean,
            "max" => Dimension::Max,
            "stddev" => Dimension::Deviation,
            "slat" => Dimension::Slat,
            "lat" => Dimension::Lat,
            "cpu-per-io" => Dimension::CpuPerIo,
            "cpu-per-mib" => Dimension::CpuPerMib,
            "cpu" => Dimension::Cpu,
            other => return percentile(other),
        })
    }
}

/// CPU time of all jobs in each second, nanoseconds.
fn cpu_ns_per_s(cell: &JobFigures) -> Option<f64> {
    let (user, system) = cell.cpu?;
    Some((user + system) / 100.0 * f64::from(cell.jobs.unwrap_or(1)) * 1e9)
}

fn percentile(name: &str) -> Result<Dimension, ParseDimensionError> {
    let percent = name
        .strip_prefix('p')
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|p| (0.0..=100.0).contains(p));
    percent
        .map(Dimension::Percentile)
        .ok_or_else(|| ParseDimensionError(name.chars().take(40).collect()))
}

impl Dimension {
    /// Title of the axis.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Dimension::Depth => "Queue depth",
            Dimension::Jobs => "Jobs",
            Dimension::Outstanding => "I/Os outstanding (depth x jobs)",
            Dimension::Block => "Block size",
            Dimension::Mix => "Reads",
            Dimension::Offered => "Planned rate",
            Dimension::Rate => "Planned bandwidth",
            Dimension::Offset => "Offset on the target",
            Dimension::Iops => "Throughput",
            Dimension::Bandwidth => "Bandwidth",
            Dimension::Mean => "Mean latency",
            Dimension::Percentile(percent) => return format!("Latency p{percent}"),
            Dimension::Max => "Maximum latency",
            Dimension::Deviation => "Standard deviation of the latency",
            Dimension::Slat => "Submission latency",
            Dimension::Lat => "Total latency",
            Dimension::CpuPerIo => "CPU time per I/O",
            Dimension::CpuPerMib => "CPU time per MiB",
            Dimension::Cpu => "CPU",
        }
        .to_owned()
    }

    /// Whether it is a parameter, not a metric.
    #[must_use]
    pub fn is_parameter(self) -> bool {
        use Dimension::{Block, Depth, Jobs, Mix, Offered, Offset, Outstanding, Rate};
        matches!(
            self,
            Depth | Jobs | Outstanding | Block | Mix | Offered | Rate | Offset
        )
    }

    /// Parameters that usually double from step to step use a logarithmic axis.
    #[must_use]
    pub fn scale(self) -> AxisScale {
        match self {
            Dimension::Depth | Dimension::Jobs | Dimension::Outstanding | Dimension::Block => {
                AxisScale::Log(2)
            }
            _ => AxisScale::Linear,
        }
    }

    /// Whether a larger value is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Dimension::Iops | Dimension::Bandwidth)
    }

    /// The value of a job in one direction, or in all; a latency of several is that of the direction
    /// with the most I/Os.
    #[must_use]
    pub fn of(self, cell: &JobFigures, direction: Option<Direction>) -> Option<f64> {
        let used: Vec<&DirectionFigures> = cell
            .directions
            .iter()
            .filter(|one| direction.is_none_or(|d| d == one.direction))
            .collect();
        let latency = |value: &dyn Fn(&DirectionFigures) -> Option<f64>| {
            used.iter()
                .max_by(|a, b| a.iops.total_cmp(&b.iops))
                .and_then(|one| value(one))
        };
        let positive = |value: f64| (value > 0.0).then_some(value);
        match self {
            Dimension::Depth => cell.depth.map(f64::from),
            Dimension::Jobs => cell.jobs.map(f64::from),
            Dimension::Outstanding => cell.outstanding(),
            Dimension::Block => cell.block.map(|block| block as f64),
            Dimension::Mix => cell.mix.map(f64::from),
            Dimension::Offered => cell.offered,
            Dimension::Rate => cell.rate,
            Dimension::Offset => cell.offset.map(|offset| offset as f64),
            Dimension::Iops => positive(used.iter().map(|one| one.iops).sum()),
            Dimension::Bandwidth => positive(used.iter().map(|one| one.bandwidth).sum()),
            Dimension::Mean => latency(&|one| positive(one.latency.mean)),
            Dimension::Percentile(percent) => latency(&|one| one.percentile(percent)),
            Dimension::Max => latency(&|one| positive(one.latency.max as f64)),
            Dimension::Deviation => latency(&|one| positive(one.latency.stddev)),
            Dimension::Slat => latency(&|one| one.slat),
            Dimension::Lat => latency(&|one| one.lat),
            Dimension::Cpu => cell
                .cpu
                .map(|(user, system)| (user + system) * f64::from(cell.jobs.unwrap_or(1))),
            Dimension::CpuPerIo => cpu_ns_per_s(cell)
                .zip(positive(cell.iops()))
                .map(|(ns, iops)| ns / iops),
            Dimension::CpuPerMib => {
                let bytes: f64 = cell.directions.iter().map(|one| one.bandwidth).sum();
                let mib = positive(bytes / f64::from(1 << 20));
                cpu_ns_per_s(cell).zip(mib).map(|(ns, mib)| ns / mib)
            }
        }
    }
}
