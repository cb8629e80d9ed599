//! Steady-state charts of the SNIA specification: all rounds, and the window with its mean, bounds
//! and slope.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, JobFigures,
    MergedInterval, Nanos,
};

use super::ChartError;
use super::curve::{axis, encoded};
use super::group::{Seen, chosen, group_ignoring_names};
use super::time::full;
use crate::pts::{PTS_WINDOW, pts_sentence, pts_steady_round, pts_window};

pub(super) const DERIVED: &str = "Rounds are repetitions of the same job in the order of the results; of a single job, its intervals. The window is \
    the first five rounds that are steady, or else the last five: steady when the largest is above the smallest by no more than 20 % of their mean, \
    and the line that fits them best (least squares) rises or falls by no more than 10 % of the mean over the window (SNIA Solid State Storage \
    Performance Test Specification 2.0.2).";
/// Distance of the bounds from the mean in the specification.
const BOUND: f64 = 0.10;
/// Limit of values, so that the integers of the rule do not overflow.
const MOST: f64 = 1e15;
/// Length of a round in the specification.
const ROUND: Nanos = Nanos::from_secs(60);
const TOO_FEW: ChartError = ChartError::Lacks(
    "rounds are repetitions of the same job, or the intervals of one (`fathom run --output-format=json+`); there are fewer than five",
);

pub(super) fn convergence(
    cells: &[JobFigures],
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let made = rounds(cells, options, metric)?;
    let most = if options.is_complete {
        usize::MAX
    } else {
        1500
    };
    let series: Vec<ChartSeries> = made
        .lines
        .iter()
        .map(|line| ChartSeries {
            name: line.label.clone(),
            points: super::thin(&numbered(&line.values), most),
            panel: line.panel,
            colour: line.colour,
            shade: line.shade,
            ..ChartSeries::default()
        })
        .collect();
    Ok(Chart {
        panels: made.panels.clone(),
        ..chart(made, metric, series, "round by round")
    })
}

pub(super) fn window(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let mut made = rounds(cells, options, metric)?;
    made.lines.retain(|line| {
        line.values.len() >= PTS_WINDOW
            && line.values.iter().all(|value| (0.0..=MOST).contains(value))
    });
    let more = made.lines.len().saturating_sub(1);
    let Some(first) = made.lines.first() else {
        return Err(TOO_FEW);
    };
    let panel = made.panels.get(first.panel).map_or("", String::as_str);
    let parts = [panel, &first.label];
    let name: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let (name, values) = (name.join(", "), first.values.clone());
    let last = pts_steady_round(std::slice::from_ref(&values)).unwrap_or(values.len());
    let five = values[..last]
        .last_chunk::<PTS_WINDOW>()
        .expect("there are five at least");
    let judged = pts_window(five);
    let points: Vec<(f64, f64)> = numbered(&values)[last - PTS_WINDOW..last].to_vec();
    let (from, to) = (points[0].0, points[PTS_WINDOW - 1].0);
    let line = |name: &str, start: f64, end: f64, colour: usize, dashed: bool| ChartSeries {
        name: name.to_owned(),
        points: vec![(from, start), (to, end)],
        colour,
        dashed,
        shape: fathom_model::SeriesShape::Thin,
        ..ChartSeries::default()
    };
    let flat = |name: &str, value: f64, colour: usize| line(name, value, value, colour, true);
    let called = short_name(&name, metric);
    let series = vec![
        ChartSeries {
            name: called.clone(),
            points,
            ..ChartSeries::default()
        },
        flat("mean", judged.mean, 6),
        flat("110 % of it", judged.mean * (1.0 + BOUND), 1),
        flat("90 % of it", judged.mean * (1.0 - BOUND), 3),
        line(
            "best fit",
            judged.start,
            judged.start + 4.0 * judged.slope,
            2,
            false,
        ),
    ];
    let sentence = pts_sentence(&called, last, &judged);
    // The lines that are left out of a chart of all rounds do not matter here.
    made.left_out.clear();
    made.left_out.push(sentence);
    if more > 0 {
        made.left_out.push(format!(
            "{} with rounds left out: --rw, --depth, --jobs, --block or --name selects the load.",
            crate::figures::counted(more as u64, "more load")
        ));
    }
    let mut chart = chart(made, metric, series, "in the steady-state window");
    chart.title = format!("{}: the steady-state window", metric.title());
    chart
        .notes
        .push("The axis does not begin at zero.".to_owned());
    chart.y[0].scale = AxisScale::Close;
    Ok(chart)
}

fn short_name(name: &str, metric: Dimension) -> String {
    if name.is_empty() {
        metric.title()
    } else {
        name.to_owned()
    }
}

fn numbered(values: &[f64]) -> Vec<(f64, f64)> {
    values
        .iter()
        .enumerate()
        .map(|(place, value)| (place as f64 + 1.0, *value))
        .collect()
}

/// The values of some loads, round by round.
struct Rounds {
    /// The properties that all loads have in common.
    common: String,
    panels: Vec<String>,
    lines: Vec<RoundLine>,
    /// Name of a round on the x axis.
    unit: &'static str,
    /// Notes on what is left out.
    left_out: Vec<String>,
    /// How long a round is.
    round: Option<&'static str>,
}

struct RoundLine {
    label: String,
    panel: usize,
    colour: usize,
    shade: Option<f64>,
    values: Vec<f64>,
}

/// The values of each load, round by round.
fn rounds(
    cells: &[JobFigures],
    options: &ChartOptions,
    metric: Dimension,
) -> Result<Rounds, ChartError> {
    // Repetitions may have numbered names, so names are ignored here.
    let mut made = group_ignoring_names(&chosen(cells, options));
    let is_repeated = made.groups.iter().any(|group| group.seen.len() > 1);
    let of_job = |seen: &Seen| {
        if seen.cell.series.is_empty() {
            let rates = seen.cell.steady.iter();
            minutes(rates.map(|iops| (Nanos::from_secs(1), *iops)))
        } else {
            minutes(amounts(&seen.cell.series, seen, metric))
        }
    };
    let values = |seen: &[Seen]| -> Vec<f64> {
        if is_repeated {
            seen.iter().filter_map(|seen| seen.value(metric)).collect()
        } else {
            seen.first().map(of_job).unwrap_or_default()
        }
    };
    made.groups
        .retain(|group| (!is_repeated || group.seen.len() > 1) && values(&group.seen).len() >= 2);
    if made.groups.is_empty() {
        return Err(TOO_FEW);
    }
    let is_long = |seen: &Seen| {
        let length: u64 = full(&seen.cell.series).map(|one| one.length.get()).sum();
        length.max(seen.cell.steady.len() as u64 * 1_000_000_000) >= PTS_WINDOW as u64 * ROUND.get()
    };
    let (unit, note) = if is_repeated {
        ("Round", None)
    } else if made
        .groups
        .iter()
        .flat_map(|group| &group.seen)
        .any(is_long)
    {
        (
            "Round",
            Some("Each round is one minute of the run, as in the standard."),
        )
    } else {
        (
            "Interval",
            Some(
                "The rounds of the standard are one minute long; this run is shorter than five of them, so each point is one interval.",
            ),
        )
    };
    let made = encoded(made, options);
    Ok(Rounds {
        common: made.common.clone(),
        panels: made.panels.clone(),
        lines: made
            .lines
            .iter()
            .map(|line| RoundLine {
                label: line.label.clone(),
                panel: line.panel,
                colour: line.colour,
                shade: line.shade,
                values: values(&line.seen),
            })
            .collect(),
        unit,
        left_out: made.notes,
        round: note,
    })
}

/// Length and amount of each interval.
fn amounts<'a>(
    series: &'a [MergedInterval],
    seen: &'a Seen,
    metric: Dimension,
) -> impl Iterator<Item = (Nanos, f64)> + 'a {
    full(series).map(move |moment| {
        let this = &moment.directions[seen.direction_figures.direction];
        let amount = if metric == Dimension::Bandwidth {
            this.bytes
        } else {
            this.ios
        };
        (moment.length, amount as f64)
    })
}

/// Rates of rounds of one minute, if there are at least five; otherwise of the intervals.
fn minutes(amounts: impl Iterator<Item = (Nanos, f64)>) -> Vec<f64> {
    let all: Vec<(u64, f64)> = amounts
        .map(|(length, amount)| (length.get(), amount))
        .collect();
    let rate = |length: u64, amount: f64| amount / (length as f64 / 1e9);
    let whole: u64 = all.iter().map(|one| one.0).sum();
    if whole < PTS_WINDOW as u64 * ROUND.get() {
        return all
            .into_iter()
            .map(|(length, amount)| rate(length, amount))
            .collect();
    }
    let (mut rounds, mut length, mut sum) = (Vec::new(), 0, 0.0);
    for (one, amount) in all {
        (length, sum) = (length + one, sum + amount);
        if length >= ROUND.get() {
            rounds.push(rate(length, sum));
            (length, sum) = (0, 0.0);
        }
    }
    rounds
}

fn chart(made: Rounds, metric: Dimension, mut series: Vec<ChartSeries>, title_end: &str) -> Chart {
    series.iter_mut().for_each(|one| {
        one.name = short_name(&one.name, metric);
        if one.points.len() > 60 {
            one.shape = fathom_model::SeriesShape::Thin;
        }
    });
    Chart {
        title: format!("{} {title_end}", metric.title()),
        subtitle: made.common,
        x: ChartAxis {
            title: made.unit.into(),
            scale: AxisScale::Close,
            ..ChartAxis::default()
        },
        y: vec![axis(metric, &series, 0, AxisScale::Linear)],
        body: ChartBody::Series(series),
        notes: [
            made.left_out,
            made.round.map(str::to_owned).into_iter().collect(),
        ]
        .concat(),
        ..Chart::default()
    }
}
