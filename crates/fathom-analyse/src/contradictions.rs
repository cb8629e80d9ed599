//! Cells of one experiment compared with each other: a cell that contradicts its neighbours or its own repeats.
//!
//! A cell alone looks valid when another program used the device all the time that it was measured. Its neighbours show it.

use std::collections::BTreeMap;

use fathom_model::{CellState, Finding, StoredCell, StoredFinding, Verdict, Weight};

use crate::PTS_WINDOW;
use crate::catalogue::explain;
use crate::figures::rate;

/// The code of the finding.
pub const CONTRADICTION: &str = "CELL_CONTRADICTED";
/// Axes on which more I/Os are in flight.
const DEPTH_AXES: [&str; 2] = ["iodepth", "numjobs"];
/// With more I/Os in flight at least this share of the earlier throughput remains.
const REMAINS: f64 = 0.7;
/// A cell between two others is at most by this factor outside their range.
const FAR: f64 = 1.7;
/// Repeats of one cell differ at most by this factor.
const REPEATS_DIFFER: f64 = 1.5;
/// Repeats that differ at most by this factor confirm each other.
const CONFIRMED: f64 = 1.25;

/// A cell and the IOPS of its repeats.
#[derive(Clone, Debug, Default)]
pub struct ComparedCell {
    /// Name and value on each axis.
    pub axes: Vec<(String, String)>,
    /// One for each measurement.
    pub iops: Vec<f64>,
}

/// One sentence for each cell that contradicts others of its experiment or its own repeats. Two repeats that agree and are
/// the majority confirm a cell: it is then unusual, but not wrong.
#[must_use]
pub fn contradictions(cells: &[ComparedCell]) -> Vec<Option<String>> {
    let mut found: Vec<Option<String>> = cells.iter().map(|cell| repeats(&cell.iops)).collect();
    let axes: Vec<&String> = cells.first().map_or(Vec::new(), |cell| {
        cell.axes.iter().map(|(name, _)| name).collect()
    });
    for (axis, name) in axes.iter().enumerate() {
        for line in lines(cells, axis) {
            along(cells, &line, name, &mut found);
        }
    }
    found
}

/// The finding of a contradiction.
#[must_use]
pub fn contradiction_finding(evidence: &str) -> Finding {
    let kind = explain(CONTRADICTION).expect("a row of the table");
    Finding {
        id: kind.id,
        code: kind.code,
        weight: Weight::Degrades,
        about: None,
        evidence: evidence.to_owned(),
        advice: kind.remedy.to_owned(),
        when: Vec::new(),
    }
}

/// Adds the finding to the stored cells of a sweep or a suite that contradict others: of the same step, in a suite.
pub fn mark_stored_contradictions(cells: &mut [StoredCell]) {
    let mut steps: Vec<String> = cells.iter().map(step).collect();
    steps.sort_unstable();
    steps.dedup();
    // Loads that only change the target are not results.
    for step_name in steps.iter().filter(|name| !name.ends_with(" soak")) {
        let own = cells.iter_mut().filter(|cell| step(cell) == **step_name);
        mark_step(own.collect(), !step_name.is_empty());
    }
}

/// The step of a cell: its name without its values; empty for cells of a sweep.
fn step(cell: &StoredCell) -> String {
    let Some((_, key)) = cell.axes.iter().find(|(name, _)| name == "cell") else {
        return String::new();
    };
    let labels: Vec<String> = axes(cell)
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let name = key.strip_suffix(&labels.join(" ")).unwrap_or(key);
    name.trim_end().to_owned()
}

/// The axes of a cell without its name and the number of its repeat.
fn axes(cell: &StoredCell) -> Vec<(String, String)> {
    let mut axes = cell.axes.clone();
    axes.retain(|(name, _)| name != "repeat" && name != "cell");
    axes
}

/// Marks the cells of one step. Rounds of a suite are judged by the window at their end, as in its result.
fn mark_step(cells: Vec<&mut StoredCell>, is_suite: bool) {
    let iops = |cell: &StoredCell| {
        let figure = cell.figures.iter().find(|(name, _)| name == "iops");
        figure
            .map(|(_, iops)| *iops)
            .filter(|_| cell.state == CellState::Finished)
    };
    let mut compared: Vec<ComparedCell> = Vec::new();
    for cell in &cells {
        let (axes, iops) = (axes(cell), iops(cell));
        match compared.iter_mut().find(|known| known.axes == axes) {
            Some(known) => known.iops.extend(iops),
            None => compared.push(ComparedCell {
                axes,
                iops: iops.into_iter().collect(),
            }),
        }
    }
    if is_suite {
        for cell in &mut compared {
            let earlier = cell.iops.len().saturating_sub(PTS_WINDOW);
            cell.iops.drain(..earlier);
        }
    }
    let found = contradictions(&compared);
    for cell in cells {
        let axes = axes(cell);
        let evidence = compared
            .iter()
            .zip(&found)
            .find(|(known, _)| known.axes == axes)
            .and_then(|(_, evidence)| evidence.clone());
        let Some(evidence) = evidence.filter(|_| iops(cell).is_some()) else {
            continue;
        };
        if cell.verdict == Verdict::Valid.name() {
            cell.verdict = Verdict::Degraded.name().to_owned();
        }
        cell.findings.push(StoredFinding {
            code: CONTRADICTION.to_owned(),
            weight: Weight::Degrades.name().to_owned(),
            about: String::new(),
            evidence,
        });
    }
}

/// Which measurements of a cell are used: all of them, or the majority that agrees if the others differ from it.
#[must_use]
pub fn agreeing(iops: &[f64]) -> Vec<bool> {
    let middle = median(iops);
    let near: Vec<bool> = iops
        .iter()
        .map(|value| factor(*value, middle) <= REPEATS_DIFFER)
        .collect();
    let kept: Vec<f64> = iops
        .iter()
        .zip(&near)
        .filter(|(_, near)| **near)
        .map(|(value, _)| *value)
        .collect();
    if kept.len() >= 2 && 2 * kept.len() > iops.len() && spread(&kept) <= REPEATS_DIFFER {
        near
    } else {
        vec![true; iops.len()]
    }
}

/// Values on an axis as numbers, and the indexes of the cells that differ on that axis only, ascending.
fn lines(cells: &[ComparedCell], axis: usize) -> Vec<Vec<usize>> {
    let mut lines: BTreeMap<Vec<&str>, Vec<(f64, usize)>> = BTreeMap::new();
    for (index, cell) in cells.iter().enumerate() {
        let Some(value) = cell.axes.get(axis).and_then(|(_, value)| number(value)) else {
            return Vec::new();
        };
        if cell.iops.is_empty() {
            continue;
        }
        let others = cell
            .axes
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != axis)
            .map(|(_, (_, value))| value.as_str())
            .collect();
        lines.entry(others).or_default().push((value, index));
    }
    lines
        .into_values()
        .map(|mut line| {
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            line.into_iter().map(|(_, index)| index).collect()
        })
        .collect()
}

/// A number with an optional suffix: `8`, `4k`, `1m`.
fn number(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match lower[digits.len()..].chars().next() {
        None => 0,
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        Some(_) => return None,
    };
    Some(digits.parse::<f64>().ok()? * f64::from(power).exp2())
}

fn along(cells: &[ComparedCell], line: &[usize], axis: &str, found: &mut [Option<String>]) {
    let value = |at: usize| median(&cells[line[at]].iops);
    let label = |at: usize| {
        let values = &cells[line[at]].axes;
        let own = values.iter().find(|(name, _)| name == axis);
        own.map_or(String::new(), |(name, value)| format!("{name}={value}"))
    };
    for at in 0..line.len() {
        let index = line[at];
        if found[index].is_some() || is_confirmed(&cells[index].iops) {
            continue;
        }
        let own = value(at);
        if DEPTH_AXES.contains(&axis)
            && let Some(before) = (0..at)
                .filter(|before| found[line[*before]].is_none())
                .max_by(|a, b| value(*a).total_cmp(&value(*b)))
            && own < REMAINS * value(before)
        {
            found[index] = Some(format!(
                "{} IOPS at {} beside {} at {}: throughput does not fall with more I/Os in flight unless something else \
                 uses the device.",
                rate(own),
                label(at),
                rate(value(before)),
                label(before),
            ));
        }
    }
    // The cell that is farthest from its neighbours first: beside it, the neighbours themselves are not judged.
    while let Some((at, before, after)) = farthest(cells, line, found) {
        found[line[at]] = Some(format!(
            "{} IOPS at {} between {} at {} and {} at {}.",
            rate(value(at)),
            label(at),
            rate(value(before)),
            label(before),
            rate(value(after)),
            label(after),
        ));
    }
}

/// The cell farthest outside the range of its neighbours, and those; `None` if all are near. Of two that are equally far, the
/// slower one: other use of a device makes it slower.
fn farthest(
    cells: &[ComparedCell],
    line: &[usize],
    found: &[Option<String>],
) -> Option<(usize, usize, usize)> {
    let value = |at: usize| median(&cells[line[at]].iops);
    let open: Vec<usize> = (0..line.len())
        .filter(|at| found[line[*at]].is_none())
        .collect();
    let mut farthest: Option<(f64, usize, usize, usize)> = None;
    for three in open.windows(3) {
        let (before, at, after) = (three[0], three[1], three[2]);
        let own = value(at);
        let (low, high) = (
            value(before).min(value(after)),
            value(before).max(value(after)),
        );
        let distance = if own < low { low / own } else { own / high };
        let is_farther = farthest.is_none_or(|(known, other, ..)| {
            distance > known || (distance >= known && own < value(other))
        });
        if distance > FAR && is_farther && !is_confirmed(&cells[line[at]].iops) {
            farthest = Some((distance, at, before, after));
        }
    }
    farthest.map(|(_, at, before, after)| (at, before, after))
}

/// Repeats that differ by more than their spread, and have no majority that agrees.
fn repeats(iops: &[f64]) -> Option<String> {
    if iops.len() < 2 || spread(iops) <= REPEATS_DIFFER || agreeing(iops).contains(&false) {
        return None;
    }
    let (low, high) = range(iops);
    Some(format!(
        "{} measurements of this cell differ: {} to {} IOPS.",
        iops.len(),
        rate(low),
        rate(high)
    ))
}

/// Whether at least two measurements agree, and no more than a minority differs from them.
fn is_confirmed(iops: &[f64]) -> bool {
    let used: Vec<f64> = iops
        .iter()
        .zip(agreeing(iops))
        .filter(|(_, used)| *used)
        .map(|(value, _)| *value)
        .collect();
    used.len() >= 2 && spread(&used) <= CONFIRMED
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(*value), high.max(*value))
        })
}

fn spread(values: &[f64]) -> f64 {
    let (low, high) = range(values);
    factor(low, high)
}

fn factor(a: f64, b: f64) -> f64 {
    a.max(b) / a.min(b).max(f64::MIN_POSITIVE)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(axis: &str, cells: &[(&str, &[f64])]) -> Vec<ComparedCell> {
        cells
            .iter()
            .map(|(value, iops)| ComparedCell {
                axes: vec![(axis.to_owned(), (*value).to_owned())],
                iops: iops.to_vec(),
            })
            .collect()
    }

    fn marked(axis: &str, cells: &[(&str, &[f64])]) -> Vec<usize> {
        let found = contradictions(&line(axis, cells));
        (0..found.len()).filter(|at| found[*at].is_some()).collect()
    }

    /// Regression 0513: `show`, reports and charts marked cells of sweeps only. The cells of a suite are compared within their
    /// step: another step with a lower throughput is not a contradiction.
    #[test]
    fn stored_cells_of_a_suite_are_marked() {
        let cell = |step: &str, depth: &str, repeat: u32, iops: f64| {
            let mut axes = vec![
                ("cell".to_owned(), format!("{step} iodepth={depth}")),
                ("iodepth".to_owned(), depth.to_owned()),
            ];
            if repeat > 0 {
                axes.push(("repeat".to_owned(), (repeat + 1).to_string()));
            }
            StoredCell {
                axes,
                figures: vec![("iops".to_owned(), iops)],
                state: CellState::Finished,
                verdict: "valid".to_owned(),
                ..StoredCell::default()
            }
        };
        let mut cells = vec![
            cell("reads", "1", 0, 773.0),
            cell("reads", "2", 0, 56.0),
            cell("reads", "4", 0, 3000.0),
            cell("writes", "1", 0, 20.0),
            cell("writes", "2", 0, 21.0),
            cell("writes", "4", 0, 22.0),
        ];
        mark_stored_contradictions(&mut cells);
        let marked = |cells: &[StoredCell]| -> Vec<usize> {
            let has = |cell: &StoredCell| cell.findings.iter().any(|one| one.code == CONTRADICTION);
            (0..cells.len()).filter(|at| has(&cells[*at])).collect()
        };
        assert_eq!(marked(&cells), [1]);
        assert_eq!(cells[1].verdict, "degraded");
        // Two measurements that agree with the neighbours replace the first.
        let mut again = vec![
            cell("reads", "1", 0, 773.0),
            cell("reads", "2", 0, 56.0),
            cell("reads", "4", 0, 3000.0),
            cell("reads", "2", 1, 1500.0),
            cell("reads", "2", 2, 1520.0),
        ];
        mark_stored_contradictions(&mut again);
        assert_eq!(marked(&again), [0_usize; 0]);
    }

    /// Regression 0407: 56 IOPS at depth 2 beside 773 at depth 1 was valid.
    #[test]
    fn throughput_that_falls_with_depth_is_a_contradiction() {
        let cells: [(&str, &[f64]); 4] = [
            ("1", &[773.0]),
            ("2", &[56.0]),
            ("4", &[3000.0]),
            ("8", &[5000.0]),
        ];
        assert_eq!(marked("iodepth", &cells), [1]);
        let sentence = contradictions(&line("iodepth", &cells))[1]
            .clone()
            .expect("a sentence");
        assert!(
            sentence.starts_with("56 IOPS at iodepth=2 beside 773 at iodepth=1"),
            "{sentence}"
        );
        // A saturated device, and one that loses a tenth of its rate to a deep queue.
        let saturated: [(&str, &[f64]); 4] = [
            ("1", &[1000.0]),
            ("4", &[4000.0]),
            ("16", &[4100.0]),
            ("64", &[3700.0]),
        ];
        assert!(marked("iodepth", &saturated).is_empty());
    }

    #[test]
    fn a_cell_far_from_its_neighbours_is_a_contradiction() {
        let sizes: [(&str, &[f64]); 5] = [
            ("4k", &[10_000.0]),
            ("8k", &[900.0]),
            ("16k", &[8000.0]),
            ("32k", &[5000.0]),
            ("1m", &[300.0]),
        ];
        assert_eq!(marked("bs", &sizes), [1]);
        // Names have no order.
        let names: [(&str, &[f64]); 3] = [
            ("read", &[10_000.0]),
            ("randread", &[900.0]),
            ("write", &[8000.0]),
        ];
        assert!(marked("rw", &names).is_empty());
    }

    #[test]
    fn repeats_that_differ_are_a_contradiction_unless_a_majority_agrees() {
        assert_eq!(marked("rw", &[("read", &[56.0, 773.0])]), [0]);
        assert!(marked("rw", &[("read", &[56.0, 773.0, 780.0])]).is_empty());
        assert_eq!(agreeing(&[56.0, 773.0, 780.0]), [false, true, true]);
        assert_eq!(agreeing(&[56.0, 773.0]), [true, true]);
        assert_eq!(marked("rw", &[("read", &[100.0, 300.0, 900.0])]), [0]);
        assert!(marked("rw", &[("read", &[100.0, 120.0, 140.0])]).is_empty());
    }

    /// Regression 0407: the stored cells of the sweep, as `show`, reports, charts and exports read them.
    #[test]
    fn stored_cells_are_marked() {
        let cell = |depth: &str, iops: f64| StoredCell {
            axes: vec![("iodepth".to_owned(), depth.to_owned())],
            verdict: "valid".to_owned(),
            figures: vec![("iops".to_owned(), iops)],
            ..StoredCell::default()
        };
        let mut cells = [cell("1", 773.0), cell("2", 56.0), cell("4", 3000.0)];
        mark_stored_contradictions(&mut cells);
        let verdicts: Vec<&str> = cells.iter().map(|cell| cell.verdict.as_str()).collect();
        assert_eq!(verdicts, ["valid", "degraded", "valid"]);
        assert_eq!(cells[1].findings[0].code, "CELL_CONTRADICTED");
    }

    #[test]
    fn a_repeated_result_is_not_a_contradiction() {
        let cells: [(&str, &[f64]); 3] =
            [("1", &[773.0]), ("2", &[56.0, 57.0]), ("4", &[60.0, 59.0])];
        assert!(marked("iodepth", &cells).is_empty());
    }
}
