//! Throughput by offset on the target: the outer and inner tracks of a disk, the zones of a flash
//! drive.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, Direction,
    JobFigures, SeriesShape,
};

use super::ChartError;
use super::curve::{axis, encoded, over, value_range};
use super::encoding::Line;
use super::group::{Seen, chosen, split};
use super::thin::thin;
use super::time::full;
use super::unit::{Quantity, inner};

pub(super) const DERIVED: &str = "If the results differ in the offset of their region, each point is one result. For a job that accesses its \
    region sequentially, each point is an interval, and its position is the offset of the region plus the bytes transferred until then. If there are more \
    intervals than can be shown, the smallest and the largest of each group are drawn.";
const LACKS: ChartError = ChartError::Lacks(
    "these results have no offsets on the target: an interval of random I/O covers all of it. Measure parts of it, random or sequential \
     (`fathom sweep JOB.fio FILE --axis offset=0%,10%,20%,30%,40%,50%,60%,70%,80%,90%` with size=10% in the job), or read it once sequentially with rw=read \
     and its intervals (`fathom run --output-format=json+`, or logs)",
);
const POINTS: usize = 1_500;

pub(super) fn space(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Bandwidth);
    let mut offsets: Vec<u64> = cells.iter().filter_map(|cell| cell.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut chart = if offsets.len() > 1 {
        // Without an offset the region begins at the start of the target.
        let placed: Vec<JobFigures> = cells
            .iter()
            .map(|cell| JobFigures {
                offset: cell.offset.or(Some(0)),
                ..cell.without_series()
            })
            .collect();
        over(
            &placed,
            &ChartOptions {
                metric: Some(metric),
                ..options.clone()
            },
            Dimension::Offset,
        )?
    } else {
        in_order(cells, options, metric)?
    };
    chart.title = format!("{} by offset on the target", chart.y[0].title);
    chart.x.title = "Offset".to_owned();
    chart.x.from = Some(0.0);
    Ok(chart)
}

/// Jobs that access their region sequentially, interval by interval.
fn in_order(
    cells: &[JobFigures],
    options: &ChartOptions,
    metric: Dimension,
) -> Result<Chart, ChartError> {
    let metric = if metric == Dimension::Iops {
        metric
    } else {
        Dimension::Bandwidth
    };
    let mut seen = chosen(cells, options);
    seen.retain(is_ordered);
    let made = encoded(split(seen, &[]), options);
    let most = if options.is_complete {
        usize::MAX
    } else {
        POINTS
    };
    let series = |line: &Line| {
        let of_job = |seen: &Seen| ChartSeries {
            name: if line.label.is_empty() {
                seen.cell.name.clone()
            } else {
                line.label.clone()
            },
            shape: SeriesShape::Thin,
            panel: line.panel,
            points: thin(&places(seen, metric), most),
            colour: line.colour,
            shade: line.shade,
            ..ChartSeries::default()
        };
        line.seen.iter().map(of_job).collect::<Vec<_>>()
    };
    let mut all: Vec<ChartSeries> = made.lines.iter().flat_map(series).collect();
    all.retain(|series| series.points.len() > 1);
    if all.is_empty() {
        return Err(LACKS);
    }
    let (_, high) = value_range(
        all.iter()
            .flat_map(|series| &series.points)
            .map(|point| point.0),
    );
    Ok(Chart {
        title: inner(&metric.title()),
        subtitle: made.common,
        panels: made.panels,
        notes: made.notes,
        x: ChartAxis {
            unit: Quantity::Bytes.unit(0.0, high, false),
            to: Some(high),
            ..ChartAxis::default()
        },
        y: vec![axis(metric, &all, 0, AxisScale::Linear)],
        body: ChartBody::Series(all),
        ..Chart::default()
    })
}

/// Whether it is one job, one direction, with ascending addresses.
fn is_ordered(seen: &Seen) -> bool {
    let pattern = match seen.direction_figures.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Trim => "trim",
    };
    seen.cell.rw == pattern && seen.cell.directions.len() == 1 && seen.cell.jobs.unwrap_or(1) == 1
}

fn places(seen: &Seen, metric: Dimension) -> Vec<(f64, f64)> {
    let mut at = seen.cell.offset.unwrap_or(0) as f64;
    let one = |moment: &fathom_model::MergedInterval| {
        let direction_figures = &moment.directions[seen.direction_figures.direction];
        let amount = if metric == Dimension::Iops {
            direction_figures.ios
        } else {
            direction_figures.bytes
        };
        let middle = at + direction_figures.bytes as f64 / 2.0;
        at += direction_figures.bytes as f64;
        (middle, amount as f64 / (moment.length.get() as f64 / 1e9))
    };
    full(&seen.cell.series).map(one).collect()
}
