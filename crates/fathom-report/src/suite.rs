//! The text of a suite: notes, then a table and conclusions for each step.

use fathom_model::{CellTimeline, SuiteResult, SuiteRounds, SuiteStep};

use crate::Style;
use crate::experiment::{aligned, grid_text};
use crate::output::wrap;
use crate::text::simulated_line;
use fathom_model::format::{TimeUnit, rate, time_left};

/// The complete report.
#[must_use]
pub fn suite_text(suite: &SuiteResult, style: &Style) -> String {
    let paragraph = |text: &str| wrap(&style.clean(text), style.width, "", "  ");
    let mut text = simulated_line(suite.simulated.as_ref(), style);
    text += &paragraph(&format!(
        "{}: {}, on {}",
        suite.name, suite.title, suite.target
    ));
    if let Some(procedure) = &suite.procedure {
        text += &paragraph(&format!(
            "{procedure}. Follows the procedure; not certified."
        ));
    }
    if !suite.about.is_empty() {
        text += &paragraph(&suite.about);
    }
    for note in &suite.notes {
        text += &wrap(&style.clean(note), style.width, "* ", "  ");
    }
    suite.steps.iter().for_each(|one| text += &step(one, style));
    if let Some(answer) = &suite.answer {
        text += &("\n".to_owned() + &paragraph(&format!("Answer: {answer}")));
    }
    text
}

fn step(step: &SuiteStep, style: &Style) -> String {
    let mut text = String::from("\n") + &wrap(&style.clean(&step.title), style.width, "", "  ");
    if let Some(rounds) = &step.rounds {
        text += &self::rounds(rounds, style);
    }
    text += &grid_text(&step.grid, style);
    step.timelines
        .iter()
        .for_each(|course| text += &self::course(course, style));
    text
}

/// Convergence: the tracked values of each round, then the calculation of the steady-state rule.
fn rounds(rounds: &SuiteRounds, style: &Style) -> String {
    let mut head = vec!["round".to_owned()];
    head.extend(
        rounds
            .tracked
            .iter()
            .map(|(name, _)| format!("{name} {}", rounds.unit).trim().to_owned()),
    );
    let all = rounds
        .tracked
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap_or(0);
    let row = |round: usize| {
        let values = rounds.tracked.iter().map(|(_, values)| {
            values
                .get(round)
                .map_or("-".to_owned(), |value| rate(*value))
        });
        std::iter::once((round + 1).to_string())
            .chain(values)
            .collect::<Vec<_>>()
    };
    let mut text = aligned(&head, &(0..all).map(row).collect::<Vec<_>>(), 1, style);
    for sentence in &rounds.sentences {
        text += &wrap(&style.clean(sentence), style.width, "  ", "    ");
    }
    text + "\n"
}

fn course(course: &CellTimeline, style: &Style) -> String {
    let head = ["from", "IOPS", "MB/s", "p99", "max"].map(String::from);
    let unit = TimeUnit::common(
        course
            .slices
            .iter()
            .flat_map(|slice| [slice.p99, slice.max]),
    );
    let rows = course.slices.iter().map(|slice| {
        let figures = [
            rate(slice.iops),
            rate(slice.bandwidth / 1e6),
            unit.format(slice.p99),
            unit.format(slice.max),
        ];
        std::iter::once(time_left(std::time::Duration::from_nanos(
            slice.start.get(),
        )))
        .chain(figures)
        .collect::<Vec<_>>()
    });
    let table = aligned(&head, &rows.collect::<Vec<_>>(), 1, style);
    format!(
        "\n{}{table}",
        wrap(&style.clean(&course.sentence), style.width, "  ", "    ")
    )
}

#[cfg(test)]
mod tests {
    use fathom_model::TimeSlice;

    use super::*;

    #[test]
    fn notes_come_before_the_results() {
        let suite = SuiteResult {
            name: "pts-iops".into(),
            title: "IOPS".into(),
            procedure: Some("SNIA SSS PTS 2.0.2".into()),
            target: "/dev/x".into(),
            notes: vec!["The target was not purged.".into()],
            steps: vec![SuiteStep {
                title: "rounds".into(),
                rounds: Some(SuiteRounds {
                    tracked: vec![("bs=4k".into(), vec![1200.0, 1000.0])],
                    unit: "IOPS".into(),
                    steady: None,
                    sentences: vec!["Not steady.".into()],
                }),
                timelines: vec![CellTimeline {
                    sentence: "Steady.".into(),
                    slices: vec![TimeSlice {
                        iops: 1000.0,
                        ..TimeSlice::default()
                    }],
                    ..CellTimeline::default()
                }],
                ..SuiteStep::default()
            }],
            answer: Some("Writes slow reads.".into()),
            ..SuiteResult::default()
        };
        let text = suite_text(&suite, &Style::default());
        let at = |needle: &str| {
            text.find(needle)
                .unwrap_or_else(|| panic!("{needle} is missing in\n{text}"))
        };
        assert!(
            at("not certified") < at("not purged")
                && at("not purged") < at("round  bs=4k IOPS")
                && at("1,200") < at("Not steady.")
                && at("Not steady.") < at("Answer: Writes slow reads.")
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
