//! Steady-state charts of the SNIA specification: all rounds, and the window with its mean, bounds
//! and slope.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartOptions, ChartSeries, Dimension, JobFigures,
    MergedInterval, Nanos,
};

use super::ChartError;
use super::curve::axis;
use super::group::{chosen, group_ignoring_names};
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
    let (common, all, note) = rounds(cells, options, metric)?;
    let series: Vec<ChartSeries> = all
        .into_iter()
        .enumerate()
        .map(|(colour, (name, values))| ChartSeries {
            name,
            points: super::thin(
                &numbered(&values),
                if options.is_complete {
                    usize::MAX
                } else {
                    1500
                },
            ),
            colour,
            ..ChartSeries::default()
        })
        .collect();
    Ok(chart(
        format!("{} round by round", metric.title()),
        common,
        metric,
        series,
        note.into_iter().collect(),
    ))
}

pub(super) fn window(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let metric = options.metric.unwrap_or(Dimension::Iops);
    let (common, mut all, note) = rounds(cells, options, metric)?;
    all.retain(|(_, values)| {
        values.len() >= PTS_WINDOW && values.iter().all(|value| (0.0..=MOST).contains(value))
    });
    let Some((name, values)) = all.into_iter().next() else {
        return Err(TOO_FEW);
    };
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
    let mut chart = chart(
        format!("{}: the steady-state window", metric.title()),
        common,
        metric,
        series,
        [
            vec![sentence],
            note.into_iter().collect(),
            vec!["The axis does not begin at zero.".to_owned()],
        ]
        .concat(),
    );
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

/// What is common, the values of each load, and how long a round is.
type Rounds = (String, Vec<(String, Vec<f64>)>, Option<String>);

/// The values of each load, round by round.
fn rounds(
    cells: &[JobFigures],
    options: &ChartOptions,
    metric: Dimension,
) -> Result<Rounds, ChartError> {
    // Repetitions may have numbered names, so names are ignored here.
    let made = group_ignoring_names(&chosen(cells, options));
    let repeated = made.groups.iter().filter(|group| group.seen.len() > 1);
    let mut all: Vec<(String, Vec<f64>)> = repeated
        .map(|group| {
            (
                group.label.clone(),
                group
                    .seen
                    .iter()
                    .filter_map(|seen| seen.value(metric))
                    .collect(),
            )
        })
        .collect();
    let mut note = None;
    if all.is_empty() {
        let of = |seen: &super::group::Seen| {
            if seen.cell.series.is_empty() {
                minutes(
                    seen.cell
                        .steady
                        .iter()
                        .map(|iops| (Nanos::from_secs(1), *iops)),
                )
            } else {
                minutes(amounts(&seen.cell.series, seen, metric))
            }
        };
        let is_long = |seen: &super::group::Seen| {
            let length: u64 = full(&seen.cell.series).map(|one| one.length.get()).sum();
            length.max(seen.cell.steady.len() as u64 * 1_000_000_000)
                >= PTS_WINDOW as u64 * ROUND.get()
        };
        note = Some(
            if made.groups.iter().flat_map(|group| &group.seen).any(is_long) {
                "Each round is one minute of the run, as in the standard."
            } else {
                "The rounds of the standard are one minute long; this run is shorter than five of them, so each point is one interval."
            }
            .to_owned(),
        );
        all = made
            .groups
            .iter()
            .map(|group| {
                (
                    group.label.clone(),
                    group.seen.first().map(of).unwrap_or_default(),
                )
            })
            .collect();
    }
    all.retain(|(_, values)| values.len() >= 2);
    all.truncate(10);
    if all.is_empty() {
        Err(TOO_FEW)
    } else {
        Ok((made.common, all, note))
    }
}

/// Length and amount of each interval.
fn amounts<'a>(
    series: &'a [MergedInterval],
    seen: &'a super::group::Seen,
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

fn chart(
    title: String,
    common: String,
    metric: Dimension,
    mut series: Vec<ChartSeries>,
    notes: Vec<String>,
) -> Chart {
    series.iter_mut().for_each(|one| {
        one.name = short_name(&one.name, metric);
        if one.points.len() > 60 {
            one.shape = fathom_model::SeriesShape::Thin;
        }
    });
    Chart {
        title,
        subtitle: common,
        x: ChartAxis {
            title: "Round".into(),
            scale: AxisScale::Close,
            ..ChartAxis::default()
        },
        y: vec![axis(metric, &series, 0, AxisScale::Linear)],
        body: ChartBody::Series(series),
        notes,
        ..Chart::default()
    }
}
