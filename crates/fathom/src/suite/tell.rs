//! What a procedure came to, as nouns of the report.

use std::collections::BTreeMap;

use fathom_analyse::{PTS_WINDOW, Repeats, grid, over_time, pts_sentence, pts_windows};
use fathom_model::{CellFigures, OverTime, SuiteRounds, SuiteStep};
use fathom_plan::{Recipe, Rounds, Step, Tracked};

use super::cell_source::{Done, Known, series};
use super::watching::{Kept, soak};

/// All steps that are results.
pub fn steps(recipe: &Recipe, done: &[Done], kept: &BTreeMap<String, Kept>) -> Vec<SuiteStep> {
    let results = recipe
        .steps
        .iter()
        .zip(done)
        .filter(|(step, done)| !step.prepares && !done.cells.is_empty());
    results.map(|(step, done)| one(step, done, kept)).collect()
}

fn one(step: &Step, done: &Done, kept: &BTreeMap<String, Kept>) -> SuiteStep {
    let names = done.cells.first().map_or(Vec::new(), |known| {
        known
            .cell
            .values
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    });
    let window: Vec<Vec<CellFigures>> = done
        .cells
        .iter()
        .map(|known| figures(step, known, kept))
        .collect();
    let cells = done.cells.iter().zip(&window).map(|(known, figures)| {
        let values = known
            .cell
            .values
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        (
            values,
            Repeats {
                figures,
                failed: known.failed.as_deref(),
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
        courses: if step.series {
            courses(done, step, kept)
        } else {
            Vec::new()
        },
    }
}

/// The figures that are the result: the last rounds, of the job that is judged.
fn figures(step: &Step, known: &Known, kept: &BTreeMap<String, Kept>) -> Vec<CellFigures> {
    if step.judged.is_some()
        && let Some(judged) = kept
            .get(&known.cell.id())
            .and_then(|kept| kept.judged.clone())
    {
        return vec![judged];
    }
    let n = known.figures.len();
    known.figures[n.saturating_sub(if step.rounds.is_some() { PTS_WINDOW } else { n })..].to_vec()
}

fn courses(done: &Done, step: &Step, kept: &BTreeMap<String, Kept>) -> Vec<OverTime> {
    let soaks = (0..done.round).map(|round| soak(step, round).id());
    let cells = done.cells.iter().map(|known| known.cell.id());
    soaks
        .chain(cells)
        .filter_map(|id| over_time(&id, &kept.get(&id)?.series))
        .collect()
}

fn rounds(rounds: &Rounds, done: &Done) -> SuiteRounds {
    let (unit, scale) = match rounds.figure {
        Tracked::Iops => ("IOPS", 1.0),
        Tracked::Bandwidth => ("MB/s", 1e-6),
        Tracked::Mean => ("us", 1e-3),
    };
    let name = |values: &[(String, String)]| {
        let words: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if words.is_empty() {
            "all".to_owned()
        } else {
            words.join(" ")
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

/// The arithmetic of the last window.
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

fn ending(rounds: &Rounds, done: &Done, followed: usize) -> String {
    match done.steady {
        Some(round) => {
            let first = round as usize + 1 - PTS_WINDOW;
            format!("Steady state in round {round}; the figures below are means of rounds {first} to {round}.")
        }
        None if followed < rounds.tracked.len() => "A cell that must be steady could not be measured, so there is no steady state.".to_owned(),
        None if done.written_out => "No steady state by the time the amount was written; the figures below are means of the last rounds.".to_owned(),
        None => format!("No steady state after {} of {} rounds; the figures below are means of the last of them.", done.round, rounds.most),
    }
}
