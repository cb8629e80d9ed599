//! The blame sheet as stacked bars.

use fathom_model::{
    AxisScale, BlameGroup, BlamePhase, BlameRank, Chart, ChartAxis, ChartBody, ChartOptions,
    ChartSeries, JobFigures, SeriesShape,
};

use super::ChartError;
use super::unit::Quantity;
use crate::figures::{count, duration};

pub(super) const DERIVED: &str = "Each bar is the I/Os at one rank of the response time: all of them, those around a percentile, the slowest percent, \
    the slowest one. Its parts are the shares of the time of exactly these I/Os in each phase; they are not percentiles of phases, which do not add up.";
const LACKS: ChartError = ChartError::Lacks(
    "these results have no blame sheet with I/Os; use `fathom run --blame` as root, with direct I/O",
);
const PANELS: usize = 6;

/// The ranks in short words.
fn rank(rank: BlameRank) -> &'static str {
    match rank {
        BlameRank::SlowestPercent => "slowest 1 %",
        other => other.name(),
    }
}

fn phase(phase: BlamePhase) -> &'static str {
    match phase {
        BlamePhase::BlockLayer => "block layer",
        other => other.name(),
    }
}

/// The name of a group, `all I/Os` for the whole load.
fn group_name(group: &BlameGroup) -> String {
    match (group.name.as_str(), group.direction) {
        ("", None) => "all I/Os".to_owned(),
        (name, None) => name.to_owned(),
        ("", Some(direction)) => format!("{}s", direction.name()),
        (name, Some(direction)) => format!("{name}, {}s", direction.name()),
    }
}

pub(super) fn sheet(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let with: Vec<&JobFigures> = cells
        .iter()
        .filter(|cell| options.matches(cell) && cell.blame.iter().any(|one| !one.rows.is_empty()))
        .collect();
    // One result: each of its groups. Several: the whole load of each.
    let mut groups: Vec<(String, &BlameGroup)> = match with.as_slice() {
        [one] => one
            .blame
            .iter()
            .map(|group| (group_name(group), group))
            .collect(),
        several => several
            .iter()
            .filter_map(|cell| {
                let depth = cell.depth.map(|depth| format!(", depth {depth}"));
                let name = format!(
                    "{}, {}{}",
                    cell.source,
                    cell.name,
                    depth.unwrap_or_default()
                );
                Some((name, cell.blame.first()?))
            })
            .collect(),
    };
    groups.retain(|(_, group)| !group.rows.is_empty());
    if groups.is_empty() {
        return Err(LACKS);
    }
    let most = if options.is_complete {
        usize::MAX
    } else {
        PANELS
    };
    let mut notes = vec![
        "generator: due to submission. submission: to the block layer. block layer: to the scheduler. scheduler: to the driver. \
         device: to its completion. reaping: until the load generator saw it."
            .to_owned(),
    ];
    if groups.len() > most {
        let names: Vec<&str> = groups[most..].iter().map(|one| one.0.as_str()).collect();
        notes.push(format!("Omitted: {}.", names.join("; ")));
        groups.truncate(most);
    }
    let ranks: Vec<BlameRank> = BlameRank::ALL
        .iter()
        .copied()
        .filter(|rank| groups.iter().any(|(_, group)| group.row(*rank).is_some()))
        .collect();
    let mean =
        |group: &BlameGroup, rank: BlameRank| group.row(rank).map(|row| duration(row.mean_ns()));
    let names = ranks.iter().map(|one| match groups.as_slice() {
        [(_, group)] => match mean(group, *one) {
            Some(mean) => format!("{}: {mean}", rank(*one)),
            None => rank(*one).to_owned(),
        },
        _ => rank(*one).to_owned(),
    });
    let mut series = Vec::new();
    for (panel, (_, group)) in groups.iter().enumerate() {
        for (colour, one) in BlamePhase::ALL.iter().enumerate() {
            let points: Vec<(f64, f64)> = ranks
                .iter()
                .enumerate()
                .filter_map(|(place, rank)| {
                    Some((place as f64, 100.0 * group.row(*rank)?.phases.share(*one)))
                })
                .collect();
            if points.iter().any(|point| point.1 > 0.0) {
                series.push(ChartSeries {
                    name: phase(*one).to_owned(),
                    shape: SeriesShape::Stacked,
                    panel,
                    points,
                    colour,
                    ..ChartSeries::default()
                });
            }
        }
    }
    if groups.len() > 1 {
        for (name, group) in &groups {
            let means: Vec<String> = ranks
                .iter()
                .filter_map(|one| Some(format!("{} {}", rank(*one), mean(group, *one)?)))
                .collect();
            notes.push(format!("{name}: {}.", means.join(", ")));
        }
    }
    let subtitle = match groups.as_slice() {
        [(_, group)] => format!(
            "{} of {} I/Os joined with their requests",
            count(group.joined),
            count(group.joined + group.unjoined.total())
        ),
        _ => String::new(),
    };
    Ok(Chart {
        title: "Where the response time passed".to_owned(),
        subtitle,
        x: ChartAxis {
            title: "I/Os by response time, with its mean".to_owned(),
            scale: AxisScale::Names(names.collect()),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: "Share of the response time".to_owned(),
            unit: Quantity::Percent.unit(0.0, 100.0, false),
            from: Some(0.0),
            to: Some(100.0),
            ..ChartAxis::default()
        }],
        panels: if groups.len() > 1 {
            groups.into_iter().map(|(name, _)| name).collect()
        } else {
            Vec::new()
        },
        body: ChartBody::Series(series),
        notes,
        ..Chart::default()
    })
}
