//! The grid of a sweep: one row for each cell, with its repeats combined.

use fathom_model::{CellFigures, CellLatency, Grid, GridRow, Nanos, RunEnd, Verdict};

use crate::estimate::estimate;

/// The measurements of one cell of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Repeats<'a> {
    /// One for each measurement.
    pub figures: &'a [CellFigures],
    /// Why it could not be measured.
    pub failed: Option<&'a str>,
}

/// The rows of all cells that were measured or failed; `cells` are values on the axes and their
/// measurements.
#[must_use]
pub fn grid(axes: Vec<String>, cells: Vec<(Vec<String>, Repeats<'_>)>) -> Grid {
    let all = cells.len();
    let rows: Vec<GridRow> = cells
        .into_iter()
        .filter_map(|(values, repeats)| row(values, repeats))
        .collect();
    Grid {
        axes,
        left_out: (all - rows.len()) as u32,
        rows,
        sentences: Vec::new(),
    }
}

fn row(values: Vec<String>, repeats: Repeats<'_>) -> Option<GridRow> {
    let iops: Vec<f64> = repeats.figures.iter().map(|figures| figures.iops).collect();
    if iops.is_empty() && repeats.failed.is_none() {
        return None;
    }
    Some(GridRow {
        values,
        iops: estimate(&iops),
        figures: together(repeats.figures),
        failed: repeats.failed.map(str::to_owned),
    })
}

/// Means of the figures, the worst verdict, the largest maximum, and all codes.
fn together(all: &[CellFigures]) -> CellFigures {
    let n = all.len().max(1) as f64;
    let mean = |of: &dyn Fn(&CellFigures) -> f64| all.iter().map(of).sum::<f64>() / n;
    let latency = |of: fn(&CellLatency) -> f64| mean(&|figures| of(&figures.latency));
    let mut codes: Vec<String> = all
        .iter()
        .flat_map(|figures| figures.codes.iter().cloned())
        .collect();
    codes.sort();
    codes.dedup();
    let sides = all
        .iter()
        .map(|figures| figures.per_target.len())
        .max()
        .unwrap_or(0);
    let offered: Vec<f64> = all.iter().filter_map(|figures| figures.offered).collect();
    CellFigures {
        iops: mean(&|figures| figures.iops),
        bandwidth: mean(&|figures| figures.bandwidth),
        offered: (!offered.is_empty()).then(|| offered.iter().sum::<f64>() / offered.len() as f64),
        latency: CellLatency {
            mean: latency(|l| l.mean),
            p50: latency(|l| l.p50),
            p90: latency(|l| l.p90),
            p99: latency(|l| l.p99),
            p999: latency(|l| l.p999),
            p9999: latency(|l| l.p9999),
            max: all
                .iter()
                .map(|figures| figures.latency.max)
                .fold(0.0, f64::max),
        },
        bad: all.iter().map(|figures| figures.bad).sum(),
        error: all
            .iter()
            .map(|figures| figures.error)
            .find(|error| *error != 0)
            .unwrap_or(0),
        elapsed: Nanos::new(all.iter().map(|figures| figures.elapsed.get()).sum()),
        parts: Vec::new(),
        end: RunEnd::Completed,
        verdict: all
            .iter()
            .map(|figures| figures.verdict)
            .max()
            .unwrap_or(Verdict::Invalid),
        codes,
        per_target: (0..sides)
            .map(|side| mean(&|figures| figures.per_target.get(side).copied().unwrap_or(0.0)))
            .collect(),
    }
}
