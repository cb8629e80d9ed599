//! Charts of one metric over another: by depth, by jobs, by block size, or any other pair.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, ChartUnit, Dimension,
    JobFigures, SeriesShape,
};

use super::ChartError;
use super::ceiling::add_ceiling;
use super::dimension::DimensionFormat;
use super::group::{Seen, Split, chosen, split};
use super::unit::inner;

pub(super) const DERIVED: &str = "Each point is one job (or group of clones) of a result: I/Os per second are good I/Os over \
    the run time; the mean latency and the percentiles are those of all I/Os of the run, never means of means.";
const NOTHING: ChartError = ChartError::Lacks(
    "no job in these results has both metrics; `--rw`, `--depth` and `--jobs` may exclude all",
);
/// Limit of points in one line; more than a screen has columns of pixels.
const POINTS: usize = 1_500;
/// Limit of lines, so that they can be distinguished.
const LINES: usize = 12;

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
    let mut chart = over(cells, &options, Dimension::Block)?;
    chart.title = format!("{} by block size", chart.y[0].title);
    Ok(chart)
}

pub(super) fn any(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let x = options.x.unwrap_or(Dimension::Outstanding);
    let mut chart = over(cells, options, x)?;
    chart.title = format!("{} over {}", chart.y[0].title, inner(&chart.x.title));
    Ok(chart)
}

/// Bars of IOPS with lines of the mean latency and of p99 for one or two groups; only lines for
/// more.
fn bars_and_lines(
    cells: &[JobFigures],
    options: &ChartOptions,
    x: Dimension,
    title: &str,
) -> Result<Chart, ChartError> {
    let matching = chosen(cells, options);
    let made = split(matching.clone(), &[x]);
    let metric = options.metric.unwrap_or(Dimension::Iops);
    if made.groups.len() > 3 {
        let mut chart = lines(made, x, metric, x.scale())?;
        chart.title = format!("{} by {}", metric.title(), inner(&x.title()));
        return add_ceiling(chart, metric, &matching, options);
    }
    let mut places: Vec<f64> = made
        .groups
        .iter()
        .flat_map(|group| &group.seen)
        .filter_map(|seen| seen.value(x))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut all = Vec::new();
    for (colour, group) in made.groups.iter().enumerate() {
        all.push(of_places(group, &places, x, metric, 0, colour * 2));
    }
    let several = made.groups.len() > 1;
    for (colour, group) in made.groups.iter().enumerate() {
        for (dashed, dimension) in [
            (false, Dimension::Mean),
            (true, Dimension::Percentile(99.0)),
        ] {
            let mut line = of_places(
                group,
                &places,
                x,
                dimension,
                1,
                if several { colour * 2 + 1 } else { 1 },
            );
            (line.shape, line.dashed) = (SeriesShape::Line, dashed);
            all.push(line);
        }
    }
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() {
        return Err(NOTHING);
    }
    let names = places.iter().map(|place| x.label(*place)).collect();
    let chart = Chart {
        title: if metric == Dimension::Iops {
            title.to_owned()
        } else {
            format!("{} and latency by {}", metric.title(), inner(&x.title()))
        },
        subtitle: made.common,
        x: ChartAxis {
            title: x.title(),
            scale: AxisScale::Names(names),
            ..ChartAxis::default()
        },
        y: vec![
            axis(metric, &all, 0, AxisScale::Linear),
            ChartAxis {
                title: "Latency".into(),
                ..axis(Dimension::Mean, &all, 1, AxisScale::Linear)
            },
        ],
        notes: vec!["Bars use the left axis, lines the right axis.".to_owned()],
        body: ChartBody::Series(all),
        ..Chart::default()
    };
    add_ceiling(chart, metric, &matching, options)
}

/// The values of one group at named positions.
fn of_places(
    group: &super::group::Group,
    places: &[f64],
    x: Dimension,
    y: Dimension,
    axis: usize,
    colour: usize,
) -> ChartSeries {
    let points = group.seen.iter().filter_map(|seen| {
        let place = seen.value(x)?;
        let at = places.iter().position(|known| *known == place)?;
        Some((at as f64, seen.value(y)?))
    });
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let what = short(y);
    let name = if group.label.is_empty() {
        what
    } else {
        format!("{} · {what}", group.label)
    };
    ChartSeries {
        name,
        shape: SeriesShape::Bars,
        axis,
        points,
        colour,
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
    let chart = lines(split(seen.clone(), varied), x, metric, x.scale())?;
    add_ceiling(chart, metric, &seen, options)
}

fn lines(
    made: Split,
    x: Dimension,
    metric: Dimension,
    scale: AxisScale,
) -> Result<Chart, ChartError> {
    let left_out = made.groups.len().saturating_sub(LINES);
    let mut all: Vec<ChartSeries> = made
        .groups
        .iter()
        .take(LINES)
        .enumerate()
        .map(|(colour, group)| {
            let mut points: Vec<(f64, f64)> = group
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
            let name = if group.label.is_empty() {
                short(metric)
            } else {
                group.label.clone()
            };
            let points = super::thin(&points, POINTS);
            ChartSeries {
                name,
                shape,
                points,
                colour,
                dashed: colour >= 8,
                ..ChartSeries::default()
            }
        })
        .collect();
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() {
        return Err(NOTHING);
    }
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} more lines are omitted: `fathom plot` selects with --rw, --depth, --jobs or --block."
        ));
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
    let y_scale = y_axis_scale(&all, metric);
    Ok(Chart {
        subtitle: made.common,
        x: ChartAxis {
            title: x.title(),
            unit,
            scale,
            from,
            to,
        },
        y: vec![axis(metric, &all, 0, y_scale)],
        body: ChartBody::Series(all),
        notes,
        ..Chart::default()
    })
}

/// Logarithmic for latencies over more than two powers of ten, otherwise linear from zero.
fn y_axis_scale(all: &[ChartSeries], metric: Dimension) -> AxisScale {
    let (low, high) = values(all, 0);
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
