//! The timeline of a plan (`--explain`).

use fathom_model::{Amount, Direction, ExplainedJob, ExplainedStep, Nanos, PlanExplanation};

use crate::Style;
use crate::output::wrap;
use fathom_model::format::{bytes, exact_time, size};

/// The timeline of `explanation`. `targets` describes each target and what the run does to it.
#[must_use]
pub fn explanation_text(
    explanation: &PlanExplanation,
    targets: &[String],
    style: &Style,
) -> String {
    let mut lines = line(&summary(explanation), "", "  ", style);
    lines += &list("Before the first I/O", &explanation.preparation, style);
    for (number, step) in (1..).zip(&explanation.steps) {
        lines += &step_lines(number, step, style);
    }
    lines += &list(
        "The result has one entry for each of",
        &explanation.entries,
        style,
    );
    lines += "\nTotal\n";
    lines += &line(
        &format!("* {}", all_bytes(explanation)),
        "  ",
        "    ",
        style,
    );
    lines += &line(
        &format!(
            "* I/O buffers take at most {} at a time",
            size(explanation.buffers)
        ),
        "  ",
        "    ",
        style,
    );
    lines += &list("Cautions", &explanation.cautions, style);
    if !targets.is_empty() {
        lines += "\nTargets at present\n";
        targets
            .iter()
            .flat_map(|text| text.lines())
            .for_each(|text| lines += &format!("  {}\n", style.clean(text)));
    }
    lines
}

/// The commands that a run starts; nothing if there are none.
#[must_use]
pub fn command_list(commands: &[String], style: &Style) -> String {
    list("Commands that this run starts", commands, style)
        .trim_start()
        .to_owned()
}

fn line(text: &str, first: &str, rest: &str, style: &Style) -> String {
    wrap(&style.clean(text), style.width, first, rest)
}

fn list(title: &str, items: &[String], style: &Style) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| line(&format!("* {item}"), "  ", "    ", style))
        .collect();
    format!("\n{title}\n{items}")
}

fn summary(explanation: &PlanExplanation) -> String {
    let jobs: usize = explanation
        .steps
        .iter()
        .flat_map(|step| &step.jobs)
        .map(|job| job.clones)
        .sum();
    let steps = explanation.steps.len();
    let order = match (jobs, steps) {
        (1, _) => String::new(),
        (_, 1) => ", all in parallel".to_owned(),
        (_, steps) => format!(", in {steps} steps one after another"),
    };
    format!(
        "{jobs} job{}{order}: {}.",
        if jobs == 1 { "" } else { "s" },
        span(explanation.time)
    )
}

/// `30s`, `10s to 30s`, `at least 10s`.
fn span((least, most): (Nanos, Option<Nanos>)) -> String {
    match most {
        Some(most) if most == least => exact_time(least),
        Some(most) if least.is_zero() => format!("at most {}", exact_time(most)),
        Some(most) => format!("{} to {}", exact_time(least), exact_time(most)),
        None if least.is_zero() => "until the work is done".to_owned(),
        None => format!("at least {}", exact_time(least)),
    }
}

fn step_lines(number: usize, step: &ExplainedStep, style: &Style) -> String {
    let when = if number == 1 {
        "immediately"
    } else {
        "after all previous steps"
    };
    let together = if step.jobs.len() > 1 {
        ", jobs in parallel"
    } else {
        ""
    };
    let title = format!("Step {number}, {when}{together}: {}", span(step.time));
    let jobs: String = step.jobs.iter().map(|job| job_lines(job, style)).collect();
    format!("\n{}{jobs}", line(&title, "", "  ", style))
}

fn job_lines(job: &ExplainedJob, style: &Style) -> String {
    let clones = if job.clones > 1 {
        format!(", {} clones", job.clones)
    } else {
        String::new()
    };
    let mut lines = line(
        &format!(
            "{} (group {}{clones}): {}",
            job.name, job.group, job.workload
        ),
        "  ",
        "    ",
        style,
    );
    let mut row = |name: &str, text: &str| {
        lines += &line(text, &format!("    {name:<8}"), "            ", style);
    };
    row("starts", &job.start);
    job.regions.iter().for_each(|place| row("where", place));
    row("I/O", &job.amount);
    job.repeats.iter().for_each(|text| row("repeats", text));
    row("ends", &job.end);
    row("takes", &span(job.time));
    lines
}

fn all_bytes(explanation: &PlanExplanation) -> String {
    let text_of = |(direction, amount): (Direction, &Amount)| {
        let verb = match direction {
            Direction::Read => "read",
            Direction::Write => "written",
            Direction::Trim => "trimmed",
        };
        let amount_text = match (amount.min, amount.max) {
            (_, None) => "an unlimited amount is".to_owned(),
            (_, Some(0)) => "nothing is".to_owned(),
            (least, Some(most)) if least == most => format!("{} are", bytes(most)),
            (_, Some(most)) => format!("at most {} are", bytes(most)),
        };
        format!("{amount_text} {verb}")
    };
    let amounts: Vec<String> = explanation
        .total
        .iter()
        .filter(|(d, amount)| *d != Direction::Trim || amount.max != Some(0))
        .map(text_of)
        .collect();
    amounts.join(", ")
}
