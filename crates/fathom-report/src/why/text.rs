//! The answer as text: the conclusion first, then the evidence, then what was not looked at.

use fathom_model::format::{counted, duration, percent, thousands};
use fathom_trace::{StuckThread, WhyAnswer};

use crate::Style;
use crate::evidence::{certainty, list, paragraph};

/// Stuck threads that are listed.
const MAX_LISTED_THREADS: usize = 10;

/// The text of an answer.
#[must_use]
pub fn why_text(answer: &WhyAnswer, style: &Style) -> String {
    let finding = &answer.finding;
    let mut text = paragraph(&finding.sentence, style);
    text += &paragraph(
        &certainty(finding.certainty, finding.settled_by.as_deref()),
        style,
    );
    text += &list("Do now", &finding.actions, style);
    let stuck: Vec<String> = answer
        .stuck
        .iter()
        .take(MAX_LISTED_THREADS)
        .map(stuck)
        .collect();
    text += &list("Stuck now", &stuck, style);
    let mut also = Vec::new();
    for other in &answer.also {
        also.push(format!(
            "{} {}",
            other.sentence,
            certainty(other.certainty, other.settled_by.as_deref())
        ));
    }
    text += &list("Also", &also, style);
    text += &list("For it", &finding.evidence_for, style);
    text += &list("Against it", &finding.evidence_against, style);
    text += &list("Devices", &answer.devices, style);
    text += &list("Uses them", &answer.uses, style);
    text += &list("Waits", &answer.waits, style);
    text += &list("Not looked at", &answer.not_looked_at, style);
    text + "\n" + &paragraph(&cost(answer), style)
}

/// One stuck thread.
fn stuck(thread: &StuckThread) -> String {
    let call = thread
        .call
        .map_or(String::new(), |call| format!(" in {call}"));
    let file = thread
        .file
        .as_ref()
        .map_or(String::new(), |file| format!(" of {file}"));
    let mount = thread
        .mount
        .as_ref()
        .map_or(String::new(), |mount| format!(", mounted at {mount}"));
    format!(
        "{} (pid {}) for at least {}{call}{file}{mount}",
        thread.name,
        thread.pid,
        duration(thread.seconds * 1e9)
    )
}

fn cost(answer: &WhyAnswer) -> String {
    let cost = &answer.cost;
    let processes = match answer.processes {
        1 => "1 process".to_owned(),
        more => format!("{} processes", thousands(more)),
    };
    let mut text = format!(
        "Looked {} times in {} at {processes}; it took {} of CPU time",
        answer.looks,
        duration(answer.seconds * 1e9),
        duration(cost.cpu_ns as f64),
    );
    // Of a moment the preparation is the most.
    if answer.seconds >= 1.0 {
        let share = cost.cpu_ns as f64 / 1e7 / answer.seconds;
        text += &format!(" ({} of one CPU)", percent(share));
    }
    if cost.events > 0 {
        text += &format!(" and {}", counted(cost.events, "event"));
    }
    if cost.lost_events > 0 {
        text += &format!(", {} more were lost", cost.lost_events);
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use fathom_trace::{WhyCause, WhyCost, WhyFinding};

    use super::*;

    /// The first line is the conclusion, and no heading stands without a sentence.
    #[test]
    fn the_conclusion_comes_first() {
        let finding = WhyFinding::likely(
            WhyCause::Neighbour,
            "dd keeps sda busy.".to_owned(),
            "run it as root",
        );
        let answer = WhyAnswer {
            seconds: 10.0,
            finding: finding.advise("Ask whether dd can wait."),
            processes: 1,
            looks: 21,
            cost: WhyCost {
                cpu_ns: 50_000_000,
                ..WhyCost::default()
            },
            ..WhyAnswer::default()
        };
        let expected = "dd keeps sda busy.\n\
            This is likely, not sure. To settle it: run it as root.\n\
            \n\
            Do now:\n\
            \x20 Ask whether dd can wait.\n\
            \n\
            Looked 21 times in 10.00 s at 1 process; it took 50.0 ms of CPU time (0.5 % of one\n\
            \x20 CPU).\n";
        let style = Style {
            width: 82,
            ..Style::default()
        };
        assert_eq!(why_text(&answer, &style), expected);
    }
}
