//! The text of a suite: notes, then a table and conclusions for each step.

use fathom_model::{CellTimeline, SuiteResult, SuiteRounds, SuiteStep, SuiteTenant, fairness};

use crate::Style;
use crate::experiment::{aligned, grid_text};
use crate::output::wrap;
use crate::text::simulated_line;
use fathom_model::format::{TimeUnit, duration, rate, time_left};

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
    text += &if step.tenants.is_empty() {
        grid_text(&step.grid, style)
    } else {
        tenants(step, style)
    };
    step.timelines
        .iter()
        .for_each(|course| text += &self::course(course, style));
    text
}

/// What each tenant got, beside what it has alone; then the findings of the cell.
fn tenants(step: &SuiteStep, style: &Style) -> String {
    let all: f64 = step.tenants.iter().map(|tenant| tenant.bandwidth).sum();
    // The last columns are left out where the line is too short.
    let head = [
        "tenant", "latency", "limit", "alone", "IOPS", "of alone", "share", "MB/s",
    ];
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let missing = || "-".to_owned();
    let row = |tenant: &SuiteTenant| {
        let missed = if tenant.breaks() { " MISSED" } else { "" };
        vec![
            tenant.name.clone(),
            format!("{} {}", tenant.figure, duration(tenant.latency)),
            tenant
                .limit
                .map_or_else(missing, |limit| duration(limit) + missed),
            tenant
                .alone
                .map_or_else(missing, |(_, latency)| duration(latency)),
            rate(tenant.iops),
            tenant.of_alone().map_or_else(missing, percent),
            if all > 0.0 {
                percent(tenant.bandwidth / all)
            } else {
                missing()
            },
            rate(tenant.bandwidth / 1e6),
        ]
    };
    let rows: Vec<Vec<String>> = step.tenants.iter().map(row).collect();
    let mut text = aligned(&head.map(String::from), &rows, 1, style);
    if let Some(index) = fairness(&step.tenants) {
        text += &format!("  Fairness (Jain's index of the shares of alone): {index:.2}.\n");
    }
    for row in &step.grid.rows {
        let figures = &row.figures;
        let line = match &row.failed {
            Some(why) => format!("Not measured: {why}."),
            None if figures.codes.is_empty() => continue,
            None => format!("{}: {}.", figures.verdict.name(), figures.codes.join(", ")),
        };
        text += &wrap(&style.clean(&line), style.width, "  ", "    ");
    }
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
