//! Charts over time, from intervals: the rate of each interval, and percentiles of all its I/Os.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartEvent, ChartOptions, ChartSeries, Dimension,
    JobFigures, JobFinding, MergedInterval, MergedIntervalDirection, Nanos, SeriesShape, TimeSpan,
};

use super::ChartError;
use super::ceiling::add_ceiling;
use super::curve::{axis, value_range};
use super::dimension::DimensionFormat;
use super::group::{Seen, chosen, split};
use super::thin::thin;
use super::unit::{Quantity, inner};
use crate::catalogue::explain;
use crate::figures::holds_all_along;

pub(super) const DERIVED: &str = "Each value is that of one interval: a rate is the completed amount divided by its length, percentiles are those of all \
    I/Os that completed in it (never percentiles of means). If there are more intervals than can be shown, the smallest and the largest of each \
    group are drawn, so no dip or peak is lost. An interval in which nothing completed is zero.";
/// Limit of points in one line; more than a screen has columns of pixels.
const POINTS: usize = 1_500;
const LINES: usize = 8;
const NOTHING: ChartError = ChartError::Lacks(
    "these results have no intervals; use `fathom run` with --output-format=json+, or import the logs of fio with them",
);
/// An interval shorter than this part of the usual length is the first or last of a run and has no
/// rate.
const FULL: f64 = 0.5;
/// Limit of blocks in the strip; adjacent ones are merged.
const BLOCKS: usize = 200;

pub(super) fn throughput(
    cells: &[JobFigures],
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let metric = options
        .metric
        .filter(|metric| has_interval_values(*metric))
        .unwrap_or(Dimension::Iops);
    let also = options
        .second_metric
        .filter(|also| has_interval_values(*also) && also.quantity() != metric.quantity());
    let made = split(chosen(cells, options), &[]);
    let seen = cells_with_intervals(&made);
    let mut all = Vec::new();
    for (number, (label, one)) in seen.iter().take(LINES).enumerate() {
        for (side, figure) in [Some(metric), also].into_iter().flatten().enumerate() {
            let name = match (also, seen.len()) {
                (None, _) => label.clone(),
                (Some(_), 1) => figure.title(),
                (Some(_), _) => format!("{label} {}", inner(&figure.title())),
            };
            let colour = if also.is_some() {
                number * 2 + side
            } else {
                number
            };
            all.push(ChartSeries {
                axis: side,
                dashed: side > 0,
                ..line(one, name, colour, &|moment, direction_figures| {
                    value(figure, moment, direction_figures)
                })
            });
        }
    }
    let mut chart = drawn(all, metric, "over time", made.common.clone(), &seen)?;
    if let (Some(also), ChartBody::Series(all)) = (also, &chart.body) {
        chart.title = format!("{} and {} over time", metric.title(), inner(&also.title()));
        chart.y.push(axis(also, all, 1, AxisScale::Linear));
    }
    add_ceiling(chart, metric, seen.iter().map(|(_, one)| one), options)
}

/// Whether intervals have this metric.
fn has_interval_values(metric: Dimension) -> bool {
    let percentile =
        matches!(metric, Dimension::Percentile(percent) if percent == 50.0 || percent == 99.0);
    metric.more_is_better()
        || percentile
        || matches!(metric, Dimension::Mean | Dimension::Lat | Dimension::Max)
}

/// The value of one interval.
fn value(
    metric: Dimension,
    moment: &MergedInterval,
    direction_figures: &MergedIntervalDirection,
) -> Option<f64> {
    let rate = |amount: u64| Some(amount as f64 / (moment.length.get() as f64 / 1e9));
    let latency = match metric {
        Dimension::Iops => return rate(direction_figures.ios),
        Dimension::Bandwidth => return rate(direction_figures.bytes),
        Dimension::Max => direction_figures.max,
        Dimension::Percentile(percent) => {
            if percent == 50.0 {
                direction_figures.p50
            } else {
                direction_figures.p99
            }
        }
        _ => direction_figures.mean,
    };
    latency.filter(|ns| *ns > 0).map(|ns| ns as f64)
}

pub(super) fn latency(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    type Figure = (&'static str, fn(&MergedIntervalDirection) -> Option<u64>);
    const FIGURES: [Figure; 3] = [
        ("p50", |m| m.p50),
        ("p99", |m| m.p99),
        ("largest", |m| m.max),
    ];
    const MEAN: [Figure; 1] = [("mean of each interval", |m| m.mean)];
    let made = split(chosen(cells, options), &[]);
    let seen = cells_with_intervals(&made);
    let mut all = Vec::new();
    let several = seen.len() > 2;
    let has_p99 = |one: &Seen| {
        one.cell.series.iter().any(|moment| {
            moment.directions[one.direction_figures.direction]
                .p99
                .is_some()
        })
    };
    let means = !seen.iter().any(|(_, one)| has_p99(one));
    for (number, (label, one)) in seen.iter().take(LINES).enumerate() {
        let wanted = if !has_p99(one) {
            &MEAN[..]
        } else if several {
            &FIGURES[1..2]
        } else {
            &FIGURES[..]
        };
        for (kind, (name, of)) in wanted.iter().enumerate() {
            let label = if seen.len() == 1 {
                (*name).to_owned()
            } else if means {
                label.clone()
            } else {
                format!("{label} {name}")
            };
            let colour = if several { number } else { number * 3 + kind };
            all.push(line(one, label, colour, &|_, m| {
                of(m).filter(|value| *value > 0).map(|value| value as f64)
            }));
        }
    }
    let mut chart = drawn(
        all,
        Dimension::Mean,
        "percentiles over time",
        made.common.clone(),
        &seen,
    )?;
    chart.y[0].title = "Latency".to_owned();
    chart.title = if means {
        "Mean latency over time"
    } else {
        "Latency percentiles over time"
    }
    .to_owned();
    let all = match &chart.body {
        ChartBody::Series(all) => all,
        ChartBody::Grid(_) => return Ok(chart),
    };
    let (low, high) = super::curve::values(all, 0);
    chart.y[0].scale = AxisScale::Log(10);
    chart.y[0].unit = Quantity::Latency.unit(low, high, true);
    Ok(chart)
}

/// The cells with intervals, with their labels.
fn cells_with_intervals<'a>(made: &super::group::Split<'a>) -> Vec<(String, Seen<'a>)> {
    let all = made
        .groups
        .iter()
        .flat_map(|group| group.seen.iter().map(|seen| (group.label.clone(), *seen)));
    let some = all.filter(|(_, seen)| !seen.cell.series.is_empty());
    some.map(|(label, seen)| {
        (
            if label.is_empty() {
                seen.cell.name.clone()
            } else {
                label
            },
            seen,
        )
    })
    .collect()
}

fn line(
    seen: &Seen,
    name: String,
    colour: usize,
    figure: &dyn Fn(&MergedInterval, &MergedIntervalDirection) -> Option<f64>,
) -> ChartSeries {
    let points: Vec<(f64, f64)> = full(&seen.cell.series)
        .filter_map(|moment| {
            let middle = moment.start.get() as f64 + moment.length.get() as f64 / 2.0;
            Some((
                middle,
                figure(moment, &moment.directions[seen.direction_figures.direction])?,
            ))
        })
        .collect();
    ChartSeries {
        name,
        shape: SeriesShape::Thin,
        points: thin(&points, POINTS),
        colour,
        ..ChartSeries::default()
    }
}

/// The intervals that are long enough for a rate.
pub(super) fn full(series: &[MergedInterval]) -> impl Iterator<Item = &MergedInterval> {
    let mut lengths: Vec<u64> = series.iter().map(|moment| moment.length.get()).collect();
    lengths.sort_unstable();
    let usual = lengths.get(lengths.len() / 2).copied().unwrap_or(0) as f64;
    series
        .iter()
        .filter(move |moment| moment.length.get() as f64 >= FULL * usual && moment.length.get() > 0)
}

fn drawn(
    mut all: Vec<ChartSeries>,
    metric: Dimension,
    what: &str,
    common: String,
    seen: &[(String, Seen)],
) -> Result<Chart, ChartError> {
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() {
        return Err(NOTHING);
    }
    let (_, high) = value_range(
        all.iter()
            .flat_map(|series| &series.points)
            .map(|point| point.0),
    );
    let end = seen
        .iter()
        .filter_map(|(_, seen)| seen.cell.series.last())
        .map(|m| (m.start + m.length).get() as f64)
        .fold(high, f64::max);
    let mut notes = Vec::new();
    if seen.len() > LINES {
        notes.push(format!(
            "{} more jobs are omitted: `fathom plot` selects with --rw, --depth, --jobs or --name.",
            seen.len() - LINES
        ));
    }
    let strip = strip_events(seen);
    notes.extend(whole_run_note(seen));
    notes.extend(strip_note(&strip, end));
    Ok(Chart {
        title: format!("{} {what}", metric.title()),
        subtitle: common,
        x: ChartAxis {
            title: "Time since the start".into(),
            unit: Quantity::Elapsed.unit(0.0, end, false),
            from: Some(0.0),
            to: Some(end),
            ..ChartAxis::default()
        },
        y: vec![axis(metric, &all, 0, AxisScale::Linear)],
        body: ChartBody::Series(all),
        events: strip,
        notes,
        ..Chart::default()
    })
}

/// The findings about the whole run: those without a time, or that hold all the time.
pub(super) fn whole_run_note(seen: &[(String, Seen)]) -> Option<String> {
    let severity = seen.iter().take(LINES).flat_map(|(_, seen)| {
        seen.cell
            .findings
            .iter()
            .filter(|one| one.severity > 0 && in_strip(one, seen).is_empty())
    });
    let mut names: Vec<&str> = severity.map(|finding| finding.code.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > 4 {
        format!(" and {} more", names.len() - 4)
    } else {
        String::new()
    };
    let listed = names.iter().take(4).copied().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!("Findings about the whole run: {listed}{more}; see 'fathom explain NAME'.")
    })
}

/// The most severe entries of the strip, each kind once, with its first time.
pub(super) fn strip_note(strip: &[ChartEvent], end: f64) -> Option<String> {
    const MAX_LISTED: usize = 3;
    let unit = Quantity::Elapsed.unit(0.0, end, false);
    let mut kinds: Vec<(&ChartEvent, &str)> = Vec::new();
    for one in strip {
        let kind = kind(&one.label);
        if !kinds.iter().any(|(_, known)| *known == kind) {
            kinds.push((one, kind));
        }
    }
    kinds.sort_by_key(|(one, _)| std::cmp::Reverse(one.severity));
    let listed: Vec<String> = kinds
        .iter()
        .take(MAX_LISTED)
        .map(|(one, kind)| format!("at {:.1} {} {kind}", one.from / unit.divide, unit.symbol))
        .collect();
    let more = if strip.len() > listed.len() {
        format!(" (and {} more)", strip.len() - listed.len())
    } else {
        String::new()
    };
    (!listed.is_empty())
        .then(|| format!("In the strip below the chart: {}{more}.", listed.join("; ")))
}

/// The code of a finding without its evidence; other texts as they are.
fn kind(label: &str) -> &str {
    match label.split_once(": ") {
        Some((name, _)) if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') => name,
        _ => label,
    }
}

/// The times of a finding, if it holds for a part of the run and the intervals do not show it
/// already.
fn in_strip<'a>(finding: &'a JobFinding, seen: &Seen) -> &'a [TimeSpan] {
    let end = seen
        .cell
        .series
        .last()
        .map_or(Nanos::ZERO, |moment| moment.start + moment.length);
    let elsewhere = explain(&finding.code).is_some_and(|kind| kind.counted_per_interval)
        || holds_all_along(&finding.when, end);
    if elsewhere { &[] } else { &finding.when }
}

/// The entries of the strip in the order of time: events in the intervals, and findings with a
/// time.
pub(super) fn strip_events(seen: &[(String, Seen)]) -> Vec<ChartEvent> {
    let mut all = interval_events(seen);
    let mut known: Vec<(&str, &str)> = Vec::new();
    for (_, one) in seen.iter().take(LINES) {
        for finding in &one.cell.findings {
            if known.contains(&(&finding.code, &finding.evidence)) {
                continue;
            }
            known.push((&finding.code, &finding.evidence));
            all.extend(in_strip(finding, one).iter().map(|span| ChartEvent {
                from: span.from.get() as f64,
                to: span.to.get() as f64,
                label: format!("{}: {}", finding.code, finding.evidence),
                severity: finding.severity,
            }));
        }
    }
    if all.len() > BLOCKS {
        all.sort_by_key(|one| std::cmp::Reverse(one.severity));
        all.truncate(BLOCKS);
    }
    all.sort_by(|a, b| a.from.total_cmp(&b.from));
    all
}

/// The intervals with failures, without completions, or far below the usual rate.
fn interval_events(seen: &[(String, Seen)]) -> Vec<ChartEvent> {
    let mut all = Vec::new();
    for (label, one) in seen.iter().take(LINES) {
        let direction = one.direction_figures.direction;
        let rate =
            |m: &MergedInterval| m.directions[direction].ios as f64 / (m.length.get() as f64 / 1e9);
        let mut rates: Vec<f64> = full(&one.cell.series).map(rate).collect();
        rates.sort_by(f64::total_cmp);
        let usual = rates.get(rates.len() / 2).copied().unwrap_or(0.0);
        let of = if seen.len() > 1 {
            format!("{label}: ")
        } else {
            String::new()
        };
        for moment in full(&one.cell.series) {
            let this = &moment.directions[direction];
            let (severity, label) = match rate(moment) {
                _ if this.bad > 0 => (
                    2,
                    format!(
                        "{of}{} failed or short",
                        crate::figures::counted(this.bad, "I/O")
                    ),
                ),
                _ if this.ios == 0 && usual > 0.0 => (2, format!("{of}nothing completed")),
                rate if rate < usual / 2.0 => {
                    (1, format!("{of}less than half of the usual throughput"))
                }
                _ => continue,
            };
            let (from, to) = (
                moment.start.get() as f64,
                (moment.start + moment.length).get() as f64,
            );
            match all.last_mut() {
                // Merge adjacent equal entries.
                Some(ChartEvent {
                    to: end,
                    label: known,
                    ..
                }) if *end >= from && *known == label => *end = to,
                _ => all.push(ChartEvent {
                    from,
                    to,
                    label,
                    severity,
                }),
            }
        }
    }
    all
}
