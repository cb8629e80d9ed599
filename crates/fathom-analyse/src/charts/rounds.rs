//! Steady state as SNIA's test specification draws it: every round, and the window with its mean, its bounds and its slope.

use fathom_model::{AxisScale, Chart, ChartAxis, ChartBody, ChartSeries, Moment};

use super::curve::axis;
use super::dimension::Dimension;
use super::group::{chosen, split};
use super::time::full;
use super::{JobFigures, ChartError, Wish};
use crate::figures::percent;

pub(super) const DERIVED: &str = "Rounds are repetitions of the same job in the order of the results; of a single job, its intervals. The window is \
    the last five rounds: steady when none is further than 10 % from their mean, and the line that fits them best (least squares) rises or falls by no \
    more than 10 % of the mean over the window (SNIA Solid State Storage Performance Test Specification).";
/// Rounds of a window.
const WINDOW: usize = 5;
/// How far a round may be from the mean: the range is 20 % of it.
const BOUND: f64 = 0.10;
/// How far the fit may go over the window.
const SLOPE: f64 = 0.10;
const TOO_FEW: ChartError = ChartError::Lacks("rounds are repetitions of the same job, or the intervals of one (--output-format=json+); there are fewer than five");

pub(super) fn convergence(cells: &[JobFigures], wish: &Wish) -> Result<Chart, ChartError> {
    let metric = wish.metric.unwrap_or(Dimension::Iops);
    let (common, all) = rounds(cells, wish, metric)?;
    let series: Vec<ChartSeries> = all.into_iter().enumerate().map(|(colour, (name, values))| ChartSeries {
        name, points: super::thin(&numbered(&values), 1500), colour, ..ChartSeries::default()
    }).collect();
    Ok(chart(format!("{} round by round", metric.title()), common, metric, series, Vec::new()))
}

pub(super) fn window(cells: &[JobFigures], wish: &Wish) -> Result<Chart, ChartError> {
    let metric = wish.metric.unwrap_or(Dimension::Iops);
    let (common, mut all) = rounds(cells, wish, metric)?;
    all.retain(|(_, values)| values.len() >= WINDOW);
    let Some((name, values)) = all.into_iter().next() else { return Err(TOO_FEW) };
    let first = values.len() - WINDOW;
    let points: Vec<(f64, f64)> = numbered(&values)[first..].to_vec();
    let mean = points.iter().map(|point| point.1).sum::<f64>() / WINDOW as f64;
    let slope = slope(&points);
    let (from, to) = (points[0].0, points[WINDOW - 1].0);
    let middle = f64::midpoint(from, to);
    let flat = |name: &str, value: f64, colour: usize| ChartSeries {
        name: name.to_owned(), points: vec![(from, value), (to, value)], colour, dashed: true, shape: fathom_model::SeriesShape::Thin, ..ChartSeries::default()
    };
    let at = |x: f64| mean + slope * (x - middle);
    let furthest = points.iter().map(|point| (point.1 - mean).abs()).fold(0.0, f64::max) / mean;
    let drift = (slope * (to - from)).abs() / mean;
    let steady = furthest <= BOUND && drift <= SLOPE;
    let series = vec![
        ChartSeries { name: short_name(&name, metric), points: points.clone(), ..ChartSeries::default() },
        flat("mean", mean, 6),
        flat("110 % of it", mean * (1.0 + BOUND), 1),
        flat("90 % of it", mean * (1.0 - BOUND), 1),
        ChartSeries { name: "best fit".into(), points: vec![(from, at(from)), (to, at(to))], colour: 2, shape: fathom_model::SeriesShape::Thin, ..ChartSeries::default() },
    ];
    let words = format!(
        "{}: the furthest round is {} from the mean (10 % may be), the fit y = {:.1} x + {:.1} goes {} over the window (10 % may be).",
        if steady { "Steady" } else { "Not steady" },
        percent(100.0 * furthest),
        slope,
        at(0.0),
        percent(100.0 * drift),
    );
    let mut chart = chart(format!("{}: the steady-state window", metric.title()), common, metric, series, vec![words]);
    chart.y[0].scale = AxisScale::Close;
    Ok(chart)
}

fn short_name(name: &str, metric: Dimension) -> String {
    if name.is_empty() { metric.title() } else { name.to_owned() }
}

/// Least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let (above, below) = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + (p.0 - x) * (p.1 - y), sum.1 + (p.0 - x).powi(2)));
    if below > 0.0 { above / below } else { 0.0 }
}

fn numbered(values: &[f64]) -> Vec<(f64, f64)> {
    values.iter().enumerate().map(|(place, value)| (place as f64 + 1.0, *value)).collect()
}

type Rounds = (String, Vec<(String, Vec<f64>)>);

/// For each load its values, round by round.
fn rounds(cells: &[JobFigures], wish: &Wish, metric: Dimension) -> Result<Rounds, ChartError> {
    // Repetitions have the same name or a numbered one; they are not kept apart by it.
    let alike: Vec<JobFigures> = cells.iter().cloned().map(|mut cell| {
        cell.name.clear();
        cell
    }).collect();
    let made = split(chosen(&alike, wish), &[]);
    let repeated = made.groups.iter().filter(|group| group.seen.len() > 1);
    let mut all: Vec<(String, Vec<f64>)> = repeated.map(|group| (group.label.clone(), group.seen.iter().filter_map(|seen| seen.value(metric)).collect())).collect();
    if all.is_empty() {
        let of = |seen: &super::group::Seen| {
            if seen.cell.series.is_empty() { seen.cell.steady.clone() } else { intervals(&seen.cell.series, seen, metric) }
        };
        all = made.groups.iter().map(|group| (group.label.clone(), group.seen.first().map(of).unwrap_or_default())).collect();
    }
    all.retain(|(_, values)| values.len() >= 2);
    all.truncate(10);
    if all.is_empty() { Err(TOO_FEW) } else { Ok((made.common, all)) }
}

fn intervals(series: &[Moment], seen: &super::group::Seen, metric: Dimension) -> Vec<f64> {
    let one = |moment: &Moment| {
        let this = &moment.directions[seen.way.direction];
        let amount = if metric == Dimension::Bandwidth { this.bytes } else { this.ios };
        amount as f64 / (moment.length.get() as f64 / 1e9)
    };
    full(series).map(one).collect()
}

fn chart(title: String, common: String, metric: Dimension, mut series: Vec<ChartSeries>, notes: Vec<String>) -> Chart {
    series.iter_mut().for_each(|one| {
        one.name = short_name(&one.name, metric);
        if one.points.len() > 60 {
            one.shape = fathom_model::SeriesShape::Thin;
        }
    });
    Chart {
        title,
        subtitle: common,
        x: ChartAxis { title: "Round".into(), scale: AxisScale::Close, ..ChartAxis::default() },
        y: vec![axis(metric, &series, 0, AxisScale::Linear)],
        body: ChartBody::Series(series),
        notes,
        ..Chart::default()
    }
}
