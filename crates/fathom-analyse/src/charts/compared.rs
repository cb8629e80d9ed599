//! Bar charts that compare jobs.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, JobFigures,
    SeriesShape,
};

use super::ChartError;
use super::ceiling::add_ceiling;
use super::curve::{axis, values};
use super::dimension::DimensionFormat;
use super::encoding::{Encoding, LINES, Line, encode};
use super::group::{Seen, chosen, split};
use super::time::full;
use super::unit::inner;

pub(super) const DERIVED: &str = "A bar is one job of a result. The whisker of a throughput is one standard deviation of its samples over time \
    (of several jobs: of the intervals of their sum), up and down: it shows how much the rate varied during the run, not how precise the mean is (see `fathom compare`).";
pub(super) const DERIVED_CPU: &str = "CPU time per I/O is the user and system time of all jobs over their I/Os; it is the cost of the program \
    and the kernel together.";
/// Limit of bars with a name each; of more the highest and the lowest are drawn.
const BARS: usize = 24;
/// Limit of bars in a panel with an ordered x axis.
const PANEL_BARS: usize = 28;
/// Latencies over a wider range have a logarithmic axis.
const WIDE: f64 = 50.0;
/// Panels need results at this share of their positions.
const FILLED: f64 = 0.6;
/// The quantities of the x axis, the preferred first.
const ORDERED: [Dimension; 5] = [
    Dimension::Depth,
    Dimension::Jobs,
    Dimension::Block,
    Dimension::Mix,
    Dimension::Offset,
];

pub(super) fn compare(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let also = options.second_metric.or(options
        .metric
        .is_none()
        .then_some(Dimension::Percentile(99.0)));
    let (seen, metric) = (
        chosen(cells, options),
        options.metric.unwrap_or(Dimension::Iops),
    );
    let made = match in_panels(&seen, options) {
        Some(made) => made.chart(metric, also)?,
        None => bars(&seen, metric, also, options)?,
    };
    add_ceiling(made, metric, &seen, options)
}

pub(super) fn cpu(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    // CPU time is known for the whole job, not for its directions.
    let mut seen = chosen(cells, options);
    seen.retain(|seen| seen.cell.cpu.is_some());
    seen.dedup_by(|a, b| std::ptr::eq(a.cell, b.cell));
    let metric = options
        .metric
        .filter(|metric| *metric == Dimension::CpuPerMib)
        .unwrap_or(Dimension::CpuPerIo);
    match in_panels(&seen, options) {
        Some(made) => made.chart(metric, None),
        None => bars(&seen, metric, None, options),
    }
}

/// Bars whose pattern is the panel, whose most varied quantity is the x axis, and whose device or next
/// quantity is the colour.
struct InPanels<'a> {
    made: Encoding<'a>,
    /// The x axis; `None` is the devices.
    x: Option<Dimension>,
}

/// Results that differ in quantities with an order, or in devices and patterns, at most positions.
/// `None` if a bar with a name for each is better.
fn in_panels<'a>(seen: &[Seen<'a>], options: &ChartOptions) -> Option<InPanels<'a>> {
    let values = |x: Dimension| {
        let mut values: Vec<f64> = seen.iter().filter_map(|seen| seen.value(x)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    };
    let x = ORDERED
        .into_iter()
        .rev()
        .max_by_key(|x| values(*x))
        .filter(|x| values(*x) > 1);
    let varied: Vec<Dimension> = x.into_iter().collect();
    let made = encode(split(seen.to_vec(), &varied));
    let places = match x {
        Some(x) => values(x),
        None => made.most_lines(),
    };
    let is_filled = match x {
        Some(x) => {
            seen.iter().all(|seen| seen.value(x).is_some())
                && seen.len() as f64 >= FILLED * (made.lines.len() * places) as f64
        }
        None => {
            made.panels.len() > 1
                && made.has_device_colours()
                && seen.len() as f64 >= FILLED * (made.panels.len() * places) as f64
        }
    };
    if made.lines.len() < 2 || made.has_names() || !is_filled || places > PANEL_BARS {
        return None;
    }
    let is_complete = options.is_complete;
    let made = match x {
        _ if is_complete => made,
        Some(_) => made.limited_to((PANEL_BARS / places).clamp(2, LINES), None),
        None => made.limited_to(PANEL_BARS, None),
    };
    let made = Encoding {
        is_complete,
        ..made
    };
    Some(InPanels { made, x })
}

impl InPanels<'_> {
    fn chart(self, metric: Dimension, also: Option<Dimension>) -> Result<Chart, ChartError> {
        let InPanels { made, x } = self;
        let lines = made.lines.iter();
        let mut places: Vec<f64> = match x {
            Some(x) => {
                let seen = lines.flat_map(|line| &line.seen);
                seen.filter_map(|seen| seen.value(x)).collect()
            }
            None => lines.map(|line| line.colour as f64).collect(),
        };
        places.sort_by(f64::total_cmp);
        places.dedup();
        let names = places.iter().map(|place| match x {
            Some(x) => x.label(*place),
            None => {
                let mut lines = made.lines.iter();
                let line = lines.find(|line| line.colour as f64 == *place);
                line.map_or(String::new(), |line| line.label.clone())
            }
        });
        let names: Vec<String> = names.collect();
        let series = |(side, metric): (usize, Dimension)| {
            let places = &places;
            let of_line = move |line: &Line| {
                let at = |seen: &Seen| {
                    let place = x.map_or(Some(line.colour as f64), |x| seen.value(x))?;
                    places.iter().position(|known| *known == place)
                };
                let mut bars: Vec<(usize, Seen)> = line
                    .seen
                    .iter()
                    .filter_map(|seen| Some((at(seen)?, *seen)))
                    .collect();
                bars.sort_by_key(|(at, _)| *at);
                let mut series = row(bars.iter().map(|(at, seen)| (*at, seen)), metric, side);
                if x.is_some() {
                    (series.colour, series.shade) = (line.colour, line.shade);
                    if !line.label.is_empty() {
                        series.name.clone_from(&line.label);
                    }
                }
                series.panel = line.panel;
                series
            };
            made.lines.iter().map(of_line).collect::<Vec<_>>()
        };
        let metrics = [Some(metric), also];
        let metrics = metrics.into_iter().flatten().enumerate();
        let mut all: Vec<ChartSeries> = metrics.flat_map(series).collect();
        all.retain(|series| !series.points.is_empty());
        let mut chart = side_by_side(all, metric, also)?;
        // Bars have no base on a logarithmic axis.
        if let (Some(side), ChartBody::Series(all)) = (chart.y.get_mut(1), &mut chart.body) {
            let (low, high) = values(all, 1);
            if low > 0.0 && high / low > WIDE && also.is_some_and(|also| !also.more_is_better()) {
                let metric = also.unwrap_or(metric);
                *side = axis(metric, all, 1, AxisScale::Log(10));
                for series in all.iter_mut().filter(|series| series.axis == 1) {
                    series.shape = SeriesShape::Dots;
                    series.intervals.clear();
                }
            }
        }
        chart.subtitle = made.common;
        chart.panels = made.panels;
        chart.x = ChartAxis {
            title: x.map_or(String::new(), Dimension::title),
            scale: AxisScale::Names(names),
            ..ChartAxis::default()
        };
        chart.notes.extend(made.notes);
        Ok(chart)
    }
}

/// One position for each cell; with `also`, that metric below the bars on a second axis.
fn bars(
    seen: &[Seen],
    metric: Dimension,
    also: Option<Dimension>,
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let made = split(seen.to_vec(), &[]);
    let mut seen: Vec<(String, Seen)> = made
        .groups
        .iter()
        .flat_map(|group| group.seen.iter().map(|seen| (group.label.clone(), *seen)))
        .collect();
    let left_out = if options.is_complete {
        0
    } else {
        ranked(&mut seen, metric)
    };
    let places = || seen.iter().map(|(_, seen)| seen).enumerate();
    let mut all = vec![row(places(), metric, 0)];
    all.extend(also.map(|also| row(places(), also, 1)));
    all.retain(|series| !series.points.is_empty());
    let mut chart = side_by_side(all, metric, also)?;
    let ChartBody::Series(all) = &chart.body else {
        return Ok(chart);
    };
    if metric.more_is_better()
        && all[0].intervals.is_empty()
        && seen
            .iter()
            .any(|(_, one)| one.cell.jobs > Some(1) && relative_deviation(one).is_none())
    {
        chart.notes.push("No whiskers: fio's samples of several jobs are those of the single jobs; the sum over time is in write_iops_log.".to_owned());
    }
    if left_out > 0 {
        chart.notes.push(format!(
            "Ranked: the {} highest and the {} lowest. {} left out; --rw, --depth, --jobs, --block or --name selects.",
            BARS / 2,
            BARS / 2,
            crate::figures::counted(left_out as u64, "result"),
        ));
    }
    let names = seen.iter().map(|(label, seen)| {
        if label.is_empty() {
            seen.cell.name.clone()
        } else {
            label.clone()
        }
    });
    chart.subtitle = made.common;
    chart.x.scale = AxisScale::Names(names.collect());
    Ok(chart)
}

/// Keeps the highest and the lowest of too many, in the order of their values. Returns how many are left out.
fn ranked(seen: &mut Vec<(String, Seen)>, metric: Dimension) -> usize {
    if seen.len() <= BARS {
        return 0;
    }
    let all = seen.len();
    seen.retain(|(_, seen)| seen.value(metric).is_some());
    let value = |one: &(String, Seen)| one.1.value(metric).unwrap_or(0.0);
    seen.sort_by(|a, b| value(b).total_cmp(&value(a)));
    if seen.len() > BARS {
        seen.drain(BARS / 2..seen.len() - BARS / 2);
    }
    all - seen.len()
}

/// The chart of bars without its x axis.
fn side_by_side(
    all: Vec<ChartSeries>,
    metric: Dimension,
    also: Option<Dimension>,
) -> Result<Chart, ChartError> {
    let count = |side: usize| -> usize {
        let own = all.iter().filter(|series| series.axis == side);
        own.map(|series| series.points.len()).sum()
    };
    if count(0) == 0 {
        return Err(ChartError::Lacks("no job in these results has that metric"));
    }
    let also = also.filter(|_| count(1) > 0);
    let mut y = vec![axis(metric, &all, 0, AxisScale::Linear)];
    y.extend(also.map(|also| axis(also, &all, 1, AxisScale::Linear)));
    let mut notes = Vec::new();
    if all.iter().any(|series| !series.intervals.is_empty()) {
        notes.push("Whiskers: one standard deviation of the samples over time.".to_owned());
    }
    if also.is_some() && count(1) < count(0) {
        notes.push("A percentile is missing if a result has it only for each clone, without bins: percentiles cannot be added.".to_owned());
    }
    let title = match also {
        None => format!("{} side by side", metric.title()),
        Some(also) => format!(
            "{} and {} side by side",
            metric.title(),
            inner(&also.title())
        ),
    };
    Ok(Chart {
        title,
        y,
        body: ChartBody::Series(all),
        notes,
        ..Chart::default()
    })
}

/// The bars at some positions.
fn row<'s, 'a: 's>(
    seen: impl Iterator<Item = (usize, &'s Seen<'a>)>,
    metric: Dimension,
    axis: usize,
) -> ChartSeries {
    let mut series = ChartSeries {
        name: metric.title(),
        shape: SeriesShape::Bars,
        axis,
        ..ChartSeries::default()
    };
    let mut spread = true;
    for (place, one) in seen {
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
