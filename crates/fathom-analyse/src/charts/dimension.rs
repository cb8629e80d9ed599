//! What can stand on an axis: what was varied, and what was measured.

use fathom_model::{AxisScale, Direction};

use super::cell::{JobFigures, WayFigures};
use super::unit::Quantity;
use crate::figures::bytes;

/// Anything a cell has one value of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dimension {
    /// Queue depth of one job.
    Depth,
    /// Jobs at once.
    Jobs,
    /// Depth times jobs.
    Outstanding,
    /// Block size.
    Block,
    /// Reads among all, percent.
    Mix,
    /// Planned rate of an open loop.
    Offered,
    /// Planned bandwidth of an open loop.
    Rate,
    /// Where the region begins.
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
    /// CPU time for one I/O.
    CpuPerIo,
    /// CPU in percent of one core, all jobs.
    Cpu,
}

impl std::str::FromStr for Dimension {
    type Err = String;

    fn from_str(word: &str) -> Result<Dimension, String> {
        Ok(match word {
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
            "cpu" => Dimension::Cpu,
            other => return percentile(other),
        })
    }
}

fn percentile(word: &str) -> Result<Dimension, String> {
    let percent = word
        .strip_prefix('p')
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|p| (0.0..=100.0).contains(p));
    percent.map(Dimension::Percentile).ok_or_else(|| {
        "depth, jobs, outstanding, block, mix, offered, offered-bw, offset, iops, bw, mean, p50 (any percentile), max, stddev, slat, lat, cpu or \
         cpu-per-io stand on an axis"
            .to_owned()
    })
}

impl Dimension {
    /// What stands beside the axis.
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
            Dimension::Offset => "Place on the target",
            Dimension::Iops => "Throughput",
            Dimension::Bandwidth => "Bandwidth",
            Dimension::Mean => "Mean latency",
            Dimension::Percentile(percent) => return format!("Latency p{percent}"),
            Dimension::Max => "Largest latency",
            Dimension::Deviation => "Standard deviation of the latency",
            Dimension::Slat => "Submission latency",
            Dimension::Lat => "Total latency",
            Dimension::CpuPerIo => "CPU time for one I/O",
            Dimension::Cpu => "CPU",
        }
        .to_owned()
    }

    /// What it counts.
    pub(crate) fn quantity(self) -> Quantity {
        match self {
            Dimension::Depth | Dimension::Jobs | Dimension::Outstanding => Quantity::Plain,
            Dimension::Block | Dimension::Offset => Quantity::Bytes,
            Dimension::Mix | Dimension::Cpu => Quantity::Percent,
            Dimension::Iops | Dimension::Offered => Quantity::Rate,
            Dimension::Bandwidth | Dimension::Rate => Quantity::Bandwidth,
            Dimension::CpuPerIo => Quantity::CpuTime,
            _ => Quantity::Latency,
        }
    }

    /// Whether it was chosen and not measured.
    pub(crate) fn is_chosen(self) -> bool {
        use Dimension::{Block, Depth, Jobs, Mix, Offered, Offset, Outstanding, Rate};
        matches!(
            self,
            Depth | Jobs | Outstanding | Block | Mix | Offered | Rate | Offset
        )
    }

    /// What is doubled from step to step is spread by powers of two.
    pub(crate) fn scale(self) -> AxisScale {
        match self {
            Dimension::Depth | Dimension::Jobs | Dimension::Outstanding | Dimension::Block => {
                AxisScale::Log(2)
            }
            _ => AxisScale::Linear,
        }
    }

    /// Whether a larger value is the better one.
    pub(crate) fn more_is_better(self) -> bool {
        matches!(self, Dimension::Iops | Dimension::Bandwidth)
    }

    /// The value of a cell in one direction, or of all directions; a latency of several is that of the one with most I/Os.
    pub(crate) fn of(self, cell: &JobFigures, direction: Option<Direction>) -> Option<f64> {
        let ways: Vec<&WayFigures> = cell
            .ways
            .iter()
            .filter(|way| direction.is_none_or(|d| d == way.direction))
            .collect();
        let latency = |value: &dyn Fn(&WayFigures) -> Option<f64>| {
            ways.iter()
                .max_by(|a, b| a.iops.total_cmp(&b.iops))
                .and_then(|way| value(way))
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
            Dimension::Iops => positive(ways.iter().map(|way| way.iops).sum()),
            Dimension::Bandwidth => positive(ways.iter().map(|way| way.bandwidth).sum()),
            Dimension::Mean => latency(&|way| positive(way.latency.mean)),
            Dimension::Percentile(percent) => latency(&|way| at(way, percent)),
            Dimension::Max => latency(&|way| positive(way.latency.max as f64)),
            Dimension::Deviation => latency(&|way| positive(way.latency.stddev)),
            Dimension::Slat => latency(&|way| way.slat),
            Dimension::Lat => latency(&|way| way.lat),
            Dimension::Cpu => cell
                .cpu
                .map(|(user, system)| (user + system) * f64::from(cell.jobs.unwrap_or(1))),
            Dimension::CpuPerIo => {
                let (user, system) = cell.cpu?;
                let iops = positive(cell.iops())?;
                Some((user + system) / 100.0 * f64::from(cell.jobs.unwrap_or(1)) / iops * 1e9)
            }
        }
    }

    /// A chosen value as a name on an axis: `32`, `4 KiB`, `70 %`.
    pub(crate) fn words(self, value: f64) -> String {
        match self.quantity() {
            Quantity::Bytes => bytes(value as u64),
            Quantity::Bandwidth => format!("{}/s", bytes(value as u64)),
            Quantity::Percent => format!("{value} %"),
            _ => crate::figures::rate(value),
        }
    }
}

/// A percentile that the result tells, nearest to the one asked for and no further than a thousandth of it.
pub(crate) fn at(way: &WayFigures, percent: f64) -> Option<f64> {
    let near = |told: &&(f64, u64)| (told.0 - percent).abs() < 1e-6 + percent * 1e-6;
    way.latency
        .percentiles
        .iter()
        .find(near)
        .map(|(_, value)| *value as f64)
        .filter(|value| *value > 0.0)
}
