//! The results of a suite as data of the report.

use std::collections::BTreeMap;

use fathom_analyse::{PTS_WINDOW, Repeats, grid, over_time, pts_sentence, pts_windows};
use fathom_model::{CellFigures, CellTimeline, SuiteRounds, SuiteStep};
use fathom_plan::{Recipe, Rounds, Step, Tracked};

use super::cells::{StepProgress, SuiteCell, series};
use super::details::{CellDetails, soak_cell};

/// The results of all steps that measure.
#[must_use]
pub fn suite_steps(
    recipe: &Recipe,
    done: &[StepProgress],
    details: &BTreeMap<String, CellDetails>,
) -> Vec<SuiteStep> {
    let results = recipe
        .steps
        .iter()
        .zip(done)
        .filter(|(step, done)| !step.prepares && !done.cells.is_empty());
    results
        .map(|(step, done)| step_result(step, done, details))
        .collect()
}

fn step_result(
    step: &Step,
    done: &StepProgress,
    details: &BTreeMap<String, CellDetails>,
) -> SuiteStep {
    let names = done.cells.first().map_or(Vec::new(), |cell| {
        cell.cell
            .values
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    });
    let window: Vec<Vec<CellFigures>> = done
        .cells
        .iter()
        .map(|cell| figures(step, cell, details))
        .collect();
    let cells = done.cells.iter().zip(&window).map(|(cell, figures)| {
        let values = cell
            .cell
            .values
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        (
            values,
            Repeats {
                figures,
                failed: cell.failed.as_deref(),
            },
        )
    });
    SuiteStep {
        name: step.name.clone(),
        title: step.title.clone(),
        grid: grid(names, cells.collect()),
        rounds: step
            .rounds
            .as_ref()
            .map(|rounds| self::rounds(rounds, done)),
        timelines: if step.series {
            courses(done, step, details)
        } else {
            Vec::new()
        },
    }
}

/// The figures of the result: those of the judged job, or of the last rounds.
fn figures(
    step: &Step,
    cell: &SuiteCell,
    details: &BTreeMap<String, CellDetails>,
) -> Vec<CellFigures> {
    if step.judged.is_some()
        && let Some(judged) = details
            .get(&cell.cell.id())
            .and_then(|details| details.judged.clone())
    {
        return vec![judged];
    }
    let n = cell.figures.len();
    cell.figures[n.saturating_sub(if step.rounds.is_some() { PTS_WINDOW } else { n })..].to_vec()
}

fn courses(
    done: &StepProgress,
    step: &Step,
    details: &BTreeMap<String, CellDetails>,
) -> Vec<CellTimeline> {
    let soaks = (0..done.round).map(|round| soak_cell(step, round).id());
    let cells = done.cells.iter().map(|cell| cell.cell.id());
    soaks
        .chain(cells)
        .filter_map(|id| over_time(&id, &details.get(&id)?.series))
        .collect()
}

fn rounds(rounds: &Rounds, done: &StepProgress) -> SuiteRounds {
    let (unit, scale) = match rounds.figure {
        Tracked::Iops => ("IOPS", 1.0),
        Tracked::Bandwidth => ("MB/s", 1e-6),
        Tracked::Mean => ("us", 1e-3),
    };
    let name = |values: &[(String, String)]| {
        let labels: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if labels.is_empty() {
            "all".to_owned()
        } else {
            labels.join(" ")
        }
    };
    let tracked: Vec<(String, Vec<f64>)> = rounds
        .tracked
        .iter()
        .filter_map(|values| {
            Some((
                name(values),
                series(done, values, rounds.figure)?
                    .into_iter()
                    .map(|value| value * scale)
                    .collect(),
            ))
        })
        .collect();
    let mut sentences = judged(&tracked);
    sentences.push(ending(rounds, done, tracked.len()));
    SuiteRounds {
        tracked,
        unit: unit.to_owned(),
        steady: done.steady,
        sentences,
    }
}

/// The steady-state test of the last window, as sentences.
fn judged(tracked: &[(String, Vec<f64>)]) -> Vec<String> {
    let series: Vec<Vec<f64>> = tracked.iter().map(|(_, values)| values.clone()).collect();
    let Some(windows) = pts_windows(&series) else {
        return Vec::new();
    };
    tracked
        .iter()
        .zip(windows)
        .map(|((name, values), window)| pts_sentence(name, values.len(), &window))
        .collect()
}

fn ending(rounds: &Rounds, done: &StepProgress, tracked_cells: usize) -> String {
    match done.steady {
        Some(round) => {
            let first = round as usize + 1 - PTS_WINDOW;
            format!("Steady state in round {round}; the figures below are means of rounds {first} to {round}.")
        }
        None if tracked_cells < rounds.tracked.len() => "A cell that must be steady could not be measured, so there is no steady state.".to_owned(),
        None if done.written_out => "No steady state before the requested amount was written; the figures below are means of the last rounds.".to_owned(),
        None => format!("No steady state after {} of {} rounds; the figures below are means of the last rounds.", done.round, rounds.max),
    }
}
