//! Charts as data: points, axes, units and notes. `fathom-chart` draws them.

mod bands;
mod blamed;
mod ceiling;
mod clones;
mod compared;
mod curve;
mod dimension;
mod distribution;
mod encoding;
mod field;
mod fit;
mod fitting;
mod group;
mod hosts;
pub(crate) mod job_figures;
mod load;
mod observed;
mod report_source;
mod rounds;
mod space;
mod spec;
mod thin;
mod time;
mod unit;

use fathom_model::{
    Chart, ChartAxis, ChartBody, ChartMark, ChartOptions, Dimension, JobFigures, MarkPosition,
    is_fio_last_bin,
};

use crate::figures::latency;

pub use self::fitting::fitting_charts;
pub use self::job_figures::job_figures;
pub use self::report_source::{jobs_of, report_source};
pub use self::thin::thin;
pub(crate) use self::unit::{Quantity, inner};

/// Why a chart cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// Unknown name of a chart.
    #[error("unknown chart '{}'; use one of {}", .0.escape_debug(), names())]
    Unknown(String),
    /// The results lack the data for it. The text says what is missing and how to get it.
    #[error("{0}")]
    Lacks(&'static str),
}

fn names() -> String {
    let names: Vec<&str> = CHARTS.iter().map(|kind| kind.name).collect();
    names.join(", ")
}

/// A kind of chart.
pub struct ChartKind {
    /// The name that selects it.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// How its figures are computed.
    pub derived: &'static str,
    draw: fn(&[JobFigures], &ChartOptions) -> Result<Chart, ChartError>,
}

/// Every kind of chart, in the order in which a report shows them.
pub const CHARTS: &[ChartKind] = &[
    ChartKind {
        name: "depth",
        about: "IOPS and latency by queue depth",
        derived: curve::DERIVED,
        draw: curve::by_depth,
    },
    ChartKind {
        name: "jobs",
        about: "IOPS and latency by number of jobs",
        derived: curve::DERIVED,
        draw: curve::by_jobs,
    },
    ChartKind {
        name: "load",
        about: "latency over throughput, with knee and limit",
        derived: load::DERIVED,
        draw: load::load,
    },
    ChartKind {
        name: "block",
        about: "throughput and latency by block size",
        derived: curve::DERIVED,
        draw: curve::by_block,
    },
    ChartKind {
        name: "xy",
        about: "any metric over any other (--x, --metric)",
        derived: curve::DERIVED,
        draw: curve::any,
    },
    ChartKind {
        name: "compare",
        about: "bars side by side, with their spread",
        derived: compared::DERIVED,
        draw: compared::compare,
    },
    ChartKind {
        name: "heat",
        about: "heat map of depth x jobs",
        derived: field::DERIVED,
        draw: field::heat,
    },
    ChartKind {
        name: "3d",
        about: "depth x jobs as 3D bars",
        derived: field::DERIVED,
        draw: field::solid,
    },
    ChartKind {
        name: "interference",
        about: "effect of writes on reads, by mix and load",
        derived: field::DERIVED,
        draw: field::interference,
    },
    ChartKind {
        name: "distribution",
        about: "how many I/Os took how long",
        derived: distribution::DERIVED,
        draw: distribution::histogram,
    },
    ChartKind {
        name: "percentiles",
        about: "latency by percentile, to five nines",
        derived: distribution::DERIVED,
        draw: distribution::percentiles,
    },
    ChartKind {
        name: "time",
        about: "throughput over time",
        derived: time::DERIVED,
        draw: time::throughput,
    },
    ChartKind {
        name: "time-latency",
        about: "latency percentiles over time",
        derived: time::DERIVED,
        draw: time::latency,
    },
    ChartKind {
        name: "latency-map",
        about: "heat map of all latencies over time",
        derived: bands::DERIVED,
        draw: bands::map,
    },
    ChartKind {
        name: "convergence",
        about: "round by round, as SNIA draws it",
        derived: rounds::DERIVED,
        draw: rounds::convergence,
    },
    ChartKind {
        name: "window",
        about: "the steady-state window, as SNIA draws it",
        derived: rounds::DERIVED,
        draw: rounds::window,
    },
    ChartKind {
        name: "space",
        about: "throughput by offset on the target",
        derived: space::DERIVED,
        draw: space::space,
    },
    ChartKind {
        name: "spec",
        about: "measured values in percent of the data sheet",
        derived: spec::DERIVED,
        draw: spec::spec,
    },
    ChartKind {
        name: "cpu",
        about: "CPU time per I/O",
        derived: compared::DERIVED_CPU,
        draw: compared::cpu,
    },
    ChartKind {
        name: "phases",
        about: "latency of block I/O by phase, over time",
        derived: observed::DERIVED_PHASES,
        draw: observed::phases,
    },
    ChartKind {
        name: "offsets",
        about: "where on the device requests were, over time",
        derived: observed::DERIVED_OFFSETS,
        draw: observed::offsets,
    },
    ChartKind {
        name: "sizes",
        about: "sizes of bios and of requests",
        derived: observed::DERIVED_SIZES,
        draw: observed::sizes,
    },
    ChartKind {
        name: "in-device",
        about: "requests with the driver over time",
        derived: observed::DERIVED_DEPTH,
        draw: observed::depth,
    },
    ChartKind {
        name: "blame",
        about: "where the response time passed, by phase",
        derived: blamed::DERIVED,
        draw: blamed::sheet,
    },
    ChartKind {
        name: "fit",
        about: "fitted law of the load over the measured points",
        derived: fit::DERIVED,
        draw: fit::fitted,
    },
    ChartKind {
        name: "hosts",
        about: "heat map of hosts x time, of a run on several hosts",
        derived: hosts::DERIVED,
        draw: hosts::map,
    },
    ChartKind {
        name: "hosts-time",
        about: "throughput of each host over time",
        derived: hosts::DERIVED,
        draw: hosts::lines,
    },
    ChartKind {
        name: "hosts-percentiles",
        about: "latency by percentile of each host",
        derived: hosts::DERIVED,
        draw: hosts::percentiles,
    },
];

/// The chart called `name` of these cells.
///
/// # Errors
/// When there is no such chart, or the cells lack the data for it.
pub fn chart(
    name: &str,
    cells: &[JobFigures],
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let kind = CHARTS
        .iter()
        .find(|kind| kind.name == name)
        .ok_or_else(|| ChartError::Unknown(name.to_owned()))?;
    let mut chart = (kind.draw)(cells, options)?;
    chart.name = kind.name.to_owned();
    if let Some(title) = &options.title {
        chart.title.clone_from(title);
    }
    if let Some(subtitle) = &options.subtitle {
        chart.subtitle.clone_from(subtitle);
    }
    if let (Some(top), Some(axis)) = (options.y_max, chart.y.first_mut()) {
        axis.to = Some(top);
    }
    let has_own_name = [Some(Dimension::Slat), Some(Dimension::Lat)].contains(&options.metric);
    if !has_own_name {
        chart.notes.extend(latency_note(&chart, cells));
    }
    mark_last_bin(&mut chart, cells);
    options.axis_limits.apply(&mut chart);
    if !options.credit.is_empty() {
        chart.notes.push(format!("Source: {}", options.credit));
    }
    Ok(chart)
}

/// Latencies in the last bin of fio are lower bounds: a line across the axis and a note say so.
fn mark_last_bin(chart: &mut Chart, cells: &[JobFigures]) {
    let is_latency = |axis: &ChartAxis| {
        ["ns", "us", "ms", "s"].contains(&axis.unit.symbol.as_str())
            && axis.title.to_lowercase().contains("latency")
    };
    let is_last = |value: f64| is_fio_last_bin(value as u64);
    let mut found: Vec<(Option<usize>, f64)> = Vec::new();
    let mut add = |place: (Option<usize>, f64)| {
        if !found.contains(&place) {
            found.push(place);
        }
    };
    match &chart.body {
        ChartBody::Series(all) => {
            for series in all {
                let values = series.points.iter().map(|point| point.1);
                if chart.y.get(series.axis).is_some_and(is_latency) {
                    values
                        .filter(|value| is_last(*value))
                        .for_each(|value| add((Some(series.axis), value)));
                }
            }
            if is_latency(&chart.x) {
                let bins = cells
                    .iter()
                    .flat_map(|cell| &cell.directions)
                    .flat_map(|figures| &figures.latency.bins);
                bins.filter(|bin| bin.1 > 0 && is_fio_last_bin(bin.0))
                    .for_each(|bin| add((None, bin.0 as f64)));
            }
        }
        ChartBody::Grid(grid) if ["ns", "us", "ms", "s"].contains(&grid.unit.symbol.as_str()) => {
            let values = grid.values.iter().flatten();
            values
                .filter(|value| is_last(**value))
                .for_each(|value| add((None, *value)));
        }
        ChartBody::Grid(_) => {}
    }
    for (axis, value) in &found {
        if let Some(axis) = axis {
            chart.marks.push(ChartMark {
                at: MarkPosition::Across(*axis, *value),
                label: latency(*value),
                panel: None,
            });
        }
    }
    if let Some((_, value)) = found.first() {
        chart.notes.push(format!(
            "{:.1} s is the last bin of fio, which has no upper bound: such latencies are {}.",
            value / 1e9,
            latency(*value)
        ));
    }
}

/// Which latency a chart with a latency axis shows.
fn latency_note(chart: &Chart, cells: &[JobFigures]) -> Option<String> {
    let is_latency = |axis: &ChartAxis| axis.title.to_lowercase().contains("latency");
    if !chart.y.iter().chain([&chart.x]).any(is_latency) {
        return None;
    }
    let mut names: Vec<&str> = cells.iter().map(|cell| cell.latency_name).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !name.is_empty());
    (!names.is_empty()).then(|| format!("Latency: {}.", names.join(", or ")))
}
