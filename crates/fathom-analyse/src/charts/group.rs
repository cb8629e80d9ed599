//! Groups of cells: common properties are shown below the title, differences in the legend.

use fathom_model::{ChartOptions, Dimension, DirectionFigures, JobFigures};

/// One direction of one cell.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) cell: &'a JobFigures,
    pub(super) direction_figures: &'a DirectionFigures,
}

impl Seen<'_> {
    pub(super) fn value(&self, dimension: Dimension) -> Option<f64> {
        dimension.of(self.cell, Some(self.direction_figures.direction))
    }
}

/// Cells that differ only in the properties on the axes.
pub(super) struct Group<'a> {
    pub(super) label: String,
    /// Its properties, in the order of [`parts`].
    pub(super) parts: Parts,
    pub(super) seen: Vec<Seen<'a>>,
}

/// All groups, and their common properties.
pub(super) struct Split<'a> {
    pub(super) groups: Vec<Group<'a>>,
    /// The properties that all groups have in common.
    pub(super) same: Vec<bool>,
    pub(super) common: String,
}

/// The cells that `options` selects.
pub(super) fn chosen<'a>(cells: &'a [JobFigures], options: &ChartOptions) -> Vec<Seen<'a>> {
    let directions = |cell: &'a JobFigures| {
        cell.directions.iter().map(move |direction_figures| Seen {
            cell,
            direction_figures,
        })
    };
    let all = cells
        .iter()
        .filter(|cell| options.matches(cell))
        .flat_map(directions);
    let mut seen: Vec<Seen> = all
        .filter(|seen| {
            options
                .direction
                .is_none_or(|direction| direction == seen.direction_figures.direction)
        })
        .collect();
    sort_cells(&mut seen);
    seen
}

/// Sorts patterns in order of first appearance, and each by block size, jobs and depth; repetitions
/// keep their order.
fn sort_cells(seen: &mut [Seen]) {
    let mut first = std::collections::HashMap::new();
    for (place, one) in seen.iter().enumerate() {
        first.entry(load(one)).or_insert(place);
    }
    seen.sort_by_key(|one| {
        (
            first[&load(one)],
            one.cell.block,
            one.cell.mix,
            one.cell.jobs,
            one.cell.depth,
        )
    });
}

fn load(seen: &Seen) -> (String, String) {
    (seen.cell.source.clone(), seen.cell.rw.clone())
}

/// Groups cells that differ only in `varied`, in order of first appearance. If two cells of a group
/// have the same position, their names separate them.
pub(super) fn split<'a>(seen: Vec<Seen<'a>>, varied: &[Dimension]) -> Split<'a> {
    let plain = grouped(&seen, varied, false);
    let place = |seen: &Seen| {
        varied
            .iter()
            .map(|d| seen.value(*d).map(f64::to_bits))
            .collect::<Vec<_>>()
    };
    let clash = plain.iter().any(|(_, seen)| {
        let mut places: Vec<_> = seen.iter().map(place).collect();
        places.sort();
        places.windows(2).any(|two| two[0] == two[1])
    });
    let named = if clash {
        grouped(&seen, varied, true)
    } else {
        plain
    };
    with_labels(named)
}

/// Groups cells that differ only in the name.
pub(super) fn group_ignoring_names<'a>(seen: &[Seen<'a>]) -> Split<'a> {
    with_labels(grouped(seen, &[], false))
}

/// Groups cells by their names, and each by its directions: of jobs that their names tell apart.
pub(super) fn split_by_name(seen: Vec<Seen<'_>>) -> Split<'_> {
    let mut groups = grouped(&seen, &[], true);
    for (parts, _) in &mut groups {
        for (place, part) in parts.iter_mut().enumerate() {
            if place != NAME && place != DIRECTION {
                part.clear();
            }
        }
    }
    with_labels(groups)
}

pub(super) type Parts = Vec<String>;

fn grouped<'a>(
    seen: &[Seen<'a>],
    varied: &[Dimension],
    names: bool,
) -> Vec<(Parts, Vec<Seen<'a>>)> {
    let mut groups: Vec<(Parts, Vec<Seen<'a>>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for one in seen {
        let parts = parts(one, varied, names);
        let place = *places.entry(parts.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((parts, Vec::new()));
        }
        groups[place].1.push(*one);
    }
    groups
}

/// The properties of a cell, always the same number.
fn parts(seen: &Seen, varied: &[Dimension], names: bool) -> Parts {
    let cell = seen.cell;
    let unless_varied = |dimensions: &[Dimension], text: Option<String>| {
        if dimensions.iter().any(|d| varied.contains(d)) {
            String::new()
        } else {
            text.unwrap_or_default()
        }
    };
    let both = varied.contains(&Dimension::Outstanding);
    let place = cell
        .offset
        .filter(|offset| *offset > 0)
        .map(|offset| format!("from {}", crate::figures::bytes(offset)));
    let direction = if cell.directions.len() > 1 {
        format!("{}s", seen.direction_figures.direction.name())
    } else {
        String::new()
    };
    vec![
        cell.source.clone(),
        cell.rw.clone(),
        direction,
        unless_varied(&[Dimension::Offset], place),
        unless_varied(&[Dimension::Block], cell.block.map(crate::figures::bytes)),
        unless_varied(
            &[Dimension::Mix],
            cell.mix
                .filter(|_| cell.directions.len() > 1)
                .map(|mix| format!("{mix} % reads")),
        ),
        unless_varied(
            &[Dimension::Depth, Dimension::Outstanding],
            cell.depth
                .filter(|_| !both)
                .map(|depth| format!("depth {depth}")),
        ),
        unless_varied(
            &[Dimension::Jobs, Dimension::Outstanding],
            cell.jobs.map(|jobs| {
                if jobs == 1 {
                    "1 job".into()
                } else {
                    format!("{jobs} jobs")
                }
            }),
        ),
        cell.engine.clone(),
        if names {
            cell.name.clone()
        } else {
            String::new()
        },
    ]
}

/// Positions in [`parts`].
pub(super) const SOURCE: usize = 0;
pub(super) const PATTERN: usize = 1;
pub(super) const DIRECTION: usize = 2;
pub(super) const OFFSET: usize = 3;
pub(super) const BLOCK: usize = 4;
pub(super) const MIX: usize = 5;
pub(super) const DEPTH: usize = 6;
pub(super) const JOBS: usize = 7;
/// The engine names a group only where it distinguishes groups.
const ENGINE: usize = 8;
pub(super) const NAME: usize = 9;

fn with_labels(groups: Vec<(Parts, Vec<Seen<'_>>)>) -> Split<'_> {
    let count = groups.first().map_or(0, |(parts, _)| parts.len());
    let same: Vec<bool> = (0..count)
        .map(|n| groups.windows(2).all(|two| two[0].0[n] == two[1].0[n]))
        .collect();
    let joined = |parts: &Parts, wanted: bool, between: &str| {
        let picked = parts
            .iter()
            .zip(&same)
            .enumerate()
            .filter(|(n, (part, same))| {
                **same == wanted && !part.is_empty() && !(wanted && *n == ENGINE)
            });
        picked
            .map(|(_, (part, _))| part.as_str())
            .collect::<Vec<_>>()
            .join(between)
    };
    let common = groups
        .first()
        .map_or(String::new(), |(parts, _)| joined(parts, true, " · "));
    let groups = groups
        .into_iter()
        .map(|(parts, seen)| Group {
            label: joined(&parts, false, ", "),
            parts,
            seen,
        })
        .collect();
    Split {
        groups,
        same,
        common,
    }
}
