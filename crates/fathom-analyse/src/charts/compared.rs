//! Bar charts that compare jobs.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, JobFigures,
    SeriesShape,
};

use super::ChartError;
use super::ceiling::add_ceiling;
use super::curve::axis;
use super::group::{Seen, chosen, split};
use super::time::full;
use super::unit::inner;

pub(super) const DERIVED: &str = "A bar is one job of a result. The whisker of a throughput is one standard deviation of its samples over time \
    (of several jobs: of the intervals of their sum), up and down: it shows how much the rate varied during the run, not how precise the mean is (see `fathom compare`).";
pub(super) const DERIVED_CPU: &str = "CPU time per I/O is the user and system time of all jobs over their I/Os; it is the cost of the program \
    and the kernel together.";
/// Limit of bars, so that the chart stays readable.
const BARS: usize = 48;

pub(super) fn compare(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let also = options.second_metric.or(options
        .metric
        .is_none()
        .then_some(Dimension::Percentile(99.0)));
    let (seen, metric) = (
        chosen(cells, options),
        options.metric.unwrap_or(Dimension::Iops),
    );
    add_ceiling(bars(&seen, metric, also)?, metric, &seen, options)
}

pub(super) fn cpu(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    // CPU time is known for the whole job, not for its directions.
    let mut seen = chosen(cells, options);
    seen.retain(|seen| seen.cell.cpu.is_some());
    seen.dedup_by(|a, b| std::ptr::eq(a.cell, b.cell));
    let metric = options
        .metric
        .filter(|metric| *metric == Dimension::CpuPerMib);
    bars(&seen, metric.unwrap_or(Dimension::CpuPerIo), None)
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
    all.extend(also.map(|also| row(seen, also, 1, 0)));
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
    if metric.more_is_better()
        && all[0].intervals.is_empty()
        && seen
            .iter()
            .any(|(_, one)| one.cell.jobs > Some(1) && relative_deviation(one).is_none())
    {
        notes.push("No whiskers: fio's samples of several jobs are those of the single jobs; the sum over time is in write_iops_log.".to_owned());
    }
    if also.is_some() && all[1].points.len() < all[0].points.len() {
        notes.push("A percentile is missing if a result has it only for each clone, without bins: percentiles cannot be added.".to_owned());
    }
    if left_out > 0 {
        notes.push(format!(
            "{left_out} more jobs are omitted: `fathom plot` selects with --rw, --depth, --jobs or --block."
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
        match relative_deviation(one).filter(|_| metric.more_is_better()) {
            Some(share) => {
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

/// The standard deviation of the throughput over time, as a share of it. fio's own samples of a
/// group are those of its single jobs: for several jobs it is that of their sum, from the intervals.
fn relative_deviation(one: &Seen) -> Option<f64> {
    let figures = one.direction_figures;
    if one.cell.jobs.unwrap_or(1) <= 1 {
        let (deviation, _) = figures.iops_spread?;
        return (figures.iops > 0.0).then(|| deviation / figures.iops);
    }
    let rates: Vec<f64> = full(&one.cell.series)
        .map(|moment| {
            let ios = moment.directions[figures.direction].ios;
            ios as f64 / moment.length.as_secs_f64()
        })
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    (rates.len() > 1 && mean > 0.0).then(|| (squares / (rates.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use fathom_model::{Direction, DirectionFigures, MergedInterval, Nanos};

    use super::*;

    fn cell(jobs: u32, rates: &[u64]) -> JobFigures {
        let moment = |(at, ios): (usize, &u64)| {
            let mut moment = MergedInterval {
                start: Nanos::from_secs(at as u64),
                length: Nanos::from_secs(1),
                directions: Default::default(),
            };
            moment.directions[Direction::Read].ios = *ios;
            moment
        };
        JobFigures {
            source: format!("{jobs} jobs"),
            jobs: Some(jobs),
            depth: Some(1),
            series: rates.iter().enumerate().map(moment).collect(),
            directions: vec![DirectionFigures {
                direction: Direction::Read,
                iops: 200.0,
                iops_spread: Some((5.0, 10)),
                bandwidth: 0.0,
                ios: 800,
                latency: Default::default(),
                slat: None,
                lat: None,
            }],
            ..JobFigures::default()
        }
    }

    fn whiskers(cells: &[JobFigures]) -> (Vec<(f64, f64)>, Vec<String>) {
        let chart = compare(cells, &ChartOptions::default()).expect("a chart");
        let ChartBody::Series(all) = chart.body else {
            panic!("bars are series")
        };
        (all[0].intervals.clone(), chart.notes)
    }

    /// Regression 0392: the whiskers of several jobs were those of fio's samples of single jobs. The
    /// standard deviation of 100, 300, 100 and 300 is the square root of 4 x 100^2 / 3.
    #[test]
    fn whiskers_of_several_jobs_are_those_of_their_sum() {
        let sigma = (4.0f64 * 1e4 / 3.0).sqrt();
        let both = [cell(1, &[]), cell(8, &[100, 300, 100, 300])];
        let (found, _) = whiskers(&both);
        for ((low, high), half) in found.iter().zip([5.0, sigma]) {
            assert!(
                (low - (200.0 - half)).abs() < 1e-9 && (high - (200.0 + half)).abs() < 1e-9,
                "{found:?}"
            );
        }
        let (none, notes) = whiskers(&[cell(1, &[]), cell(8, &[])]);
        assert!(
            none.is_empty() && notes.iter().any(|note| note.starts_with("No whiskers")),
            "{notes:?}"
        );
    }
}
