//! Latency over throughput, with knee and limit.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartMark, ChartOptions, ChartSeries, Dimension,
    JobFigures, MarkPosition,
};

use super::ChartError;
use super::curve::{axis, value_range};
use super::dimension::DimensionFormat;
use super::encoding::{Encoding, Line, PANELS, encode};
use super::group::{Seen, chosen, split};
use super::unit::inner;
use crate::figures::{duration, rate};
use crate::knee::{ClosedPoint, Knee, KneeRule, knees};

pub(super) const DERIVED: &str = "Each point is one step of load: its throughput and the latency there. Knees are those of a closed loop, by the \
    rules that `fathom search` uses; the knee by Kneedle is marked, or else the lowest depth with 95 % of the \
    highest throughput. The load within the limit is the highest throughput of a step that meets it; nothing is interpolated.";
/// Limit of points in one line; more than a screen has columns of pixels.
const POINTS: usize = 1_500;
/// Knees and limits of more groups in a panel would overlap.
const MAX_MARKED_GROUPS: usize = 4;
/// Beyond the knee curves turn back and cross: more of them get a panel each.
const FEW: usize = 3;

pub(super) fn load(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let seen = chosen(cells, options);
    let steps = |value: fn(&JobFigures) -> Option<u32>| {
        let mut all: Vec<Option<u32>> = seen.iter().map(|seen| value(seen.cell)).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    // The parameter with more steps was varied; the other separates the curves.
    let varied = if steps(|cell| cell.jobs) > steps(|cell| cell.depth) {
        Dimension::Jobs
    } else {
        Dimension::Depth
    };
    let mut made = split(seen, &[varied, Dimension::Offered]);
    made.groups.retain(|group| group.seen.len() >= 2);
    let made = apart(encode(made), options);
    let groups: Vec<&Line> = made.lines.iter().collect();
    if groups.is_empty() {
        return Err(ChartError::Lacks(
            "a load curve needs at least two steps: results of the same job at several depths or rates",
        ));
    }
    let several = groups.len() > 1;
    let shown: Vec<Dimension> = match (options.metric, options.slo) {
        (Some(metric), _) => vec![metric],
        (None, Some((figure, _))) => vec![figure],
        (None, None) if made.lines.len() > 1 => vec![Dimension::Percentile(99.0)],
        (None, None) => vec![
            Dimension::Mean,
            Dimension::Percentile(99.0),
            Dimension::Percentile(99.9),
        ],
    };
    let (mut all, mut marks, mut notes) = (Vec::new(), Vec::new(), made.notes.clone());
    let mut marked_knees = Vec::new();
    let most_marked = match made.most_lines() {
        1 => PANELS,
        _ => MAX_MARKED_GROUPS,
    };
    for (number, group) in groups.iter().enumerate() {
        for (kind, latency) in shown.iter().enumerate() {
            // Percentiles of one job are an ordered quantity.
            let shade = if shown.len() > 1 {
                Some(kind as f64 / (shown.len() - 1) as f64)
            } else {
                group.shade
            };
            let name = if group.label.is_empty() {
                latency.title()
            } else {
                group.label.clone()
            };
            all.extend(lines(
                group,
                *latency,
                (group.colour, shade),
                &name,
                options.is_complete,
            ));
        }
        if number < most_marked {
            let mut annotations = Annotations {
                is_several: several,
                is_alone: made.most_lines() == 1,
                panels: &made.panels,
                marks: &mut marks,
                notes: &mut notes,
                knees: &mut marked_knees,
            };
            annotations.add(group, shown[0], (options.slo, options.answer));
        }
    }
    if !marked_knees.is_empty() {
        notes.push(format!("Knees (marked): {}.", marked_knees.join("; ")));
    }
    all.retain(|series| !series.points.is_empty());
    if all.is_empty() {
        return Err(ChartError::Lacks(
            "these results have no latency at that percentile",
        ));
    }
    if let Some((figure, limit)) = options.slo {
        marks.push(ChartMark {
            at: MarkPosition::Across(0, limit),
            label: format!("limit: {} of {}", figure_name(figure), duration(limit)),
            panel: None,
        });
    }
    let (low, high) = value_range(
        all.iter()
            .flat_map(|series| &series.points)
            .map(|point| point.0),
    );
    let side = axis(shown[0], &all, 0, AxisScale::Log(10));
    Ok(Chart {
        title: "Latency over throughput".to_owned(),
        subtitle: made.common.clone(),
        panels: made.panels.clone(),
        x: ChartAxis {
            title: "Throughput".into(),
            unit: Dimension::Iops.quantity().unit(low, high, false),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: if shown.len() == 1 {
                side.title.clone()
            } else {
                "Latency".into()
            },
            ..side
        }],
        body: ChartBody::Series(all),
        marks,
        notes,
        ..Chart::default()
    })
}

/// Curves that a reader can follow: of an ordered quantity the first, the last and the one with the highest
/// throughput, and a panel for each if there are more than [`FEW`] and the panels suffice.
fn apart<'a>(made: Encoding<'a>, options: &ChartOptions) -> Encoding<'a> {
    let is_complete = options.is_complete;
    if is_complete || made.most_lines() <= FEW {
        let made = if is_complete { made } else { made.limited() };
        return Encoding {
            is_complete,
            ..made
        };
    }
    let peak = |line: &Line| {
        let rates = line
            .seen
            .iter()
            .filter_map(|seen| seen.value(Dimension::Iops));
        rates.fold(0.0, f64::max)
    };
    let best = made
        .lines
        .iter()
        .max_by(|a, b| peak(a).total_cmp(&peak(b)))
        .map(|line| line.colour);
    let is_ordered = made.lines.iter().all(|line| line.shade.is_some());
    let made = if is_ordered {
        made.limited_to(FEW, best)
    } else {
        made.limited()
    };
    if made.lines.len() <= PANELS {
        made.separated()
    } else {
        made
    }
}

/// One line for the closed loop and one for the open loop: depths and rates have no common order, and service times are not
/// response times.
fn lines(
    group: &Line,
    latency: Dimension,
    (colour, shade): (usize, Option<f64>),
    name: &str,
    is_complete: bool,
) -> Vec<ChartSeries> {
    let of = |is_open: bool| line(group, latency, is_open);
    let (closed, open) = (of(false), of(true));
    let both = !closed.is_empty() && !open.is_empty();
    let series = |points: Vec<(f64, f64)>, kind: &str, dashed: bool| ChartSeries {
        name: if both {
            format!("{name}, {kind} loop")
        } else {
            name.to_owned()
        },
        panel: group.panel,
        points: super::thin(&points, if is_complete { usize::MAX } else { POINTS }),
        colour,
        shade,
        dashed,
        ..ChartSeries::default()
    };
    [(closed, "closed", false), (open, "open", both)]
        .into_iter()
        .filter(|(points, ..)| !points.is_empty())
        .map(|(points, kind, dashed)| series(points, kind, dashed))
        .collect()
}

/// Points in order of the planned load, because the throughput may fall again.
fn line(group: &Line, latency: Dimension, is_open: bool) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, (f64, f64))> = group
        .seen
        .iter()
        .filter(|seen| seen.cell.offered.is_some() == is_open)
        .filter_map(|seen| {
            let load = seen.cell.offered.or(seen.cell.outstanding())?;
            Some((load, (seen.value(Dimension::Iops)?, seen.value(latency)?)))
        })
        .collect();
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps.into_iter().map(|(_, point)| point).collect()
}

/// The step with the highest throughput within a limit. Where loads were offered, only those count, the last trial of each,
/// and only below the lowest that exceeds the limit: `fathom search` gives the same answer.
fn best<'a>(group: &'a Line<'a>, tail: Dimension, limit: f64) -> Option<&'a Seen<'a>> {
    let within = |seen: &Seen| seen.value(tail).is_some_and(|value| value <= limit);
    let mut open: Vec<(f64, &Seen)> = group
        .seen
        .iter()
        .filter_map(|seen| Some((seen.cell.offered?, seen)))
        .collect();
    if open.is_empty() {
        let kept = group.seen.iter().filter(|seen| within(seen));
        return kept.max_by(|a, b| {
            a.direction_figures
                .iops
                .total_cmp(&b.direction_figures.iops)
        });
    }
    open.sort_by(|a, b| {
        a.0.total_cmp(&b.0)
            .then(a.1.cell.result.cmp(&b.1.cell.result))
    });
    let last_trials = open
        .iter()
        .enumerate()
        .filter(|(at, (load, _))| open.get(at + 1).is_none_or(|(next, _)| next != load));
    let kept = last_trials.map(|(_, (_, seen))| *seen);
    kept.take_while(|seen| within(seen)).last()
}

/// The last trial at an offered load.
fn last_trial<'a>(group: &'a Line<'a>, load: u64) -> Option<&'a Seen<'a>> {
    let trials = group.seen.iter().filter(|seen| {
        seen.cell
            .offered
            .is_some_and(|offered| offered.round() as u64 == load)
    });
    trials.max_by(|a, b| a.cell.result.cmp(&b.cell.result))
}

/// What is added to the curves of a chart.
struct Annotations<'c> {
    /// Whether the chart has several curves.
    is_several: bool,
    /// Whether each panel has one curve.
    is_alone: bool,
    panels: &'c [String],
    marks: &'c mut Vec<ChartMark>,
    notes: &'c mut Vec<String>,
    /// The marked knees of several curves.
    knees: &'c mut Vec<String>,
}

impl Annotations<'_> {
    /// Adds the knee, and the step that meets the limit, as marks and notes.
    fn add(
        &mut self,
        group: &Line,
        shown: Dimension,
        (slo, answer): (Option<(Dimension, f64)>, Option<Option<u64>>),
    ) {
        let label = full_label(group, self.panels);
        self.add_knees(group, shown, &label);
        let Some((figure, limit)) = slo else { return };
        let named = if self.is_several {
            format!("{label}: ")
        } else {
            String::new()
        };
        let best = match answer {
            Some(load) => load.and_then(|load| last_trial(group, load)),
            None => best(group, figure, limit),
        };
        let Some((seen, value)) = best.and_then(|seen| Some((seen, seen.value(figure)?))) else {
            self.notes.push(format!(
                "{named}No step has {} within {}.",
                figure_name(figure),
                duration(limit)
            ));
            return;
        };
        let load = rate(seen.cell.offered.unwrap_or(seen.direction_figures.iops));
        let at = MarkPosition::Point(0, seen.direction_figures.iops, value);
        let label = format!("{load} IOPS");
        let panel = Some(group.panel);
        let known = self
            .marks
            .iter_mut()
            .find(|mark| mark.at == at && mark.panel == panel);
        // Labels of several curves would overlap; the notes have them.
        let label = if self.is_several {
            String::new()
        } else {
            label
        };
        match known {
            Some(same) if !self.is_several => same.label = format!("{}: {label}", same.label),
            Some(_) => {}
            None => self.marks.push(ChartMark { at, label, panel }),
        }
        self.notes.push(format!(
            "{named}Of the steps measured, {load} IOPS is the highest within {} of {} (it has {}).",
            figure_name(figure),
            duration(limit),
            duration(value)
        ));
    }

    /// Adds the knees of a closed loop as notes, and the first that is a measured step as a mark.
    fn add_knees(&mut self, group: &Line, shown: Dimension, label: &str) {
        let point = |seen: &Seen| {
            let depth = seen
                .cell
                .outstanding()
                .filter(|_| seen.cell.offered.is_none())? as u32;
            Some(ClosedPoint {
                depth,
                iops: seen.value(Dimension::Iops)?,
                mean_ns: seen.value(Dimension::Mean)?,
            })
        };
        let found = knees(&group.seen.iter().filter_map(point).collect::<Vec<_>>());
        let marked = [KneeRule::Kneedle, KneeRule::NearlyAll]
            .into_iter()
            .find_map(|rule| {
                found
                    .iter()
                    .find(|knee| knee.rule == rule && knee.depth.is_some())
            });
        let named = if self.is_several {
            format!("{label}: ")
        } else {
            String::new()
        };
        let Some(knee) = marked else {
            let first = found.first();
            self.notes
                .extend(first.map(|knee| format!("{named}{}", knee.sentence)));
            return;
        };
        let step = group
            .seen
            .iter()
            .find(|seen| seen.cell.outstanding() == knee.depth);
        let iops = step.and_then(|seen| seen.value(Dimension::Iops));
        if let Some((iops, value)) = iops.zip(step.and_then(|seen| seen.value(shown))) {
            let is_labelled = !self.is_several || self.is_alone;
            self.marks.push(ChartMark {
                at: MarkPosition::Point(0, iops, value),
                label: if is_labelled { "knee" } else { "" }.to_owned(),
                panel: Some(group.panel),
            });
        }
        if let Some(iops) = iops.filter(|_| self.is_several) {
            // With several curves there is no room for sentences.
            self.knees.push(format!(
                "{label} {} IOPS with {} outstanding ({})",
                rate(iops),
                rate(knee.depth.unwrap_or(0.0)),
                knee.rule.name(),
            ));
            return;
        }
        let others: Vec<String> = found
            .iter()
            .filter(|other| other.rule != knee.rule)
            .map(short_knee)
            .collect();
        self.notes.push(format!(
            "{named}The knee by {} Other rules: {}.",
            knee.sentence,
            others.join(", ")
        ));
    }
}

/// `95 % of peak: 8`.
fn short_knee(knee: &Knee) -> String {
    format!(
        "{}: {}",
        knee.rule.name(),
        knee.depth.map_or("none".to_owned(), rate)
    )
}

/// `p99`, `mean latency`.
fn figure_name(figure: Dimension) -> String {
    match figure {
        Dimension::Percentile(percent) => format!("p{percent}"),
        other => inner(&other.title()),
    }
}

/// The panel and the name of a line.
fn full_label(group: &Line, panels: &[String]) -> String {
    let panel = panels.get(group.panel).map(String::as_str);
    [panel.unwrap_or_default(), &group.label]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}
