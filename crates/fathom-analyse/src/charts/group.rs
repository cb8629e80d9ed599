//! Cells side by side: what is common to all of them stands below the title, what differs in the legend.

use fathom_model::{ChartOptions, Dimension, DirectionFigures, JobFigures};

/// One direction of one cell.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) cell: &'a JobFigures,
    pub(super) way: &'a DirectionFigures,
}

impl Seen<'_> {
    pub(super) fn value(&self, dimension: Dimension) -> Option<f64> {
        dimension.of(self.cell, Some(self.way.direction))
    }
}

/// Cells that differ in nothing but what is on the axes.
pub(super) struct Group<'a> {
    pub(super) label: String,
    pub(super) seen: Vec<Seen<'a>>,
}

/// All groups, and what they have in common.
pub(super) struct Split<'a> {
    pub(super) groups: Vec<Group<'a>>,
    pub(super) common: String,
}

/// What `options` asks for among `cells`.
pub(super) fn chosen<'a>(cells: &'a [JobFigures], options: &ChartOptions) -> Vec<Seen<'a>> {
    let directions =
        |cell: &'a JobFigures| cell.directions.iter().map(move |way| Seen { cell, way });
    let all = cells
        .iter()
        .filter(|cell| options.matches(cell))
        .flat_map(directions);
    let mut seen: Vec<Seen> = all
        .filter(|seen| {
            options
                .direction
                .is_none_or(|direction| direction == seen.way.direction)
        })
        .collect();
    in_order(&mut seen);
    seen
}

/// Patterns in order of first appearance, each from small blocks, few jobs and small depths to many; repetitions stay as they came.
fn in_order(seen: &mut [Seen]) {
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

/// Puts together what differs only in `varied`, in order of first appearance. Where two cells of a group stand at the
/// same place, their names keep them apart.
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
    labelled(named)
}

/// Puts together what differs in nothing but the name.
pub(super) fn alike<'a>(seen: &[Seen<'a>]) -> Split<'a> {
    labelled(grouped(seen, &[], false))
}

type Parts = Vec<String>;

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

/// What a cell is, piece by piece, always as many.
fn parts(seen: &Seen, varied: &[Dimension], names: bool) -> Parts {
    let cell = seen.cell;
    let unless = |dimensions: &[Dimension], words: Option<String>| {
        if dimensions.iter().any(|d| varied.contains(d)) {
            String::new()
        } else {
            words.unwrap_or_default()
        }
    };
    let both = varied.contains(&Dimension::Outstanding);
    let place = cell
        .offset
        .filter(|offset| *offset > 0)
        .map(|offset| format!("from {}", crate::figures::bytes(offset)));
    let direction = if cell.directions.len() > 1 {
        format!("{}s", seen.way.direction.name())
    } else {
        String::new()
    };
    vec![
        cell.source.clone(),
        cell.rw.clone(),
        direction,
        unless(&[Dimension::Offset], place),
        unless(&[Dimension::Block], cell.block.map(crate::figures::bytes)),
        unless(
            &[Dimension::Mix],
            cell.mix
                .filter(|_| cell.directions.len() > 1)
                .map(|mix| format!("{mix} % reads")),
        ),
        unless(
            &[Dimension::Depth, Dimension::Outstanding],
            cell.depth
                .filter(|_| !both)
                .map(|depth| format!("depth {depth}")),
        ),
        unless(
            &[Dimension::Jobs, Dimension::Outstanding],
            cell.jobs.map(|jobs| {
                if jobs == 1 {
                    "1 job".into()
                } else {
                    format!("{jobs} jobs")
                }
            }),
        ),
        if names {
            cell.name.clone()
        } else {
            String::new()
        },
    ]
}

fn labelled(groups: Vec<(Parts, Vec<Seen<'_>>)>) -> Split<'_> {
    let count = groups.first().map_or(0, |(parts, _)| parts.len());
    let same: Vec<bool> = (0..count)
        .map(|n| groups.windows(2).all(|two| two[0].0[n] == two[1].0[n]))
        .collect();
    let joined = |parts: &Parts, wanted: bool, between: &str| {
        let picked = parts
            .iter()
            .zip(&same)
            .filter(|(part, same)| **same == wanted && !part.is_empty());
        picked
            .map(|(part, _)| part.as_str())
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
            seen,
        })
        .collect();
    Split { groups, common }
}
