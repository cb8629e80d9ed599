//! The result of a sweep: its grid, and sentences about it.

use fathom_analyse::Repeats;
use fathom_model::Grid;
use fathom_plan::Sweep;

use super::cells::SweepCells;

/// The measured cells of a sweep in the order of its axes. `targets` are the names of its targets.
#[must_use]
pub fn sweep_grid(sweep: &Sweep, cells: &SweepCells<'_>, targets: &[String]) -> Grid {
    let mut measured: Vec<(&[usize], Repeats<'_>)> = cells
        .results()
        .map(|(position, results)| {
            let repeats = Repeats {
                figures: &results.figures,
                failed: results.failed.as_deref(),
            };
            (position, repeats)
        })
        .collect();
    measured.sort_by_key(|(position, _)| position.to_vec());
    let rows = measured.into_iter().map(|(position, repeats)| {
        let values = sweep.cell(position).values;
        (
            values.into_iter().map(|(_, value)| value).collect(),
            repeats,
        )
    });
    let mut grid = fathom_analyse::grid(sweep.names(), rows.collect());
    grid.sentences.extend(cells.agreements());
    if let Some(axis) = grid.axes.iter().position(|name| name == "target") {
        let by_target = fathom_analyse::by_target(&grid, axis, targets);
        grid.sentences.extend(by_target);
    }
    let interferences = interferences(sweep, &grid);
    grid.sentences.extend(interferences);
    grid
}

/// How much several targets slow each other down, for each combination of the other axes.
fn interferences(sweep: &Sweep, grid: &Grid) -> Vec<String> {
    let n = sweep.targets.len();
    if n < 2 || !sweep.together {
        return Vec::new();
    }
    // Rows are in the order of the axes, and the target is the last axis.
    let axes = grid.axes.len() - 1;
    let groups = grid
        .rows
        .chunk_by(|a, b| a.values[..axes] == b.values[..axes])
        .filter(|group| group.len() == n + 1);
    let sentences = groups.filter_map(|group| {
        let (together, alone) = group.split_last()?;
        let alone: Vec<(String, f64)> = alone
            .iter()
            .map(|row| (row.values[axes].clone(), row.iops.mean))
            .collect();
        let values: Vec<String> = grid
            .axes
            .iter()
            .zip(&group[0].values[..axes])
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        fathom_analyse::interference(&values.join(" "), &alone, &together.figures)
    });
    sentences.collect()
}
