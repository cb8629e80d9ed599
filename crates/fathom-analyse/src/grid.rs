//! The grid of a sweep: one row for each cell, with its repeats combined.

use fathom_model::{CellFigures, CellLatency, Grid, GridRow, Nanos, RunEnd, Verdict};

use crate::contradictions::{CONTRADICTION, ComparedCell, agreeing, contradictions};
use crate::estimate::estimate;
use crate::figures::rate;

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
    let compared: Vec<ComparedCell> = cells
        .iter()
        .map(|(values, repeats)| compared(&axes, values, repeats))
        .collect();
    let found = contradictions(&compared);
    let mut sentences = Vec::new();
    let mut rows: Vec<GridRow> = Vec::new();
    for ((values, repeats), contradiction) in cells.into_iter().zip(found) {
        let name = label(&axes, &values);
        let used = used(repeats.figures);
        sentences.extend(left_out(&name, repeats.figures, &used));
        let repeats = Repeats {
            figures: &used,
            failed: repeats.failed,
        };
        let Some(mut row) = row(values, repeats) else {
            continue;
        };
        if let Some(contradiction) = contradiction {
            mark_contradiction(&mut row.figures);
            sentences.push(format!("{CONTRADICTION} ({name}): {contradiction}"));
        }
        rows.push(row);
    }
    Grid {
        axes,
        left_out: (all - rows.len()) as u32,
        rows,
        sentences,
        simulated: None,
    }
}

fn compared(axes: &[String], values: &[String], repeats: &Repeats<'_>) -> ComparedCell {
    ComparedCell {
        axes: axes.iter().cloned().zip(values.iter().cloned()).collect(),
        iops: repeats.figures.iter().map(|figures| figures.iops).collect(),
    }
}

fn label(axes: &[String], values: &[String]) -> String {
    let pairs = axes.iter().zip(values);
    pairs
        .map(|(axis, value)| format!("{axis}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The cell contradicts others of its experiment.
pub fn mark_contradiction(figures: &mut CellFigures) {
    figures.verdict = figures.verdict.max(Verdict::Degraded);
    if !figures.codes.iter().any(|code| code == CONTRADICTION) {
        figures.codes.push(CONTRADICTION.to_owned());
    }
}

/// The measurements without those that a majority contradicts.
fn used(all: &[CellFigures]) -> Vec<CellFigures> {
    let iops: Vec<f64> = all.iter().map(|figures| figures.iops).collect();
    all.iter()
        .zip(agreeing(&iops))
        .filter(|(_, used)| *used)
        .map(|(figures, _)| figures.clone())
        .collect()
}

fn left_out(name: &str, all: &[CellFigures], used: &[CellFigures]) -> Option<String> {
    if used.len() == all.len() {
        return None;
    }
    let kept = |figures: &&CellFigures| used.iter().any(|used| used.iops == figures.iops);
    let others: Vec<String> = all
        .iter()
        .filter(|figures| !kept(figures))
        .map(|figures| rate(figures.iops))
        .collect();
    let mean = used.iter().map(|figures| figures.iops).sum::<f64>() / used.len().max(1) as f64;
    Some(format!(
        "{name}: {} of {} measurements left out ({} IOPS), because the others agree on {}.",
        others.len(),
        all.len(),
        others.join(", "),
        rate(mean)
    ))
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
        not_sent: all.iter().map(|figures| figures.not_sent).sum(),
        error: all
            .iter()
            .map(|figures| figures.error)
            .find(|error| *error != 0)
            .unwrap_or(0),
        elapsed: Nanos::new(all.iter().map(|figures| figures.elapsed.get()).sum()),
        parts: all
            .iter()
            .flat_map(|figures| figures.parts.clone())
            .collect(),
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
