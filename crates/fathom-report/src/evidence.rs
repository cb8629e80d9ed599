//! A cause with its evidence as text: how sure it is, what speaks for and against it, and what would settle it.

use fathom_model::format::percent;
use fathom_model::{Certainty, Findings};

use crate::Style;
use crate::output::wrap;

/// What limits each entry of a result, with the evidence that was recorded with it.
#[must_use]
pub fn explain_limits(findings: &Findings, style: &Style) -> String {
    let mut text = String::new();
    for entry in &findings.entries {
        let Some(diagnosis) = &entry.diagnosis else {
            continue;
        };
        if !text.is_empty() {
            text.push('\n');
        }
        let sentences = diagnosis.sentences.join(" ");
        text += &paragraph(&format!("{}: {sentences}", entry.name), style);
        let certainty = certainty(diagnosis.certainty, diagnosis.settled_by.as_deref());
        text += &paragraph(&certainty, style);
        text += &list("For it", &diagnosis.evidence_for, style);
        text += &list("Against it", &diagnosis.evidence_against, style);
        let shares = diagnosis.shares.iter();
        let shares: Vec<String> = shares
            .map(|(cause, share)| {
                format!(
                    "{} {}",
                    cause.name().replace('_', " "),
                    percent(100.0 * share)
                )
            })
            .collect();
        text += &list("Shares of the mean response", &shares, style);
    }
    if text.is_empty() {
        text = "Nothing is known of what limits this result.\n".to_owned();
    }
    text
}

/// How sure a cause is, and what would settle it.
pub(crate) fn certainty(certainty: Certainty, settled_by: Option<&str>) -> String {
    let word = match certainty {
        Certainty::Fact => "This is a fact: the evidence excludes the other causes.",
        Certainty::Likely => "This is likely, not sure.",
        Certainty::NotKnown => "The cause is not known.",
    };
    match settled_by {
        Some(measurement) => format!("{word} To settle it: {measurement}."),
        None => word.to_owned(),
    }
}

/// A paragraph as wide as the terminal.
pub(crate) fn paragraph(text: &str, style: &Style) -> String {
    wrap(&style.clean(text), style.width, "", "  ")
}

/// A heading with its sentences; nothing without one.
pub(crate) fn list(heading: &str, sentences: &[String], style: &Style) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{heading}:\n");
    for sentence in sentences {
        text += &wrap(&style.clean(sentence), style.width, "  ", "    ");
    }
    text
}
