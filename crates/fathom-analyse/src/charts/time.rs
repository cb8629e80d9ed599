//! Charts over time, from intervals: the rate of each interval, and percentiles of all its I/Os.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartEvent, ChartMark, ChartOptions, ChartSeries,
    Dimension, Histogram, JobFigures, JobFinding, MarkPosition, MergedInterval,
    MergedIntervalDirection, Nanos, SeriesShape, Smoothing, TimeSpan,
};

use super::ChartError;
use super::ceiling::add_ceiling;
use super::curve::axis;
use super::dimension::DimensionFormat;
use super::encoding::{Encoding, LINES as PANEL_LINES, Line, encode};
use super::group::{Seen, chosen, split, split_by_name};
use super::thin::thin;
use super::unit::{Quantity, inner};
use crate::catalogue::explain;
use crate::figures::{duration, holds_all_along};

pub(super) const DERIVED: &str = "Each value is that of one interval: a rate is the completed amount divided by its length, percentiles are those of all \
    I/Os that completed in it (never percentiles of means). Of a long run the line is the median of the intervals of each window, and the band \
    contains the middle 80 % of them; `fathom plot RESULT --smoothing=none -o FILE` draws each interval. An interval in which nothing completed is zero.";
/// Limit of points in one line; more than a screen has columns of pixels.
const POINTS: usize = 1_500;
/// Limit of jobs whose events are shown.
const LINES: usize = 8;
/// A run with more intervals is drawn by windows, of which it has about [`WINDOWS`].
const LONG: usize = 300;
const WINDOWS: f64 = 180.0;
/// Of more jobs in a panel only severe events are shaded.
const FEW: usize = 2;
/// The band contains the values between these shares.
const BAND: (f64, f64) = (0.1, 0.9);
const NO_METRIC: ChartError = ChartError::Lacks(
    "intervals have iops, bw, mean, max and, of `fathom run --output-format=json+`, any percentile; slat and lat are in logs of fio (write_lat_log); this metric is not recorded over time",
);
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
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let metrics: Vec<Dimension> = [
        Some(metric),
        options.second_metric.filter(|also| *also != metric),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !metrics.iter().all(|metric| has_interval_values(*metric)) {
        return Err(NO_METRIC);
    }
    let made = encoded(cells, options);
    let mut drawing = Drawing::new(options);
    for (side, metric) in metrics.iter().enumerate() {
        for line in &made.lines {
            drawing.add(&made, line, *metric, side, (None, metrics.len()));
        }
        drawing.pool(&made, *metric, side);
    }
    let mut chart = drawing.chart(&made, &metrics)?;
    chart.title = match metrics.as_slice() {
        [one, also] => format!("{} and {} over time", one.title(), inner(&also.title())),
        _ => format!("{} over time", metric.title()),
    };
    let seen = made.lines.iter().flat_map(|line| &line.seen);
    add_ceiling(chart, metric, seen, options)
}

/// Whether intervals have this metric.
fn has_interval_values(metric: Dimension) -> bool {
    metric.more_is_better()
        || matches!(
            metric,
            Dimension::Percentile(_)
                | Dimension::Mean
                | Dimension::Slat
                | Dimension::Lat
                | Dimension::Max
        )
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
            let listed = match percent {
                50.0 => direction_figures.p50,
                99.0 => direction_figures.p99,
                _ => None,
            };
            listed.or_else(|| percentile(direction_figures, percent))
        }
        Dimension::Slat => direction_figures.slat,
        Dimension::Lat => direction_figures.lat,
        _ => direction_figures.mean,
    };
    latency.filter(|ns| *ns > 0).map(|ns| ns as f64)
}

/// A percentile of all I/Os of an interval.
fn percentile(direction_figures: &MergedIntervalDirection, percent: f64) -> Option<u64> {
    if direction_figures.latencies.is_empty() {
        return None;
    }
    let mut all = Histogram::new();
    direction_figures.latencies.add_to(&mut all);
    all.percentile(percent).map(|ns| ns as u64)
}

pub(super) fn latency(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    const FIGURES: [(&str, Dimension); 3] = [
        ("p50", Dimension::Percentile(50.0)),
        ("p99", Dimension::Percentile(99.0)),
        ("largest", Dimension::Max),
    ];
    let made = encoded(cells, options);
    let has_p99 = |one: &Seen| {
        one.cell.series.iter().any(|moment| {
            moment.directions[one.direction_figures.direction]
                .p99
                .is_some()
        })
    };
    let means = !made.lines.iter().flat_map(|line| &line.seen).any(has_p99);
    let several = made.most_lines() > 1;
    let metric = match options.metric {
        Some(metric) if !has_interval_values(metric) || metric.more_is_better() => {
            return Err(NO_METRIC);
        }
        Some(metric) => Some(metric),
        None if means => Some(Dimension::Mean),
        None if several => Some(Dimension::Percentile(99.0)),
        None => None,
    };
    let mut drawing = Drawing::new(options);
    for line in &made.lines {
        match metric {
            Some(metric) => drawing.add(&made, line, metric, 0, (None, 1)),
            // Percentiles of one job are an ordered quantity.
            None => {
                for (kind, (name, figure)) in FIGURES.into_iter().enumerate() {
                    let shade = kind as f64 / (FIGURES.len() - 1) as f64;
                    drawing.add(&made, line, figure, 0, (Some((name, shade)), 1));
                }
            }
        }
    }
    let shown = metric.unwrap_or(Dimension::Mean);
    if let Some(metric) = metric {
        drawing.pool(&made, metric, 0);
    }
    let mut chart = drawing.chart(&made, &[shown])?;
    chart.y[0].title = "Latency".to_owned();
    chart.title = match metric {
        Some(metric) => format!("{} over time", metric.title()),
        None => "Latency percentiles over time".to_owned(),
    };
    let all = match &chart.body {
        ChartBody::Series(all) => all,
        ChartBody::Grid(_) => return Ok(chart),
    };
    let (low, high) = super::curve::values(all, 0);
    chart.y[0].scale = AxisScale::Log(10);
    chart.y[0].unit = Quantity::Latency.unit(low, high, true);
    Ok(chart)
}

/// The jobs with intervals, with their panels and colours.
fn encoded<'a>(cells: &'a [JobFigures], options: &ChartOptions) -> Encoding<'a> {
    let mut seen = chosen(cells, options);
    seen.retain(|one| !one.cell.series.is_empty());
    let mut made = encode(if are_tenants(&seen) {
        split_by_name(seen)
    } else {
        split(seen, &[])
    });
    made.is_complete = options.is_complete;
    // Jobs without an order are drawn together if they are too many.
    let is_pooled =
        made.most_lines() > PANEL_LINES && made.lines.iter().all(|line| line.shade.is_none());
    if options.is_complete || is_pooled {
        made
    } else {
        made.limited()
    }
}

/// The lines of a chart over time while they are collected.
struct Drawing<'o> {
    options: &'o ChartOptions,
    all: Vec<ChartSeries>,
    notes: Vec<String>,
    table: Vec<Vec<String>>,
}

impl<'o> Drawing<'o> {
    fn new(options: &'o ChartOptions) -> Drawing<'o> {
        Drawing {
            options,
            all: Vec::new(),
            notes: Vec::new(),
            table: Vec::new(),
        }
    }

    /// Adds one metric of the jobs of a line; `figure` is its name and position on the colour scale
    /// if there are several, `metrics` the number of metrics of the chart.
    fn add(
        &mut self,
        made: &Encoding,
        line: &Line,
        metric: Dimension,
        side: usize,
        (figure, metrics): (Option<(&str, f64)>, usize),
    ) {
        for one in &line.seen {
            let points = points(one, metric);
            if points.is_empty() {
                continue;
            }
            let name = match figure {
                Some((name, _)) => name.to_owned(),
                None if !line.label.is_empty() => line.label.clone(),
                None if metrics > 1 => metric.title(),
                None if one.cell.name.is_empty() => metric.title(),
                None => one.cell.name.clone(),
            };
            let job = full_name(made, line, one);
            self.table.push(row(
                one,
                &job,
                figure.map(|(name, _)| name),
                metric,
                metrics,
                &points,
            ));
            let series = ChartSeries {
                name,
                shape: SeriesShape::Thin,
                axis: side,
                panel: line.panel,
                colour: line.colour,
                shade: figure.map(|(_, shade)| shade).or(line.shade),
                ..ChartSeries::default()
            };
            let drawn = self.smoothed(series, points, metric);
            self.all.push(drawn);
        }
    }

    /// A line of the windows of a run, or of all its intervals.
    fn smoothed(
        &mut self,
        series: ChartSeries,
        points: Vec<(f64, f64)>,
        metric: Dimension,
    ) -> ChartSeries {
        let options = self.options;
        let is_raw = options.is_complete
            || match options.smoothing {
                Smoothing::None => true,
                Smoothing::Auto => options.window.is_none() && points.len() <= LONG,
                _ => false,
            };
        if is_raw {
            let most = if options.is_complete {
                usize::MAX
            } else {
                POINTS
            };
            return ChartSeries {
                points: thin(&points, most),
                ..series
            };
        }
        let window = self.window(&points);
        let is_max = metric == Dimension::Max;
        let (points, intervals) = windows(&points, window, options.smoothing, is_max);
        let line = match (is_max, options.smoothing) {
            (true, _) => "largest value",
            (_, Smoothing::Mean) => "mean",
            _ => "median",
        };
        let note = if is_max {
            format!(
                "Line of the largest: the {line} of each {}.",
                length_label(window)
            )
        } else {
            format!(
                "Line: {line} of each {}; band: the middle 80 % of the intervals in it. \
                 --smoothing=none draws each interval, --window=TIME sets the window.",
                length_label(window)
            )
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        ChartSeries {
            points,
            intervals,
            ..series
        }
    }

    fn window(&self, points: &[(f64, f64)]) -> f64 {
        let span = points.last().map_or(1.0, |last| last.0) - points[0].0;
        self.options
            .window
            .map_or_else(|| round_length(span / WINDOWS), |ns| ns as f64)
            .max(1.0)
    }

    /// Replaces the lines of panels with too many jobs without an order by their common median.
    fn pool(&mut self, made: &Encoding, metric: Dimension, side: usize) {
        if made.is_complete {
            return;
        }
        for panel in 0..made.panels.len().max(1) {
            let mine = |series: &ChartSeries| {
                series.panel == panel && series.axis == side && series.shade.is_none()
            };
            let count = self.all.iter().filter(|series| mine(series)).count();
            if count <= PANEL_LINES {
                continue;
            }
            let lines = made.lines.iter().filter(|line| line.panel == panel);
            let mut pooled: Vec<(f64, f64)> = lines
                .flat_map(|line| &line.seen)
                .flat_map(|one| points(one, metric))
                .collect();
            pooled.sort_by(|a, b| a.0.total_cmp(&b.0));
            let window = self.window(&pooled);
            let (points, intervals) = windows(&pooled, window, Smoothing::Median, false);
            let place = self.all.iter().position(mine).unwrap_or(0);
            let first = ChartSeries {
                name: format!("median of {count} jobs"),
                colour: 0,
                points,
                intervals,
                ..self.all[place].clone()
            };
            self.all.retain(|series| !mine(series));
            self.all.insert(place.min(self.all.len()), first);
            self.notes.push(format!(
                "Line: median of {count} jobs; band: the middle 80 % of their intervals of each {}. --name, --depth or --jobs draws single ones.",
                length_label(window)
            ));
        }
    }

    fn chart(mut self, made: &Encoding, metrics: &[Dimension]) -> Result<Chart, ChartError> {
        self.all.retain(|series| !series.points.is_empty());
        if self.all.is_empty() && !made.lines.is_empty() {
            return Err(NO_METRIC);
        }
        if self.all.is_empty() {
            return Err(NOTHING);
        }
        let seen: Vec<(String, Seen)> = made
            .lines
            .iter()
            .flat_map(|line| {
                line.seen
                    .iter()
                    .map(|one| (full_name(made, line, one), *one))
            })
            .collect();
        let end = seen
            .iter()
            .filter_map(|(_, seen)| seen.cell.series.last())
            .map(|m| (m.start + m.length).get() as f64)
            .fold(0.0, f64::max);
        let mut notes = self.notes;
        notes.extend(made.notes.iter().cloned());
        // The spans of a panel are those of its jobs; of several jobs only the severe ones.
        let of_panel = |panel: usize| {
            let jobs: Vec<(String, Seen)> = made
                .lines
                .iter()
                .filter(|line| line.panel == panel)
                .flat_map(|line| {
                    line.seen
                        .iter()
                        .map(|one| (full_name(made, line, one), *one))
                })
                .collect();
            let least = if jobs.len() > FEW { 2 } else { 1 };
            let panel = (made.panels.len() > 1).then_some(panel);
            strip_events(&jobs)
                .into_iter()
                .filter(move |one| one.severity >= least)
                .map(move |one| ChartEvent { panel, ..one })
                .collect::<Vec<_>>()
        };
        let mut events: Vec<ChartEvent> =
            (0..made.panels.len().max(1)).flat_map(of_panel).collect();
        events.sort_by(|a, b| a.from.total_cmp(&b.from));
        notes.extend(whole_run_note(&seen));
        notes.extend(strip_note(&events, end));
        let y = metrics
            .iter()
            .enumerate()
            .map(|(side, metric)| axis(*metric, &self.all, side, AxisScale::Linear))
            .collect();
        Ok(Chart {
            subtitle: made.common.clone(),
            panels: made.panels.clone(),
            x: ChartAxis {
                title: "Time since the start".into(),
                unit: Quantity::Elapsed.unit(0.0, end, false),
                from: Some(0.0),
                to: Some(end),
                ..ChartAxis::default()
            },
            y,
            body: ChartBody::Series(self.all),
            events,
            marks: joins(&seen),
            notes,
            table: table(self.table),
            ..Chart::default()
        })
    }
}

/// Whether these are jobs of one run that join one after another, each with a name of its own: a reader knows them by their names.
fn are_tenants(seen: &[Seen]) -> bool {
    let Some(first) = seen.first() else {
        return false;
    };
    let name = |one: &Seen| (one.cell.name.clone(), one.direction_figures.direction);
    let mut names = std::collections::HashSet::new();
    let differ = seen.iter().all(|one| {
        let is_of_run =
            one.cell.source == first.cell.source && one.cell.result == first.cell.result;
        is_of_run && !one.cell.name.is_empty() && names.insert(name(one))
    });
    let named: Vec<(String, Seen)> = seen.iter().map(|one| (String::new(), *one)).collect();
    differ && !joins(&named).is_empty()
}

/// When jobs join others that are running.
fn joins(seen: &[(String, Seen)]) -> Vec<ChartMark> {
    let span = |one: &Seen| -> Option<(u64, u64)> {
        let active = |moment: &&MergedInterval| {
            let mut figures = moment.directions.iter();
            figures.any(|(_, figures)| figures.ios > 0)
        };
        let first = one.cell.series.iter().find(active)?;
        let last = one.cell.series.iter().rfind(active)?;
        Some((first.start.get(), (last.start + last.length).get()))
    };
    let spans: Vec<(u64, u64)> = seen.iter().filter_map(|(_, one)| span(one)).collect();
    let mut marks: Vec<ChartMark> = Vec::new();
    for (name, one) in seen.iter().take(LINES) {
        let Some((start, _)) = span(one) else {
            continue;
        };
        // A second, so that a slow first I/O is none.
        let joins = |(from, to): &(u64, u64)| from + 1_000_000_000 <= start && *to > start;
        let at = MarkPosition::Up(start as f64);
        if spans.iter().any(joins) && !marks.iter().any(|mark| mark.at == at) {
            marks.push(ChartMark {
                at,
                label: format!("{name} joins"),
                panel: None,
            });
        }
    }
    marks
}

/// The panel and the name of a job.
fn full_name(made: &Encoding, line: &Line, one: &Seen) -> String {
    let panel = made.panels.get(line.panel).map_or("", String::as_str);
    let name = [panel, &line.label]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ");
    if name.is_empty() {
        one.cell.name.clone()
    } else {
        name
    }
}

/// The values of a job over time, each in the middle of its interval.
fn points(one: &Seen, metric: Dimension) -> Vec<(f64, f64)> {
    full(&one.cell.series)
        .filter_map(|moment| {
            let middle = moment.start.get() as f64 + moment.length.get() as f64 / 2.0;
            let figures = &moment.directions[one.direction_figures.direction];
            Some((middle, value(metric, moment, figures)?))
        })
        .collect()
}

/// Points with an interval each.
type Band = (Vec<(f64, f64)>, Vec<(f64, f64)>);

/// The median (or mean, or largest value) of each window, and the quantiles of its values.
fn windows(points: &[(f64, f64)], window: f64, smoothing: Smoothing, is_max: bool) -> Band {
    let (mut line, mut band) = (Vec::new(), Vec::new());
    for part in points.chunk_by(|a, b| (a.0 / window).floor() == (b.0 / window).floor()) {
        let mut values: Vec<f64> = part.iter().map(|point| point.1).collect();
        values.sort_by(f64::total_cmp);
        let middle = part.iter().map(|point| point.0).sum::<f64>() / part.len() as f64;
        let value = match smoothing {
            _ if is_max => values[values.len() - 1],
            Smoothing::Mean => values.iter().sum::<f64>() / values.len() as f64,
            _ => quantile(&values, 0.5),
        };
        line.push((middle, value));
        if !is_max {
            band.push((quantile(&values, BAND.0), quantile(&values, BAND.1)));
        }
    }
    (line, band)
}

/// A quantile of sorted values, interpolated between the two nearest (type 7 of Hyndman and Fan).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + (above - sorted[below]) * part
}

/// The next longer usual length: 1, 2, 5, 10, 15, 30 s or min.
fn round_length(ns: f64) -> f64 {
    const STEPS: [f64; 6] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0];
    [1e6, 1e7, 1e8, 1e9, 60e9, 3600e9]
        .into_iter()
        .flat_map(|unit| STEPS.map(|step| step * unit))
        .find(|length| *length >= ns)
        .unwrap_or(ns)
}

/// `30 s`, `2 min`.
fn length_label(ns: f64) -> String {
    let (unit, divide) = match ns {
        _ if ns >= 3600e9 => ("h", 3600e9),
        _ if ns >= 60e9 => ("min", 60e9),
        _ if ns >= 1e9 => ("s", 1e9),
        _ => ("ms", 1e6),
    };
    let count = (ns / divide * 100.0).round() / 100.0;
    format!("{count} {unit}")
}

/// Name, mean, standard deviation in percent, p99, p99.99 and CPU of one line.
fn row(
    one: &Seen,
    job: &str,
    figure: Option<&str>,
    metric: Dimension,
    metrics: usize,
    points: &[(f64, f64)],
) -> Vec<String> {
    let n = points.len() as f64;
    let mean = points.iter().map(|point| point.1).sum::<f64>() / n;
    let squares: f64 = points.iter().map(|point| (point.1 - mean).powi(2)).sum();
    let sigma =
        (points.len() > 1 && mean > 0.0).then(|| 100.0 * (squares / (n - 1.0)).sqrt() / mean);
    let over_run = one.value(metric).filter(|_| metric.more_is_better());
    let name = match figure {
        Some(figure) => format!("{job}, {figure}"),
        None if metrics > 1 => format!("{job}, {}", inner(&metric.title())),
        None => job.to_owned(),
    };
    let latency = |percent| {
        one.value(Dimension::Percentile(percent))
            .map_or(String::new(), crate::figures::latency)
    };
    vec![
        name,
        value_label(metric, over_run.unwrap_or(mean)),
        sigma.map_or(String::new(), |sigma| format!("{sigma:.1} %")),
        latency(99.0),
        latency(99.99),
        one.value(Dimension::Cpu)
            .filter(|cpu| *cpu >= 0.05)
            .map_or(String::new(), |cpu| {
                if cpu < 9.95 {
                    format!("{cpu:.1} %")
                } else {
                    format!("{cpu:.0} %")
                }
            }),
    ]
}

/// A value with its unit.
fn value_label(metric: Dimension, value: f64) -> String {
    match metric.quantity() {
        Quantity::Latency => duration(value),
        Quantity::Bandwidth => format!("{}/s", crate::figures::bytes(value as u64)),
        _ => crate::figures::rate(value),
    }
}

/// The rows below their head, without the columns that no row has.
fn table(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let head = [
        "",
        "mean",
        "\u{3c3}",
        "p99 latency",
        "p99.99 latency",
        "CPU",
    ];
    let used: Vec<bool> = (0..head.len())
        .map(|n| n == 0 || rows.iter().any(|row| !row[n].is_empty()))
        .collect();
    let pick = |row: Vec<String>| -> Vec<String> {
        row.into_iter()
            .zip(&used)
            .filter(|(_, used)| **used)
            .map(|(cell, _)| {
                if cell.is_empty() {
                    "\u{2013}".to_owned()
                } else {
                    cell
                }
            })
            .collect()
    };
    let mut named: Vec<Vec<String>> = vec![pick(head.map(str::to_owned).to_vec())];
    named[0][0] = String::new();
    named.extend(rows.into_iter().map(pick));
    named
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
    (!listed.is_empty()).then(|| format!("Shaded: {}{more}.", listed.join("; ")))
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
                panel: None,
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
                    panel: None,
                }),
            }
        }
    }
    all
}
