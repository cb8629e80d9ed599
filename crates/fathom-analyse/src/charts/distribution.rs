//! Latency distributions: histograms with a visible tail, and latency by percentile.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, DirectionFigures,
    JobFigures, SeriesShape,
};

use super::ChartError;
use super::curve::{axis, encoded, value_range};
use super::encoding::Encoding;
use super::group::{Seen, chosen, split};
use super::unit::Quantity;
use crate::figures::duration;

pub(super) const DERIVED: &str = "Counts are those of the result's bins (json+), combined to four for each power of two, so that every step is \
    equally wide; percentiles are computed from the same counts, or taken from the result if it has no bins. Without bins the bars are \
    fio's own classes.";
/// Steps in each power of two.
const STEPS: f64 = 4.0;
/// Lines begin at this share. The fastest I/Os below it would be at the left edge of an axis of
/// nines.
const LEAST: f64 = 0.01;
/// The axis reaches at least 99 %.
const LEAST_NINES: f64 = 2.0;
/// Five nines.
const NINES: f64 = 5.0;

pub(super) fn histogram(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let with_bins = |seen: &Seen| !seen.direction_figures.latency.bins.is_empty();
    let mut seen = chosen(cells, options);
    if seen.iter().any(with_bins) {
        seen.retain(with_bins);
    }
    let made = encoded(split(seen, &[]), options);
    let mut all = lines(&made, |seen| steps(seen.direction_figures));
    all.iter_mut()
        .for_each(|series| series.shape = SeriesShape::Steps);
    if all.is_empty() {
        return by_class(&made);
    }
    let (low, high) = value_range(
        all.iter()
            .flat_map(|series| &series.points)
            .map(|point| point.0),
    );
    Ok(Chart {
        title: "How long I/Os took".to_owned(),
        subtitle: made.common,
        panels: made.panels,
        x: ChartAxis { title: "Latency".into(), unit: Quantity::Latency.unit(low, high, true), scale: AxisScale::Log(10), ..ChartAxis::default() },
        y: vec![ChartAxis { title: "I/Os in each step".into(), unit: Quantity::Percent.unit(0.0, 100.0, false), scale: AxisScale::Log(10), ..ChartAxis::default() }],
        body: ChartBody::Series(all),
        notes: [made.notes, vec!["Four equally wide steps for each doubling of the latency. The share has a logarithmic axis to show the tail.".to_owned()]].concat(),
        ..Chart::default()
    })
}

pub(super) fn percentiles(
    cells: &[JobFigures],
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let made = encoded(split(chosen(cells, options), &[]), options);
    let mut all = lines(&made, |seen| by_nines(seen.direction_figures));
    if all.is_empty() {
        return Err(ChartError::Lacks(
            "these results have no latency percentiles",
        ));
    }
    all.iter_mut().for_each(|series| {
        if series.points.len() > 40 {
            series.shape = SeriesShape::Thin;
        }
    });
    let mut side = axis(Dimension::Mean, &all, 0, AxisScale::Log(10));
    side.title = "Latency".to_owned();
    let last = all
        .iter()
        .filter_map(|series| series.points.last())
        .fold(0.0, |last: f64, point| last.max(point.0));
    Ok(Chart {
        title: "Latency by percentile".to_owned(),
        subtitle: made.common,
        panels: made.panels,
        x: ChartAxis {
            title: "I/Os that took no longer".into(),
            scale: AxisScale::Nines,
            from: Some(0.0),
            to: Some(last.ceil().clamp(LEAST_NINES, NINES)),
            ..ChartAxis::default()
        },
        y: vec![side],
        body: ChartBody::Series(all),
        notes: [
            made.notes,
            vec!["A line ends where fewer than one I/O is slower.".to_owned()],
        ]
        .concat(),
        ..Chart::default()
    })
}

fn lines(made: &Encoding, points: impl Fn(&Seen) -> Vec<(f64, f64)>) -> Vec<ChartSeries> {
    let seen = made
        .lines
        .iter()
        .flat_map(|line| line.seen.iter().map(move |seen| (line, seen)));
    let drawn = seen.map(|(line, seen)| ChartSeries {
        name: if line.label.is_empty() {
            seen.cell.name.clone()
        } else {
            line.label.clone()
        },
        panel: line.panel,
        points: points(seen),
        colour: line.colour,
        shade: line.shade,
        ..ChartSeries::default()
    });
    drawn.filter(|series| !series.points.is_empty()).collect()
}

/// Bars of fio's latency classes, if a result has nothing more precise. They cover a whole job:
/// reads and writes together.
fn by_class(made: &Encoding) -> Result<Chart, ChartError> {
    let all = || {
        made.lines
            .iter()
            .flat_map(|line| line.seen.iter().map(move |seen| (line, seen.cell)))
    };
    let mut some: Vec<(&super::encoding::Line, &JobFigures)> =
        all().filter(|(_, cell)| !cell.classes.is_empty()).collect();
    some.dedup_by(|a, b| std::ptr::eq(a.1, b.1));
    let used = |n: usize| {
        some.iter()
            .any(|(_, cell)| cell.classes.get(n).is_some_and(|class| class.1 > 0.0))
    };
    let most = some
        .iter()
        .map(|(_, cell)| cell.classes.len())
        .max()
        .unwrap_or(0);
    let (Some(first), Some(last)) = (
        (0..most).find(|n| used(*n)),
        (0..most).rev().find(|n| used(*n)),
    ) else {
        return Err(ChartError::Lacks(
            "these results have no latency bins; use `fathom run` or fio with --output-format=json+ (fio needs lat_percentiles or clat_percentiles too)",
        ));
    };
    let series = |(line, cell): &(&super::encoding::Line, &JobFigures)| {
        let shares = cell
            .classes
            .iter()
            .enumerate()
            .skip(first)
            .take(last + 1 - first);
        let points = shares
            .map(|(n, class)| ((n - first) as f64, class.1))
            .filter(|point| point.1 > 0.0)
            .collect();
        let name = if line.label.is_empty() {
            cell.name.clone()
        } else {
            line.label.clone()
        };
        ChartSeries {
            name,
            shape: SeriesShape::Bars,
            panel: line.panel,
            points,
            colour: line.colour,
            shade: line.shade,
            ..ChartSeries::default()
        }
    };
    let names = (first..=last)
        .map(|n| class_label(&some[0].1.classes, n))
        .collect();
    Ok(Chart {
        title: "How long I/Os took".to_owned(),
        subtitle: made.common.clone(),
        panels: made.panels.clone(),
        x: ChartAxis { title: "Latency, up to".into(), scale: AxisScale::Names(names), ..ChartAxis::default() },
        y: vec![ChartAxis { title: "I/Os".into(), unit: Quantity::Percent.unit(0.0, 100.0, false), ..ChartAxis::default() }],
        body: ChartBody::Series(some.iter().map(series).collect()),
        notes: vec!["These results have only fio's latency classes, which are not equally wide; json+ is more precise.".to_owned()],
        ..Chart::default()
    })
}

fn class_label(classes: &[(f64, f64)], n: usize) -> String {
    let edge_label = |ns: f64| duration(ns).replace(".0 ", " ").replace(".00 ", " ");
    match classes.get(n) {
        Some((end, _)) if end.is_finite() => edge_label(*end),
        _ => "more".to_owned(),
    }
}

/// Share of I/Os, percent, in steps of a quarter of a power of two. Each step is drawn from its
/// lower end; the last one is closed.
fn steps(direction_figures: &DirectionFigures) -> Vec<(f64, f64)> {
    let total: f64 = direction_figures
        .latency
        .bins
        .iter()
        .map(|bin| bin.1 as f64)
        .sum::<f64>()
        + direction_figures.latency.overflow as f64;
    let mut steps = std::collections::BTreeMap::new();
    for (value, count) in direction_figures
        .latency
        .bins
        .iter()
        .filter(|bin| bin.1 > 0)
    {
        let step = ((*value).max(1) as f64).log2() * STEPS;
        *steps.entry(step.floor() as i64).or_insert(0.0) += *count as f64;
    }
    let edge = |step: i64| 2f64.powf(step as f64 / STEPS);
    let mut points = Vec::new();
    let mut last: Option<i64> = None;
    for (step, count) in &steps {
        // A gap is drawn as a gap.
        if last.is_some_and(|last| last + 1 < *step) {
            points.push((edge(last.unwrap_or(*step) + 1), f64::NAN));
        }
        points.push((edge(*step), 100.0 * count / total));
        points.push((edge(step + 1), 100.0 * count / total));
        last = Some(*step);
    }
    points
}

/// Latency over `-log10(1 - share)`, from the bins or else from the listed percentiles.
fn by_nines(direction_figures: &DirectionFigures) -> Vec<(f64, f64)> {
    let count = direction_figures.latency.n.max(direction_figures.ios) as f64;
    let place = |share: f64| {
        if share >= 1.0 {
            count.max(1.0).log10()
        } else {
            -(1.0 - share).log10()
        }
    };
    // The fastest I/Os would extend the axis by powers of ten.
    let first = place(LEAST);
    let seen = |point: &(f64, f64)| {
        point.0.is_finite() && (first..=NINES).contains(&point.0) && point.1 > 0.0
    };
    let total: f64 = direction_figures
        .latency
        .bins
        .iter()
        .map(|bin| bin.1 as f64)
        .sum();
    if total > 0.0 {
        let mut below = 0.0;
        let points = direction_figures.latency.bins.iter().map(|(value, n)| {
            below += *n as f64;
            (place(below / total), *value as f64)
        });
        return super::thin(&points.filter(seen).collect::<Vec<_>>(), 400);
    }
    // A percentile with fewer than one slower I/O is only the maximum.
    let listed = direction_figures
        .latency
        .percentiles
        .iter()
        .filter(|(percent, _)| count <= 0.0 || (1.0 - percent / 100.0) * count >= 1.0);
    listed
        .map(|(percent, value)| (place(percent / 100.0), *value as f64))
        .filter(seen)
        .collect()
}
