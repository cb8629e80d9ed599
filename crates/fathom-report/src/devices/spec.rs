//! The comparison of a result with a data sheet, as text.

use fathom_model::{SpecLine, SpecReport};

use crate::Style;
use crate::output::{Colour, wrap};

/// The data sheet, then each specified value with the measured one.
#[must_use]
pub fn spec_text(report: &SpecReport, style: &Style) -> String {
    let paragraph =
        |text: &str, first: &str, rest: &str| wrap(&style.clean(text), style.width, first, rest);
    let mut text = paragraph(&format!("{}: {}", report.target, report.device), "", "  ");
    let sheet = format!(
        "Data sheet {} ({}), selected: {}",
        report.sheet, report.product, report.chosen
    );
    text += &paragraph(&sheet, "", "  ");
    text += &paragraph(
        &format!(
            "Confidence: {}; read from {}",
            report.confidence, report.file
        ),
        "  ",
        "    ",
    );
    for (name, value) in &report.facts {
        text += &paragraph(&format!("{name}: {value}"), "  ", "    ");
    }
    if let Some(why) = &report.no_figures {
        text += &paragraph(&format!("No verdict on performance: {why}"), "  ", "    ");
    }
    for source in &report.source {
        text += &paragraph(&format!("source: {source}"), "  ", "    ");
    }
    text + &report
        .lines
        .iter()
        .map(|line| figure(line, style))
        .collect::<String>()
}

fn figure(line: &SpecLine, style: &Style) -> String {
    let colour = match line.judgement {
        "kept" => Colour::Green,
        "not measured" => Colour::Dim,
        "below" => Colour::Red,
        _ => Colour::Yellow,
    };
    let judgement = line.judgement.to_uppercase();
    let measured = line
        .measured_text
        .as_ref()
        .map_or(String::new(), |value| format!(": measured {value}"));
    let ratio = line.ratio.map_or(String::new(), |ratio| {
        format!(
            ", {:.0} % of it (tolerance {:.0} %)",
            100.0 * ratio,
            100.0 * line.tolerance
        )
    });
    let head = format!(
        "{judgement} {} at {}{measured}{ratio}",
        line.figure, line.conditions
    );
    let mut text = wrap(&style.clean(&head), style.width, "", "    ").replacen(
        &judgement,
        &style.paint(&judgement, colour),
        1,
    );
    for reason in line.reasons.iter().chain(&line.note) {
        text += &wrap(&style.clean(reason), style.width, "    - ", "      ");
    }
    text
}
