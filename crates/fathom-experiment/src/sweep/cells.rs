//! The cells of a sweep: the whole grid coarse first, then the whole grid again; or a line through it, and more of it only
//! where that is not enough.

use std::collections::{BTreeMap, VecDeque};

use fathom_analyse::{ComparedCell, Crossing, Split, contradictions};
use fathom_model::CellFigures;
use fathom_plan::{PlannedCell, Sweep};
use thiserror::Error;

use crate::driver::CellSource;

/// The most repeats of a cell that does not reach the requested precision.
const MOST_REPEATS: u32 = 30;
/// How often a cell that contradicts others is measured again, at most.
const MOST_AGAIN: u32 = 2;
/// The fewest repeats for a precision: fewer give no useful confidence interval.
pub const LEAST_FOR_PRECISION: u32 = 3;

/// Why a sweep cannot be adaptive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AxisError {
    /// An axis is missing.
    #[error("--adaptive needs the axes iodepth and numjobs; axis {0} is missing")]
    Missing(String),
    /// A value is not a plain number.
    #[error("--adaptive needs plain numbers on the axis {axis}, not '{}'", .value.escape_debug())]
    NotANumber {
        /// Name of the axis.
        axis: String,
        /// Its value.
        value: String,
    },
}

/// The results of one grid position.
#[derive(Clone, Debug, Default)]
pub struct RepeatedCell {
    /// One for each repeat.
    pub figures: Vec<CellFigures>,
    /// Why the cell could not be measured.
    pub failed: Option<String>,
}

impl RepeatedCell {
    fn imprecision(&self) -> Option<f64> {
        let iops: Vec<f64> = self.figures.iter().map(|figures| figures.iops).collect();
        fathom_analyse::estimate(&iops).relative()
    }

    fn iops(&self) -> Option<f64> {
        let n = self.figures.len();
        (n > 0).then(|| self.figures.iter().map(|figures| figures.iops).sum::<f64>() / n as f64)
    }
}

/// What a sweep measures of each cell.
#[derive(Clone, Copy, Debug)]
pub struct SweepGoal {
    /// The least number of repeats.
    pub repeats: u32,
    /// The requested half-width of the 95 % confidence interval, as a share of the mean.
    pub precision: Option<f64>,
    /// Adaptive: measure one line over the number of outstanding I/Os, and the grid only where splits into depth and jobs
    /// differ by more than this share.
    pub agreement: Option<f64>,
    /// Cells that contradict others of the sweep are measured again, at the end.
    pub again: bool,
}

/// The cells of a grid in rounds, so that a drift of the device affects all cells alike.
pub struct SweepCells<'a> {
    sweep: &'a Sweep,
    positions: Vec<Vec<usize>>,
    cells: Vec<RepeatedCell>,
    /// Index of a position, and the repeat.
    queue: VecDeque<(usize, u32)>,
    goal: SweepGoal,
    /// Grids of depths and jobs, one for each combination of the other axes; empty when all cells are measured.
    crossings: Vec<(String, Crossing)>,
    /// Stage of an adaptive sweep: the line, the checks, the rest.
    stage: u32,
    /// The cell that prepares the target.
    first: Option<PlannedCell>,
    current: Option<usize>,
}

impl<'a> SweepCells<'a> {
    /// The cells of `sweep` for `goal`, after `first`, which prepares the target.
    ///
    /// # Errors
    /// When an adaptive sweep has no axes of depths and jobs.
    pub fn new(
        sweep: &'a Sweep,
        goal: SweepGoal,
        first: Option<PlannedCell>,
    ) -> Result<SweepCells<'a>, AxisError> {
        let positions = sweep.positions();
        let cells = vec![RepeatedCell::default(); positions.len()];
        let crossings = if goal.agreement.is_some() {
            crossings(sweep, &positions)?
        } else {
            Vec::new()
        };
        let mut source = SweepCells {
            sweep,
            positions,
            cells,
            queue: VecDeque::new(),
            goal,
            crossings,
            stage: 0,
            first,
            current: None,
        };
        if source.crossings.is_empty() {
            source.enqueue((0..source.positions.len()).collect());
        } else {
            source.next_stage();
        }
        Ok(source)
    }

    /// Grid positions with their results.
    pub fn results(&self) -> impl Iterator<Item = (&[usize], &RepeatedCell)> {
        self.positions.iter().map(Vec::as_slice).zip(&self.cells)
    }

    /// The results of the checks of an adaptive sweep, one line for each of its grids.
    #[must_use]
    pub fn agreements(&self) -> Vec<String> {
        let Some(limit) = self.goal.agreement else {
            return Vec::new();
        };
        let iops = |position: usize| self.cells[position].iops();
        let lines = self.crossings.iter().filter_map(|(name, crossing)| {
            let found = crossing.agreement(&iops)?;
            let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
            let what = if found.most <= limit {
                "so one line over iodepth x numjobs represents the grid"
            } else {
                "so the grid was measured around that point"
            };
            Some(format!(
                "{name}at {} totals of outstanding I/Os, few and many jobs differ by at most {:.1} % (at {} outstanding; limit {:.0} %), {what}.",
                found.compared,
                found.most * 100.0,
                found.at,
                limit * 100.0
            ))
        });
        lines.collect()
    }

    fn planned(&self, position: usize, repeat: u32) -> PlannedCell {
        PlannedCell {
            repeat,
            ..self.sweep.cell(&self.positions[position])
        }
    }

    fn enqueue(&mut self, mut positions: Vec<usize>) {
        positions.sort_unstable();
        positions.dedup();
        positions.retain(|position| self.cells[*position].figures.is_empty());
        let repeats = self.goal.repeats;
        self.queue.extend(
            (0..repeats)
                .flat_map(|repeat| positions.iter().map(move |position| (*position, repeat))),
        );
    }

    /// Starts the next stage of an adaptive sweep.
    fn next_stage(&mut self) {
        while self.queue.is_empty() && self.stage < 3 && !self.crossings.is_empty() {
            let iops = |position: usize| self.cells[position].iops();
            let limit = self.goal.agreement.unwrap_or_default();
            let all = self
                .crossings
                .iter()
                .flat_map(|(_, crossing)| match self.stage {
                    0 => crossing.line(),
                    1 => crossing.checks(),
                    _ => crossing.fill(limit, &iops),
                });
            let positions = all.collect();
            self.stage += 1;
            self.enqueue(positions);
        }
    }

    /// Why each cell contradicts others of the sweep, as far as they are measured.
    fn contradictions(&self) -> Vec<Option<String>> {
        let compared: Vec<ComparedCell> = self
            .positions
            .iter()
            .zip(&self.cells)
            .map(|(position, cell)| ComparedCell {
                axes: self.sweep.cell(position).values,
                iops: cell.figures.iter().map(|figures| figures.iops).collect(),
            })
            .collect();
        contradictions(&compared)
    }

    /// Measures cells again that contradict others.
    fn measure_again(&mut self) {
        if !self.goal.again {
            return;
        }
        let most = self.goal.repeats + MOST_AGAIN;
        let found = self.contradictions();
        let again: Vec<(usize, u32)> = self
            .cells
            .iter()
            .enumerate()
            .filter(|(position, _)| found[*position].is_some())
            .map(|(position, cell)| (position, cell.figures.len() as u32))
            .filter(|(_, repeats)| *repeats > 0 && *repeats < most)
            .collect();
        self.queue.extend(again);
    }

    /// Repeats the cells that are not precise enough, the least precise first.
    fn refine(&mut self) {
        let Some(precision) = self.goal.precision else {
            return;
        };
        let open = |cell: &RepeatedCell| {
            cell.failed.is_none() && (cell.figures.len() as u32) < MOST_REPEATS
        };
        let mut wide: Vec<(usize, f64)> = (0..self.cells.len())
            .filter(|position| open(&self.cells[*position]))
            .filter_map(|position| {
                Some((
                    position,
                    self.cells[position]
                        .imprecision()
                        .filter(|share| *share > precision)?,
                ))
            })
            .collect();
        wide.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.queue.extend(
            wide.into_iter()
                .map(|(position, _)| (position, self.cells[position].figures.len() as u32)),
        );
    }
}

/// The crossings of depths and jobs, one for each combination of the other axes.
fn crossings(
    sweep: &Sweep,
    positions: &[Vec<usize>],
) -> Result<Vec<(String, Crossing)>, AxisError> {
    let number = |values: &[(String, String)], wanted: &str| -> Result<u64, AxisError> {
        let value = values
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.as_str());
        let value = value.ok_or_else(|| AxisError::Missing(wanted.to_owned()))?;
        value.parse().map_err(|_| AxisError::NotANumber {
            axis: wanted.to_owned(),
            value: value.to_owned(),
        })
    };
    let mut grids: BTreeMap<String, Vec<Split>> = BTreeMap::new();
    for (position, indexes) in positions.iter().enumerate() {
        let values = sweep.cell(indexes).values;
        let split = Split {
            place: position,
            depth: number(&values, "iodepth")?,
            jobs: number(&values, "numjobs")?,
        };
        let others = values
            .iter()
            .filter(|(name, _)| name != "iodepth" && name != "numjobs");
        let name = others
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ");
        grids.entry(name).or_default().push(split);
    }
    Ok(grids
        .into_iter()
        .map(|(name, splits)| (name, Crossing::new(splits)))
        .collect())
}

impl CellSource for SweepCells<'_> {
    fn next(&mut self) -> Option<PlannedCell> {
        if let Some(first) = self.first.take() {
            self.current = None;
            return Some(first);
        }
        loop {
            if self.queue.is_empty() {
                self.next_stage();
            }
            if self.queue.is_empty() {
                self.measure_again();
            }
            if self.queue.is_empty() {
                self.refine();
            }
            let (position, repeat) = self.queue.pop_front()?;
            // A cell that failed is not tried again.
            if self.cells[position].failed.is_none() {
                self.current = Some(position);
                return Some(self.planned(position, repeat));
            }
        }
    }

    fn learn(&mut self, _cell: &PlannedCell, result: Result<&CellFigures, &str>) {
        let Some(position) = self.current else { return };
        match result {
            Ok(figures) => self.cells[position].figures.push(figures.clone()),
            Err(why) => self.cells[position].failed = Some(why.to_owned()),
        }
    }

    fn contradiction(&self) -> Option<String> {
        self.contradictions().into_iter().nth(self.current?)?
    }

    fn remaining(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use fathom_plan::Axis;

    use super::*;

    fn sweep() -> Sweep {
        let axes = ["bs=4k,64k", "iodepth=1..64*2", "numjobs=1..64*2"]
            .map(|text| Axis::parse(text).expect(text));
        Sweep {
            axes: axes.to_vec(),
            job_file: None,
            settings: Vec::new(),
            targets: Vec::new(),
            display_names: Vec::new(),
            together: true,
        }
    }

    fn figures(iops: f64) -> CellFigures {
        CellFigures {
            iops,
            per_target: Vec::new(),
            ..CellFigures::default()
        }
    }

    /// Measures all cells on a device whose IOPS are `rate` of block size, depth and jobs.
    fn measure_all(
        source: &mut SweepCells<'_>,
        rate: &dyn Fn(&str, u64, u64) -> f64,
    ) -> Vec<String> {
        let mut keys = Vec::new();
        while let Some(cell) = source.next() {
            let value = |axis: usize| cell.values[axis].1.parse::<u64>().expect("a number");
            let iops = rate(&cell.values[0].1, value(1), value(2));
            keys.push(cell.id());
            source.learn(&cell, Ok(&figures(iops)));
        }
        keys
    }

    /// Known answers: 16 servers of 1 ms (only what is outstanding matters) for 4 KiB; with 64 KiB many jobs halve the rate.
    #[test]
    fn an_adaptive_sweep_fills_only_the_grid_that_needs_it() {
        let sweep = sweep();
        let goal = SweepGoal {
            repeats: 1,
            precision: None,
            agreement: Some(0.1),
            again: false,
        };
        let mut source = SweepCells::new(&sweep, goal, None).expect("axes");
        let rate = |bs: &str, depth: u64, jobs: u64| {
            let fair = (depth * jobs).min(16) as f64 * 1000.0;
            if bs == "64k" && jobs >= 2 {
                fair / 2.0
            } else {
                fair
            }
        };
        let keys = measure_all(&mut source, &rate);
        let of = |bs: &str| {
            keys.iter()
                .filter(|key| key.starts_with(&format!("bs={bs} ")))
                .count()
        };
        assert_eq!((of("4k"), of("64k")), (13 + 3, 49));
        let mut unique = keys.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), keys.len(), "no cell is measured twice");
        let agreements = source.agreements();
        assert!(
            agreements[0].starts_with("bs=4k: at 3 totals of outstanding I/Os")
                && agreements[0].contains("0.0 %"),
            "{agreements:?}"
        );
        assert!(
            agreements[1].contains("50.0 %") && agreements[1].contains("measured around"),
            "{agreements:?}"
        );
    }

    #[test]
    fn the_same_figures_give_the_same_cells() {
        let sweep = sweep();
        let goal = SweepGoal {
            repeats: 2,
            precision: Some(0.05),
            agreement: None,
            again: false,
        };
        let noisy =
            |bs: &str, depth: u64, jobs: u64| (bs.len() as u64 * 1000 + depth * jobs) as f64;
        let mut first = SweepCells::new(&sweep, goal, None).expect("axes");
        let mut second = SweepCells::new(&sweep, goal, None).expect("axes");
        assert_eq!(
            measure_all(&mut first, &noisy),
            measure_all(&mut second, &noisy)
        );
    }

    /// A cell with IOPS of 100, 110, 100, ... has a wide interval: 12.4 % after three, 5 % after 9 (t x s / sqrt n).
    #[test]
    fn cells_are_repeated_until_they_are_precise() {
        let sweep = Sweep {
            axes: vec![Axis::parse("bs=4k,8k").expect("an axis")],
            ..sweep()
        };
        let goal = SweepGoal {
            repeats: 3,
            precision: Some(0.05),
            agreement: None,
            again: false,
        };
        let mut source = SweepCells::new(&sweep, goal, None).expect("axes");
        let (mut precise, mut noisy) = (0, 0);
        while let Some(cell) = source.next() {
            let iops = if cell.values[0].1 == "4k" {
                precise += 1;
                100.0
            } else {
                noisy += 1;
                100.0 + f64::from(noisy % 2) * 10.0
            };
            source.learn(&cell, Ok(&figures(iops)));
        }
        assert_eq!(precise, 3);
        let values: Vec<f64> = (1..=noisy)
            .map(|i| 100.0 + f64::from(i % 2) * 10.0)
            .collect();
        let relative = |n: usize| {
            fathom_analyse::estimate(&values[..n])
                .relative()
                .expect("an interval")
        };
        assert!(
            relative(values.len()) <= 0.05 && relative(values.len() - 1) > 0.05,
            "{noisy} repeats"
        );
    }

    /// Regression 0407: a cell with 56 IOPS at depth 2 beside 773 at depth 1 was valid. It is marked when it is measured, and
    /// measured again at the end; the measurement that the two others contradict is left out of the result.
    #[test]
    fn a_cell_that_contradicts_its_neighbours_is_measured_again() {
        let sweep = Sweep {
            axes: vec![Axis::parse("iodepth=1..8*2").expect("an axis")],
            ..sweep()
        };
        let measure = |again: bool| {
            let goal = SweepGoal {
                repeats: 1,
                precision: None,
                agreement: None,
                again,
            };
            let mut source = SweepCells::new(&sweep, goal, None).expect("axes");
            let (mut keys, mut marked, mut twos) = (Vec::new(), Vec::new(), 0);
            while let Some(cell) = source.next() {
                let depth: f64 = cell.values[0].1.parse().expect("a number");
                twos += u32::from(depth == 2.0);
                let iops = if depth == 2.0 && twos == 1 {
                    56.0
                } else {
                    773.0 * depth
                };
                source.learn(&cell, Ok(&figures(iops)));
                keys.push(cell.id());
                if source.contradiction().is_some() {
                    marked.push(cell.id());
                }
            }
            let grid = crate::sweep_grid(&sweep, &source, &[]);
            (keys, marked, grid)
        };
        let (keys, marked, grid) = measure(false);
        assert_eq!(keys.len(), 4);
        assert_eq!(marked, ["iodepth=2"]);
        let row = &grid.rows[1];
        assert_eq!(row.iops.mean, 56.0);
        assert_eq!(row.figures.verdict, fathom_model::Verdict::Degraded);
        assert_eq!(row.figures.codes, ["CELL_CONTRADICTED"]);
        assert!(
            grid.sentences[0].starts_with("CELL_CONTRADICTED (iodepth=2): 56 IOPS at iodepth=2"),
            "{:?}",
            grid.sentences
        );
        let (keys, _, grid) = measure(true);
        assert_eq!(keys.len(), 6);
        assert!(keys[4..].iter().all(|key| key.starts_with("iodepth=2")));
        let row = &grid.rows[1];
        assert_eq!(row.iops.mean, 1546.0);
        assert_eq!(row.figures.verdict, fathom_model::Verdict::Valid);
        assert_eq!(
            grid.sentences,
            [
                "iodepth=2: 1 of 3 measurements left out (56 IOPS), because the others agree on 1,546."
            ]
        );
    }

    #[test]
    fn an_adaptive_sweep_needs_its_axes() {
        let sweep = Sweep {
            axes: vec![Axis::parse("iodepth=1,2").expect("an axis")],
            ..sweep()
        };
        let goal = SweepGoal {
            repeats: 1,
            precision: None,
            agreement: Some(0.1),
            again: false,
        };
        assert!(
            SweepCells::new(&sweep, goal, None)
                .err()
                .expect("refused")
                .to_string()
                .contains("numjobs")
        );
    }
}
