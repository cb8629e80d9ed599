//! Charts of one metric over another: by depth, by jobs, by block size, or any other pair.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, ChartUnit, Dimension,
    JobFigures, SeriesShape,
};

use super::ChartError;
use super::ceiling::add_ceiling;
use super::dimension::DimensionFormat;
use super::encoding::{Encoding, Line, encode};
use super::group::{Seen, chosen, split};
use super::unit::inner;

pub(super) const DERIVED: &str = "Each point is one job (or group of clones) of a result: I/Os per second are good I/Os over \
    the run time; the mean latency and the percentiles are those of all I/Os of the run, never means of means.";
const NOTHING: ChartError = ChartError::Lacks(
    "no job in these results has both metrics; `--rw`, `--depth` and `--jobs` may exclude all",
);
/// Limit of points in one line; more than a screen has columns of pixels.
const POINTS: usize = 1_500;
/// More groups in a panel are drawn as lines, because their bars would be too narrow.
const BAR_GROUPS: usize = 3;
/// With more block sizes the values are drawn as lines.
const BAR_SIZES: usize = 8;

pub(super) fn by_depth(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    bars_and_lines(
        cells,
        options,
        Dimension::Depth,
        "IOPS and latency by queue depth",
    )
}

pub(super) fn by_jobs(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    bars_and_lines(
        cells,
        options,
        Dimension::Jobs,
        "IOPS and latency by number of jobs",
    )
}

pub(super) fn by_block(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let options = ChartOptions {
        metric: options.metric.or(Some(Dimension::Bandwidth)),
        ..options.clone()
    };
    let metric = options.metric.unwrap_or(Dimension::Bandwidth);
    let matching = chosen(cells, &options);
    let made = encoded(split(matching.clone(), &[Dimension::Block]), &options);
    let places = places_of(&made, Dimension::Block);
    let has_one_value_each = made.lines.iter().all(|line| {
        let mut blocks: Vec<Option<u64>> = line.seen.iter().map(|seen| seen.cell.block).collect();
        blocks.sort_unstable();
        blocks.windows(2).all(|two| two[0] != two[1])
    });
    let mut chart =
        if places.len() <= BAR_SIZES && made.most_lines() <= BAR_GROUPS && has_one_value_each {
            let chart = bars(&made, &places, Dimension::Block, metric)?;
            add_ceiling(chart, metric, &matching, &options)?
        } else {
            over(cells, &options, Dimension::Block)?
        };
    chart.title = format!("{} by block size", chart.y[0].title);
    Ok(chart)
}

pub(super) fn any(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let x = options.x.unwrap_or(Dimension::Outstanding);
    let mut chart = over(cells, options, x)?;
    chart.title = format!("{} over {}", chart.y[0].title, inner(&chart.x.title));
    Ok(chart)
}

/// The lines with their panels and colours; for a table all of them.
pub(super) fn encoded<'a>(made: super::group::Split<'a>, options: &ChartOptions) -> Encoding<'a> {
    let mut all = encode(made);
    all.is_complete = options.is_complete;
    if options.is_complete {
        all
    } else {
        all.limited()
    }
}

/// A panel of IOPS above one of latencies, with the same x axis: bars and lines of mean and p99 for
/// few groups; only lines for more.
fn bars_and_lines(
    cells: &[JobFigures],
    options: &ChartOptions,
    x: Dimension,
    title: &str,
) -> Result<Chart, ChartError> {
    let matching = chosen(cells, options);
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let made = encoded(split(matching.clone(), &[x]), options);
    let title = if metric == Dimension::Iops {
        title.to_owned()
    } else {
        format!("{} and latency by {}", metric.title(), inner(&x.title()))
    };
    if made.most_lines() > BAR_GROUPS {
        let mut chart = lines(&made, x, metric, x.scale())?;
        if options.metric.is_none() {
            add_mean_latency(&mut chart, &made, x);
            chart.title = title;
        } else {
            chart.title = format!("{} by {}", metric.title(), inner(&x.title()));
        }
        return add_ceiling(chart, metric, &matching, options);
    }
    let places = places_of(&made, x);
    let mut chart = bars(&made, &places, x, metric)?;
    let ChartBody::Series(all) = &mut chart.body else {
        return Err(NOTHING);
    };
    for line in &made.lines {
        for (dashed, dimension) in [
            (false, Dimension::Mean),
            (true, Dimension::Percentile(99.0)),
        ] {
            let mut series = of_places(line, &places, x, dimension, 1);
            (series.shape, series.dashed) = (SeriesShape::Line, dashed);
            all.push(series);
        }
    }
    all.retain(|series| !series.points.is_empty());
    if all.iter().any(|series| series.axis == 1) {
        chart.y.push(ChartAxis {
            title: "Latency".into(),
            ..axis(
                Dimension::Mean,
                all,
                1,
                y_axis_scale(all, Dimension::Mean, 1),
            )
        });
    }
    chart.title = title;
    add_ceiling(chart, metric, &matching, options)
}

/// The mean latency as a second row of panels below the first metric.
fn add_mean_latency(chart: &mut Chart, made: &Encoding, x: Dimension) {
    let ChartBody::Series(all) = &mut chart.body else {
        return;
    };
    let mut latencies = line_series(made, x, Dimension::Mean, 1);
    latencies.retain(|series| !series.points.is_empty());
    if latencies.is_empty() {
        return;
    }
    all.extend(latencies);
    let scale = y_axis_scale(all, Dimension::Mean, 1);
    let side = axis(Dimension::Mean, all, 1, scale);
    chart.y.push(side);
}

/// The values on the x axis.
fn places_of(made: &Encoding, x: Dimension) -> Vec<f64> {
    let mut places: Vec<f64> = made
        .lines
        .iter()
        .flat_map(|line| &line.seen)
        .filter_map(|seen| seen.value(x))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Bars side by side at each place.
fn bars(
    made: &Encoding,
    places: &[f64],
    x: Dimension,
    metric: Dimension,
) -> Result<Chart, ChartError> {
    let mut all: Vec<ChartSeries> = made
        .lines
        .iter()
        .map(|line| of_places(line, places, x, metric, 0))
        .collect();
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() {
        return Err(NOTHING);
    }
    Ok(Chart {
        subtitle: made.common.clone(),
        panels: made.panels.clone(),
        x: ChartAxis {
            title: x.title(),
            scale: AxisScale::Names(places.iter().map(|place| x.label(*place)).collect()),
            ..ChartAxis::default()
        },
        y: vec![axis(metric, &all, 0, AxisScale::Linear)],
        notes: made.notes.clone(),
        body: ChartBody::Series(all),
        ..Chart::default()
    })
}

/// The values of one line at named positions.
fn of_places(line: &Line, places: &[f64], x: Dimension, y: Dimension, axis: usize) -> ChartSeries {
    let points = line.seen.iter().filter_map(|seen| {
        let place = seen.value(x)?;
        let at = places.iter().position(|known| *known == place)?;
        Some((at as f64, seen.value(y)?))
    });
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let what = short(y);
    let name = match (line.label.as_str(), axis) {
        ("", _) => what,
        (label, 0) => label.to_owned(),
        (label, _) => format!("{label} · {what}"),
    };
    ChartSeries {
        name,
        shape: SeriesShape::Bars,
        axis,
        panel: line.panel,
        points,
        colour: line.colour,
        shade: line.shade,
        ..ChartSeries::default()
    }
}

fn short(dimension: Dimension) -> String {
    match dimension {
        Dimension::Iops => "IOPS".to_owned(),
        Dimension::Bandwidth => "bandwidth".to_owned(),
        Dimension::Mean => "mean latency".to_owned(),
        Dimension::Percentile(percent) => format!("p{percent} latency"),
        other => other.title(),
    }
}

/// `options.metric` over `x`, one line for each group.
pub(super) fn over(
    cells: &[JobFigures],
    options: &ChartOptions,
    x: Dimension,
) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let varied: &[Dimension] = if x.is_parameter() {
        &[x]
    } else {
        &[Dimension::Outstanding]
    };
    let seen = chosen(cells, options);
    let made = encoded(split(seen.clone(), varied), options);
    let chart = lines(&made, x, metric, x.scale())?;
    add_ceiling(chart, metric, &seen, options)
}

/// One series for each line.
fn line_series(made: &Encoding, x: Dimension, metric: Dimension, axis: usize) -> Vec<ChartSeries> {
    let series = |line: &Line| {
        let mut points: Vec<(f64, f64)> = line
            .seen
            .iter()
            .filter_map(|seen: &Seen| Some((seen.value(x)?, seen.value(metric)?)))
            .collect();
        if x.is_parameter() {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        // Two values at one position cannot be drawn as a line.
        let shape = if x.is_parameter() && points.windows(2).any(|two| two[0].0 == two[1].0) {
            SeriesShape::Dots
        } else {
            SeriesShape::Line
        };
        let name = if line.label.is_empty() {
            short(metric)
        } else {
            line.label.clone()
        };
        let points = super::thin(&points, if made.is_complete { usize::MAX } else { POINTS });
        ChartSeries {
            name,
            shape,
            axis,
            panel: line.panel,
            points,
            colour: line.colour,
            shade: line.shade,
            ..ChartSeries::default()
        }
    };
    made.lines.iter().map(series).collect()
}

fn lines(
    made: &Encoding,
    x: Dimension,
    metric: Dimension,
    scale: AxisScale,
) -> Result<Chart, ChartError> {
    let mut all = line_series(made, x, metric, 0);
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() {
        return Err(NOTHING);
    }
    let (low, high) = places(&all);
    // Block sizes are labelled individually: 512 B, 4 KiB, 1 MiB.
    let sizes = x == Dimension::Block;
    let unit = if sizes {
        ChartUnit {
            symbol: "bytes".into(),
            divide: 1.0,
        }
    } else {
        x.quantity()
            .unit(low, high, matches!(scale, AxisScale::Log(_)))
    };
    let (from, to) = if scale == AxisScale::Log(2) {
        powers_of_two(low, high, unit.divide)
    } else {
        (None, None)
    };
    // A range of more than a factor of 100 has a logarithmic axis.
    let y_scale = y_axis_scale(&all, metric, 0);
    Ok(Chart {
        subtitle: made.common.clone(),
        panels: made.panels.clone(),
        x: ChartAxis {
            title: x.title(),
            unit,
            scale,
            from,
            to,
        },
        y: vec![axis(metric, &all, 0, y_scale)],
        body: ChartBody::Series(all),
        notes: made.notes.clone(),
        ..Chart::default()
    })
}

/// Logarithmic for latencies over more than two powers of ten, otherwise linear from zero.
fn y_axis_scale(all: &[ChartSeries], metric: Dimension, side: usize) -> AxisScale {
    let (low, high) = values(all, side);
    let latency = !metric.more_is_better() && !metric.is_parameter();
    if latency && low > 0.0 && high / low > 50.0 {
        AxisScale::Log(10)
    } else {
        AxisScale::Linear
    }
}

/// The powers of two around the range, in a unit.
fn powers_of_two(low: f64, high: f64, unit: f64) -> (Option<f64>, Option<f64>) {
    if low <= 0.0 {
        return (None, None);
    }
    let (low, high) = ((low / unit).log2().floor(), (high / unit).log2().ceil());
    (
        Some(low.exp2() * unit),
        Some(high.max(low + 1.0).exp2() * unit),
    )
}

fn places(all: &[ChartSeries]) -> (f64, f64) {
    value_range(
        all.iter()
            .flat_map(|series| &series.points)
            .map(|point| point.0),
    )
}

/// The smallest and the largest value on a y axis.
pub(super) fn values(all: &[ChartSeries], axis: usize) -> (f64, f64) {
    value_range(
        all.iter()
            .filter(|series| series.axis == axis)
            .flat_map(|series| &series.points)
            .map(|point| point.1),
    )
}

pub(super) fn value_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let seen = values.filter(|value| value.is_finite());
    let (low, high) = seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high { (0.0, 0.0) } else { (low, high) }
}

/// The axis of a metric. Its unit is chosen from all values on it.
pub(super) fn axis(
    dimension: Dimension,
    all: &[ChartSeries],
    side: usize,
    scale: AxisScale,
) -> ChartAxis {
    let (low, high) = values(all, side);
    let unit = dimension
        .quantity()
        .unit(low, high, matches!(scale, AxisScale::Log(_)));
    ChartAxis {
        title: dimension.title(),
        unit,
        scale,
        ..ChartAxis::default()
    }
}
