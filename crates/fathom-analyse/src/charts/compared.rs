//! Bar charts that compare jobs.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, JobFigures,
    SeriesShape,
};

use super::ChartError;
use super::curve::axis;
use super::group::{Seen, chosen, split};
use super::unit::inner;

pub(super) const DERIVED: &str = "A bar is one job of a result. The whisker of a throughput is one standard deviation of its samples over time, \
    up and down: it shows how much the rate varied during the run, not how precise the mean is (see `fathom compare`).";
pub(super) const DERIVED_CPU: &str = "CPU time per I/O is the user and system time of all jobs over their I/Os; it is the cost of the program \
    and the kernel together.";
/// Limit of bars, so that the chart stays readable.
const BARS: usize = 48;

pub(super) fn compare(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let also = options.second_metric.or(options
        .metric
        .is_none()
        .then_some(Dimension::Percentile(99.0)));
    bars(
        &chosen(cells, options),
        options.metric.unwrap_or(Dimension::Iops),
        also,
    )
}

pub(super) fn cpu(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    // CPU time is known for the whole job, not for its directions.
    let mut seen = chosen(cells, options);
    seen.retain(|seen| seen.cell.cpu.is_some());
    seen.dedup_by(|a, b| std::ptr::eq(a.cell, b.cell));
    bars(&seen, Dimension::CpuPerIo, None)
}

/// One position for each cell; with `also`, that metric beside the bars on a second axis.
fn bars(seen: &[Seen], metric: Dimension, also: Option<Dimension>) -> Result<Chart, ChartError> {
    let made = split(seen.to_vec(), &[]);
    let seen: Vec<(String, Seen)> = made
        .groups
        .iter()
        .flat_map(|group| group.seen.iter().map(|seen| (group.label.clone(), *seen)))
        .collect();
    let left_out = seen.len().saturating_sub(BARS);
    let seen = &seen[..seen.len().min(BARS)];
    let mut all = vec![row(seen, metric, 0, 0)];
    all.extend(also.map(|also| row(seen, also, 1, 1)));
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() || all[0].axis == 1 {
        return Err(ChartError::Lacks("no job in these results has that metric"));
    }
    let also = also.filter(|_| all.len() > 1);
    let mut y = vec![axis(metric, &all, 0, AxisScale::Linear)];
    y.extend(also.map(|also| axis(also, &all, 1, AxisScale::Linear)));
    let mut notes = Vec::new();
    if all.iter().any(|series| !series.intervals.is_empty()) {
        notes.push("Whiskers: one standard deviation of the samples over time.".to_owned());
    }
    if also.is_some() && all[1].points.len() < all[0].points.len() {
        notes.push("A percentile is missing if a result has it only for each clone, without bins: percentiles cannot be added.".to_owned());
    }
    if left_out > 0 {
        notes.push(format!(
            "{left_out} more jobs are omitted: select with --rw, --depth, --jobs or --block."
        ));
    }
    let names = seen
        .iter()
        .map(|(label, seen)| {
            if label.is_empty() {
                seen.cell.name.clone()
            } else {
                label.clone()
            }
        })
        .collect();
    Ok(Chart {
        title: also.map_or_else(
            || format!("{} side by side", metric.title()),
            |also| {
                format!(
                    "{} and {} side by side",
                    metric.title(),
                    inner(&also.title())
                )
            },
        ),
        subtitle: made.common,
        x: ChartAxis {
            scale: AxisScale::Names(names),
            ..ChartAxis::default()
        },
        y,
        body: ChartBody::Series(all),
        notes,
        ..Chart::default()
    })
}

fn row(seen: &[(String, Seen)], metric: Dimension, axis: usize, colour: usize) -> ChartSeries {
    let mut series = ChartSeries {
        name: metric.title(),
        shape: SeriesShape::Bars,
        axis,
        colour,
        ..ChartSeries::default()
    };
    let mut spread = true;
    for (place, (_, one)) in seen.iter().enumerate() {
        let Some(value) = one.value(metric) else {
            continue;
        };
        series.points.push((place as f64, value));
        match one
            .direction_figures
            .iops_spread
            .filter(|_| metric.more_is_better() && one.direction_figures.iops > 0.0)
        {
            Some((deviation, _)) => {
                let share = deviation / one.direction_figures.iops;
                series
                    .intervals
                    .push(((value * (1.0 - share)).max(0.0), value * (1.0 + share)));
            }
            None => spread = false,
        }
    }
    if !spread {
        series.intervals.clear();
    }
    series
}
