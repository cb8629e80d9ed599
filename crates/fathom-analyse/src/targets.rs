//! Compares the targets of a sweep: file systems on one disk, or disks.

use std::collections::BTreeMap;

use fathom_model::{Grid, GridRow, Verdict};

use crate::figures::count;

/// One sentence for each of `targets`, which are values of axis number `axis` of `grid`: its best
/// cell, and its rate relative to the first target, as the geometric mean of the ratios over all
/// common cells. Invalid cells are not compared. Empty for fewer than two targets.
#[must_use]
pub fn by_target(grid: &Grid, axis: usize, targets: &[String]) -> Vec<String> {
    let Some(first) = targets.first().filter(|_| targets.len() > 1) else {
        return Vec::new();
    };
    let reference = rates(grid, axis, first);
    targets
        .iter()
        .filter_map(|target| sentence(grid, axis, target, (first, &reference)))
        .collect()
}

/// Values on the other axes, and the row.
type Rates<'a> = BTreeMap<Vec<&'a str>, &'a GridRow>;

fn rates<'a>(grid: &'a Grid, axis: usize, target: &str) -> Rates<'a> {
    let counts = |row: &&GridRow| {
        row.failed.is_none() && row.figures.verdict != Verdict::Invalid && row.iops.mean > 0.0
    };
    let of = grid
        .rows
        .iter()
        .filter(|row| row.values.get(axis).is_some_and(|value| value == target))
        .filter(counts);
    of.map(|row| (others(row, axis), row)).collect()
}

fn others(row: &GridRow, axis: usize) -> Vec<&str> {
    row.values
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != axis)
        .map(|(_, value)| value.as_str())
        .collect()
}

fn sentence(
    grid: &Grid,
    axis: usize,
    target: &str,
    (first, reference): (&str, &Rates<'_>),
) -> Option<String> {
    let rates = rates(grid, axis, target);
    let best = rates
        .values()
        .max_by(|a, b| a.iops.mean.total_cmp(&b.iops.mean))?;
    let names = grid
        .axes
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != axis)
        .map(|(_, name)| name);
    let at: Vec<String> = names
        .zip(others(best, axis))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let at = if at.is_empty() {
        String::new()
    } else {
        format!(" ({})", at.join(" "))
    };
    let head = format!(
        "{target}: {} IOPS at most{at}",
        count(best.iops.mean.round() as u64)
    );
    if target == first {
        return Some(format!("{head}."));
    }
    let ratios: Vec<f64> = rates
        .iter()
        .filter_map(|(place, row)| Some(row.iops.mean / reference.get(place)?.iops.mean))
        .collect();
    let (Some(least), Some(most)) = (
        ratios.iter().copied().reduce(f64::min),
        ratios.iter().copied().reduce(f64::max),
    ) else {
        return Some(format!("{head}."));
    };
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let over = if ratios.len() == 1 {
        String::new()
    } else {
        format!(" over {} cells, {least:.2} to {most:.2}", ratios.len())
    };
    Some(format!(
        "{head}; {mean:.2} times the IOPS of {first}{over}."
    ))
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellFigures, Estimate};

    use super::*;

    fn row(bs: &str, target: &str, iops: f64, verdict: Verdict) -> GridRow {
        let figures = CellFigures {
            iops,
            verdict,
            per_target: Vec::new(),
            ..CellFigures::default()
        };
        GridRow {
            values: vec![bs.into(), target.into()],
            iops: Estimate {
                mean: iops,
                half_width: None,
                n: 1,
            },
            figures,
            failed: None,
        }
    }

    /// 2 and 1/2 have the geometric mean 1. Cells that are invalid or measured on one target only
    /// are not compared.
    #[test]
    fn targets_are_compared_where_both_are_valid() {
        let rows = vec![
            row("4k", "a (ext4)", 1000.0, Verdict::Valid),
            row("8k", "a (ext4)", 800.0, Verdict::Degraded),
            row("16k", "a (ext4)", 5.0, Verdict::Invalid),
            row("4k", "b (xfs)", 2000.0, Verdict::Valid),
            row("8k", "b (xfs)", 400.0, Verdict::Valid),
            row("16k", "b (xfs)", 9000.0, Verdict::Valid),
            row("4k", "a (ext4) + b (xfs)", 2900.0, Verdict::Valid),
        ];
        let grid = Grid {
            axes: vec!["bs".into(), "target".into()],
            rows,
            ..Grid::default()
        };
        let targets = ["a (ext4)".to_owned(), "b (xfs)".to_owned()];
        let result = by_target(&grid, 1, &targets);
        assert_eq!(
            result,
            [
                "a (ext4): 1,000 IOPS at most (bs=4k).",
                "b (xfs): 9,000 IOPS at most (bs=16k); 1.00 times the IOPS of a (ext4) over 2 cells, 0.50 to 2.00."
            ]
        );
        assert!(by_target(&grid, 1, &targets[..1]).is_empty());
    }
}
