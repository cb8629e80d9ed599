//! The cells of a recipe: step after step, rounds until steady state, levels from the figures of earlier steps.

use std::collections::VecDeque;

use fathom_analyse::{ComparedCell, contradictions, pts_steady_round};
use fathom_model::CellFigures;
use fathom_plan::{Level, PlannedCell, Recipe, RunTarget, Setting, Step, Tracked};

use crate::driver::CellSource;

/// How often a cell that contradicts others of its step is measured again, at most.
const MOST_AGAIN: usize = 2;

/// One cell of a step with its results.
#[derive(Clone, Debug)]
pub struct SuiteCell {
    /// The cell; its repeat is that of the last measurement.
    pub cell: PlannedCell,
    /// One for each round, in order.
    pub figures: Vec<CellFigures>,
    /// Why the cell could not be measured.
    pub failed: Option<String>,
}

/// The results of a step so far.
#[derive(Clone, Debug, Default)]
pub struct StepProgress {
    /// In the order of the axes.
    pub cells: Vec<SuiteCell>,
    /// Complete rounds.
    pub round: u32,
    /// The round in which all tracked cells were steady.
    pub steady: Option<u32>,
    /// It ended because the requested amount was written.
    pub written_out: bool,
    /// Why the step was left out.
    pub left_out: Option<String>,
    written: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellRole {
    Purge,
    Soak,
    Main,
}

/// The cells of a recipe, and the results of its steps.
pub struct SuiteCells<'a> {
    recipe: &'a Recipe,
    target: RunTarget,
    queue: VecDeque<(CellRole, PlannedCell)>,
    role: CellRole,
    /// Index of the current step; the number of steps when all are done.
    current: usize,
    started: bool,
    /// One for each step.
    pub done: Vec<StepProgress>,
    /// Why the procedure could not continue.
    pub failed: Option<String>,
    purge: Option<PlannedCell>,
    first: Option<PlannedCell>,
    /// Cells that contradict others of their step are measured again at its end.
    again: bool,
    /// Key of the last cell.
    last: String,
}

impl<'a> SuiteCells<'a> {
    /// A procedure that starts with `first`, which lays out the target, and purges with `purge` where the recipe requires it.
    /// Steps with a reason in `left_out` are not measured.
    #[must_use]
    pub fn new(
        recipe: &'a Recipe,
        target: RunTarget,
        first: Option<PlannedCell>,
        purge: Option<PlannedCell>,
        left_out: Vec<Option<String>>,
    ) -> SuiteCells<'a> {
        let done = left_out
            .into_iter()
            .map(|left_out| StepProgress {
                left_out,
                ..StepProgress::default()
            })
            .collect();
        SuiteCells {
            recipe,
            target,
            queue: VecDeque::new(),
            role: CellRole::Main,
            current: 0,
            started: false,
            done,
            failed: None,
            purge,
            first,
            again: false,
            last: String::new(),
        }
    }

    /// Measures cells that contradict others of their step again at its end, if `again`.
    #[must_use]
    pub fn measuring_again(self, again: bool) -> Self {
        SuiteCells { again, ..self }
    }

    /// Why each cell of the current step contradicts others of it, as far as they are measured. Rounds change the target, and
    /// are judged by their steady state.
    fn contradictions(&self) -> Vec<Option<String>> {
        let Some(step) = self.recipe.steps.get(self.current) else {
            return Vec::new();
        };
        if step.rounds.is_some() || step.judged.is_some() || step.prepares {
            return Vec::new();
        }
        let compared: Vec<ComparedCell> = self.done[self.current]
            .cells
            .iter()
            .map(|result| ComparedCell {
                axes: result.cell.values.clone(),
                iops: result.figures.iter().map(|figures| figures.iops).collect(),
            })
            .collect();
        contradictions(&compared)
    }

    /// Queues cells of the current step that contradict others.
    fn measure_again(&mut self) {
        if !self.again {
            return;
        }
        let found = self.contradictions();
        let again: Vec<(CellRole, PlannedCell)> = self.done[self.current]
            .cells
            .iter()
            .zip(found)
            .filter(|(result, contradiction)| {
                let measured = result.figures.len();
                contradiction.is_some()
                    && result.failed.is_none()
                    && (1..=MOST_AGAIN).contains(&measured)
            })
            .map(|(result, _)| {
                let repeat = result.figures.len() as u32;
                let cell = result.cell.clone();
                (CellRole::Main, PlannedCell { repeat, ..cell })
            })
            .collect();
        self.queue.extend(again);
    }

    /// Queues the next cells; returns false at the end of the procedure.
    fn refill(&mut self) -> bool {
        while let Some(step) = self.recipe.steps.get(self.current) {
            if !self.started {
                self.started = true;
                if self.done[self.current].left_out.is_none() {
                    self.start_step(step);
                }
            } else if self.done[self.current].left_out.is_none() {
                if step.rounds.is_some() {
                    self.next_round(step);
                } else {
                    self.measure_again();
                }
            }
            if !self.queue.is_empty() {
                return true;
            }
            self.current += 1;
            self.started = false;
        }
        false
    }

    fn start_step(&mut self, step: &Step) {
        if let Some(purge) = self.purge.as_ref().filter(|_| step.purge) {
            let key = format!("{} before {}", purge.key, step.name);
            self.queue.push_back((
                CellRole::Purge,
                PlannedCell {
                    key,
                    ..purge.clone()
                },
            ));
        }
        let levels = match self.levels(step) {
            Ok(levels) => levels,
            Err(why) => return self.done[self.current].left_out = Some(why),
        };
        let cells = self.recipe.cells(step, &self.target, &levels);
        self.done[self.current].cells = cells
            .into_iter()
            .map(|cell| SuiteCell {
                cell,
                figures: Vec::new(),
                failed: None,
            })
            .collect();
        self.round(step, 0);
    }

    /// The soak and the cells of a round.
    fn round(&mut self, step: &Step, round: u32) {
        if let Some(soak) = self.recipe.soak(step, &self.target, round) {
            self.queue.push_back((CellRole::Soak, soak));
        }
        let cells = self.done[self.current]
            .cells
            .iter()
            .filter(|result| result.failed.is_none());
        self.queue.extend(cells.map(|result| {
            (
                CellRole::Main,
                PlannedCell {
                    repeat: round,
                    ..result.cell.clone()
                },
            )
        }));
    }

    /// Judges the finished round, and starts another unless a condition to stop is met.
    fn next_round(&mut self, step: &Step) {
        let Some(rounds) = &step.rounds else { return };
        let done = &mut self.done[self.current];
        done.round += 1;
        let tracked: Option<Vec<Vec<f64>>> = rounds
            .tracked
            .iter()
            .map(|values| series(done, values, rounds.figure))
            .collect();
        let Some(tracked) = tracked else { return };
        done.steady = pts_steady_round(&tracked).map(|round| round as u32);
        let most = rounds
            .written
            .map(|times| f64::from(times) * self.target.size.get() as f64);
        done.written_out = most.is_some_and(|most| done.written >= most);
        if done.steady.is_none() && !done.written_out && done.round < rounds.max {
            let round = done.round;
            self.round(step, round);
        }
    }

    /// Every combination of a step's levels.
    fn levels(&self, step: &Step) -> Result<Vec<Vec<Setting>>, String> {
        let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
        for level in &step.levels {
            let level_base = self.level_base(level).ok_or_else(|| {
                format!(
                    "{} has no figure to take the levels of this step from",
                    level.of
                )
            })?;
            let one = |percent: &u32| {
                let value = (level_base * f64::from(*percent) / 100.0).round().max(1.0) as u64;
                Setting {
                    option: level.option.clone(),
                    value: value.to_string(),
                    label: format!("{percent}%"),
                }
            };
            let settings: Vec<Setting> = level.percent.iter().map(one).collect();
            let with = |before: &Vec<Setting>| {
                settings
                    .iter()
                    .map(|one| before.iter().chain([one]).cloned().collect())
                    .collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(with).collect();
        }
        Ok(combinations)
    }

    fn level_base(&self, level: &Level) -> Option<f64> {
        let index = self
            .recipe
            .steps
            .iter()
            .position(|step| step.name == level.of)?;
        let figures = self.done[index].cells.first()?.figures.last()?;
        Some(value_of(figures, level.figure)).filter(|value| *value > 0.0)
    }
}

/// The figure of a tracked cell in each round; `None` when it could not be measured.
pub fn series(
    done: &StepProgress,
    values: &[(String, String)],
    figure: Tracked,
) -> Option<Vec<f64>> {
    let result = done
        .cells
        .iter()
        .find(|result| result.cell.values == values && result.failed.is_none())?;
    Some(
        result
            .figures
            .iter()
            .map(|figures| value_of(figures, figure))
            .collect(),
    )
}

/// A figure of a cell: I/Os per second, bytes per second, nanoseconds.
fn value_of(figures: &CellFigures, figure: Tracked) -> f64 {
    match figure {
        Tracked::Iops => figures.iops,
        Tracked::Bandwidth => figures.bandwidth,
        Tracked::Mean => figures.latency.mean,
    }
}

impl CellSource for SuiteCells<'_> {
    fn next(&mut self) -> Option<PlannedCell> {
        if self.failed.is_some() {
            return None;
        }
        if let Some(first) = self.first.take() {
            self.role = CellRole::Purge;
            return Some(first);
        }
        if self.queue.is_empty() && !self.refill() {
            return None;
        }
        let (role, cell) = self.queue.pop_front()?;
        self.role = role;
        self.last.clone_from(&cell.key);
        Some(cell)
    }

    fn learn(&mut self, cell: &PlannedCell, result: Result<&CellFigures, &str>) {
        let failed = match result {
            Ok(figures) if figures.error != 0 => {
                Some(format!("I/O failed with errno {}", figures.error))
            }
            Ok(_) => None,
            Err(why) => Some(why.to_owned()),
        };
        // A preparation must succeed, or later cells would measure another state of the target.
        if let Some(why) = failed
            .clone()
            .filter(|_| cell.prepares || self.role != CellRole::Main)
        {
            self.failed = Some(format!("{}: {why}", cell.key));
            return;
        }
        let Some(done) = self.done.get_mut(self.current) else {
            return;
        };
        if let Ok(figures) = result {
            done.written += figures.bandwidth * figures.elapsed.as_secs_f64();
        }
        if self.role != CellRole::Main {
            return;
        }
        if let Some(results) = done
            .cells
            .iter_mut()
            .find(|results| results.cell.key == cell.key)
        {
            results.cell.repeat = cell.repeat;
            match (failed, result) {
                (None, Ok(figures)) => results.figures.push(figures.clone()),
                (why, _) => results.failed = why,
            }
        }
    }

    fn contradiction(&self) -> Option<String> {
        if self.role != CellRole::Main {
            return None;
        }
        let cells = &self.done.get(self.current)?.cells;
        let at = cells
            .iter()
            .position(|result| result.cell.key == self.last)?;
        self.contradictions().into_iter().nth(at)?
    }

    fn remaining(&self) -> usize {
        let later = self
            .recipe
            .steps
            .iter()
            .zip(&self.done)
            .skip(self.current + usize::from(self.started));
        let cells = |step: &Step| {
            let levels: usize = step
                .levels
                .iter()
                .map(|level| level.percent.len())
                .product();
            let rounds = if step.rounds.is_some() {
                fathom_analyse::PTS_WINDOW
            } else {
                1
            };
            self.recipe.cells(step, &self.target, &[]).len().max(1) * levels * rounds
        };
        self.queue.len()
            + later
                .filter(|(_, done)| done.left_out.is_none())
                .map(|(step, _)| cells(step))
                .sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Bytes, CellLatency, Nanos};

    use super::*;

    fn figures(iops: f64) -> CellFigures {
        CellFigures {
            iops,
            bandwidth: iops * 4096.0,
            latency: CellLatency {
                mean: 1e9 / iops,
                ..CellLatency::default()
            },
            elapsed: Nanos::from_secs(60),
            per_target: Vec::new(),
            ..CellFigures::default()
        }
    }

    fn target() -> RunTarget {
        RunTarget {
            target: "/mnt/x".into(),
            size: Bytes::new(1 << 30),
            writes: true,
            time_divisor: 1,
        }
    }

    fn recipe(text: &str) -> Recipe {
        fathom_plan::read_recipe(
            "x.toml",
            &format!("schema = 1\nname = \"x\"\ntitle = \"x\"\n{text}"),
        )
        .expect("a recipe")
    }

    /// Runs a procedure to its end with the figures of `device`; returns the ids of the cells in order.
    fn run(
        procedure: &mut SuiteCells<'_>,
        mut device: impl FnMut(&PlannedCell) -> Result<CellFigures, String>,
    ) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some(cell) = procedure.next() {
            ids.push(cell.id());
            assert!(ids.len() < 10_000, "the procedure does not end");
            match device(&cell) {
                Ok(figures) => procedure.learn(&cell, Ok(&figures)),
                Err(why) => procedure.learn(&cell, Err(&why)),
            }
        }
        ids
    }

    const ROUNDS: &str = "[[step]]\nname = \"fill\"\npurge = true\nprepares = true\npasses = 2\n[[step]]\nname = \"rounds\"\naxes = [\"bs=64k,4k\"]\nrounds = 25\nsteady = [\"bs=4k\"]\n";

    /// The tracked cell falls from 200 to 100 and stays: rounds 3 to 7 are the first five within 20 % and 10 %.
    #[test]
    fn rounds_end_when_the_tracked_cell_is_steady() {
        let recipe = recipe(ROUNDS);
        let purge = PlannedCell {
            key: "purge".into(),
            prepares: true,
            ..PlannedCell::default()
        };
        let mut procedure = SuiteCells::new(&recipe, target(), None, Some(purge), vec![None, None]);
        let falls = [200.0, 140.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        let ids = run(&mut procedure, |cell| {
            Ok(figures(if cell.key.ends_with("4k") {
                falls[cell.repeat as usize]
            } else {
                50.0
            }))
        });
        assert_eq!(
            ids[..4],
            ["purge before fill", "fill", "rounds bs=64k", "rounds bs=4k"]
        );
        assert_eq!(ids.last().map(String::as_str), Some("rounds bs=4k #7"));
        assert_eq!(
            (procedure.done[1].steady, procedure.done[1].round),
            (Some(7), 7)
        );
        assert_eq!(procedure.done[1].cells[1].figures.len(), 7);
    }

    /// Regression 0512: a cell of a suite that contradicted its neighbours was not marked while it ran, and not measured again. A
    /// device whose throughput grows with the depth is disturbed once, at depth 2.
    #[test]
    fn a_cell_that_contradicts_its_neighbours_is_marked_and_measured_again() {
        let recipe = recipe(
            "[[step]]\nname = \"depths\"\naxes = [\"iodepth=1,2,4,8\"]\n[[step]]\nname = \"after\"\n",
        );
        for (again, expected) in [
            (
                false,
                &[
                    "depths iodepth=1",
                    "depths iodepth=2",
                    "depths iodepth=4",
                    "depths iodepth=8",
                    "after",
                ][..],
            ),
            (
                true,
                &[
                    "depths iodepth=1",
                    "depths iodepth=2",
                    "depths iodepth=4",
                    "depths iodepth=8",
                    "depths iodepth=2 #2",
                    "depths iodepth=2 #3",
                    "after",
                ],
            ),
        ] {
            let mut procedure = SuiteCells::new(&recipe, target(), None, None, vec![None, None])
                .measuring_again(again);
            let (mut ids, mut marked) = (Vec::new(), Vec::new());
            while let Some(cell) = procedure.next() {
                let depth = match cell.values.first() {
                    Some((_, value)) => value.parse::<f64>().expect("a number"),
                    None => 1.0,
                };
                let is_disturbed = cell.id() == "depths iodepth=2";
                let iops = if is_disturbed { 56.0 } else { 773.0 * depth };
                procedure.learn(&cell, Ok(&figures(iops)));
                ids.push(cell.id());
                if procedure.contradiction().is_some() {
                    marked.push(cell.id());
                }
            }
            assert_eq!(ids, expected);
            assert_eq!(marked.first().map(String::as_str), Some("depths iodepth=2"));
            assert!(
                !marked.contains(&"depths iodepth=2 #3".to_owned()),
                "{marked:?}"
            );
        }
    }

    #[test]
    fn rounds_that_never_become_steady_end_after_the_last() {
        let recipe = recipe(ROUNDS);
        let mut procedure = SuiteCells::new(&recipe, target(), None, None, vec![None, None]);
        let ids = run(&mut procedure, |cell| {
            Ok(figures(if cell.repeat % 2 == 0 { 100.0 } else { 200.0 }))
        });
        assert_eq!(ids.len(), 1 + 25 * 2);
        assert_eq!(
            (procedure.done[1].steady, procedure.done[1].round),
            (None, 25)
        );
    }

    /// 60 s at 10,000 x 4 KiB are 2.46 GB; 4 x 1 GiB are reached in the second of the rounds, each with a soak.
    #[test]
    fn saturation_ends_after_the_written_amount() {
        let recipe =
            recipe("[[step]]\nname = \"wsat\"\nsoak = \"30m\"\nrounds = 46\nwritten = 4\n");
        let mut procedure = SuiteCells::new(&recipe, target(), None, None, vec![None]);
        let ids = run(&mut procedure, |_| Ok(figures(10_000.0)));
        assert_eq!(
            ids,
            ["wsat soak", "wsat"],
            "soak and check together write 4.9 GB"
        );
        assert!(procedure.done[0].written_out && procedure.done[0].steady.is_none());
    }

    #[test]
    fn levels_are_shares_of_measured_figures() {
        let recipe = recipe(
            "[[step]]\nname = \"most\"\n[[step]]\nname = \"map\"\nlevels = [{ option = \"rate_iops\", of = \"most\", percent = [10, 50] }]\n",
        );
        let mut procedure = SuiteCells::new(&recipe, target(), None, None, vec![None, None]);
        let mut rates = Vec::new();
        run(&mut procedure, |cell| {
            rates.extend(
                cell.settings
                    .iter()
                    .find(|(name, _)| name == "rate_iops")
                    .map(|(_, value)| value.clone()),
            );
            Ok(figures(2_000.0))
        });
        assert_eq!(rates, ["200", "1000"]);
    }

    /// A cell that fails is left out of later rounds; a preparation must succeed.
    #[test]
    fn a_failure_ends_only_what_depends_on_it() {
        let recipe = recipe(ROUNDS);
        let mut procedure = SuiteCells::new(&recipe, target(), None, None, vec![None, None]);
        let ids = run(&mut procedure, |cell| {
            if cell.key.ends_with("64k") {
                Err("too large".into())
            } else {
                Ok(figures(100.0))
            }
        });
        assert_eq!(ids.len(), 1 + 1 + 5, "the fill, one attempt, five rounds");
        let mut procedure = SuiteCells::new(&recipe, target(), None, None, vec![None, None]);
        assert_eq!(run(&mut procedure, |_| Err("gone".into())), ["fill"]);
        assert_eq!(procedure.failed.as_deref(), Some("fill: gone"));
        let mut procedure = SuiteCells::new(
            &recipe,
            target(),
            None,
            None,
            vec![Some("read-only".into()), Some("read-only".into())],
        );
        assert!(run(&mut procedure, |_| Ok(figures(1.0))).is_empty());
    }
}
