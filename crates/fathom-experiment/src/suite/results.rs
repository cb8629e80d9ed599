//! The results of a suite as data of the report.

use std::collections::BTreeMap;
use std::time::Duration;

use fathom_analyse::{PTS_WINDOW, Repeats, grid, over_time, pts_sentence, pts_windows};
use fathom_model::format::{bandwidth, duration, size, thousands, time_left};
use fathom_model::{Bytes, CellFigures, CellTimeline, SuiteRounds, SuiteStep, SuiteTenant};
use fathom_plan::{Recipe, Rounds, Step, Tracked};

use super::cells::{StepProgress, SuiteCell, series};
use super::details::{CellDetails, soak_cell};
use super::training;

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
    let mut steps: Vec<SuiteStep> = results
        .map(|(step, done)| step_result(step, done, details))
        .collect();
    let alone: Vec<SuiteTenant> = steps
        .iter()
        .filter(|step| step.name.starts_with("alone-"))
        .flat_map(|step| step.tenants.iter().cloned())
        .collect();
    for tenant in steps.iter_mut().flat_map(|step| &mut step.tenants) {
        let same = alone.iter().find(|one| one.name == tenant.name);
        tenant.alone = same.map(|one| (one.iops, one.latency));
    }
    steps
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
    let mut grid = grid(names, cells.collect());
    let training = step
        .training
        .as_ref()
        .map(|accelerator| training::of_grid(accelerator, &grid));
    grid.sentences
        .extend(training.iter().map(training::sentence));
    if let Some(all) = step.stands_for {
        let measured = done.cells.iter().filter(|cell| cell.failed.is_none());
        grid.sentences
            .extend(measured.filter_map(|cell| whole_time(all, cell)));
    }
    SuiteStep {
        name: step.name.clone(),
        title: step.title.clone(),
        grid,
        training,
        tenants: done
            .cells
            .first()
            .and_then(|cell| details.get(&cell.cell.id()))
            .map_or_else(Vec::new, |details| details.tenants.clone()),
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

/// How long all bytes take that a small copy stands for, at its rate from the start to the end of the slowest job with its syncs.
fn whole_time(all: Bytes, result: &SuiteCell) -> Option<String> {
    let number = |name: &str| {
        let (_, value) = result
            .cell
            .settings
            .iter()
            .rev()
            .find(|(one, _)| one == name)?;
        value.parse::<u64>().ok()
    };
    let elapsed = result.figures.last()?.elapsed.as_secs_f64();
    let copied = number("size")? * number("numjobs").unwrap_or(1) * number("loops").unwrap_or(1);
    let whole = elapsed * all.get() as f64 / copied as f64;
    let whole = Duration::try_from_secs_f64(whole).ok()?;
    Some(format!(
        "{} took {} with all syncs ({}): all {} GB take {} at this rate.",
        size(Bytes::new(copied)),
        duration(elapsed * 1e9),
        bandwidth(copied as f64 / elapsed),
        thousands(all.get() / 1_000_000_000),
        time_left(whole)
    ))
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
