//! Converts a sheet and its comparisons to the types that reports print.

use fathom_model::format::size;
use fathom_model::{Bytes, DeviceFacts, SpecLine, SpecReport};

use super::compare::{Comparison, Judgement};
use super::conditions::{Conditions, conditions};
use super::sheet::{Confidence, Figure, Sheet};

/// The sheet with all its figures, not yet measured.
#[must_use]
pub fn report(target: &str, device: &DeviceFacts, sheet: &Sheet, named: bool) -> SpecReport {
    let model = device
        .identity
        .model
        .clone()
        .unwrap_or_else(|| "model not reported".to_owned());
    let firmware = device
        .identity
        .firmware
        .as_ref()
        .map_or(String::new(), |firmware| format!(", firmware {firmware}"));
    let doubt = if sheet.models_unconfirmed {
        "; none of the sheet's sources confirms that this is the product"
    } else {
        ""
    };
    let prefix = sheet
        .models
        .iter()
        .filter(|prefix| model.starts_with(*prefix))
        .max_by_key(|prefix| prefix.len());
    SpecReport {
        target: crate::clean(target.as_bytes()),
        device: format!("{}: {model}{firmware}", device.name),
        sheet: sheet.id.clone(),
        product: format!("{} {}", sheet.maker, sheet.product),
        confidence: match sheet.confidence {
            Confidence::Maker => "maker",
            Confidence::Secondary => "secondary",
            Confidence::Partial => "partial",
        },
        file: sheet.file.clone(),
        chosen: match prefix {
            Some(prefix) if !named => format!("the model starts with {prefix}{doubt}"),
            Some(prefix) => format!("named by the user; the model starts with {prefix}{doubt}"),
            None => "named by the user; the model does not match it".to_owned(),
        },
        facts: sheet.facts.clone(),
        no_figures: sheet.no_figures(),
        source: sheet.source.clone(),
        lines: sheet.figures.iter().map(line).collect(),
    }
}

/// A figure that was not measured.
fn line(figure: &Figure) -> SpecLine {
    SpecLine {
        figure: figure.to_string(),
        conditions: under(&conditions(figure)),
        promised: figure.value,
        judgement: "not measured",
        note: figure.note.clone(),
        ..SpecLine::default()
    }
}

/// A figure that was measured.
#[must_use]
pub fn measured_line(comparison: &Comparison) -> SpecLine {
    SpecLine {
        conditions: under(&comparison.under),
        measured: comparison.value,
        measured_text: comparison
            .value
            .map(|value| comparison.figure.what.words(value)),
        ratio: comparison.ratio,
        tolerance: comparison.tolerance,
        judgement: match comparison.judgement {
            Judgement::Kept => "kept",
            Judgement::Below => "below",
            Judgement::Above => "above",
            Judgement::NotComparable => "not comparable",
        },
        reasons: comparison.reasons.clone(),
        ..line(&comparison.figure)
    }
}

fn under(conditions: &Conditions) -> String {
    let threads = if conditions.threads == 1 {
        "1 thread".to_owned()
    } else {
        format!("{} threads", conditions.threads)
    };
    let assumed = match conditions.assumed.as_slice() {
        [] => String::new(),
        what => format!(" ({} not stated)", what.join(", ")),
    };
    format!(
        "{}, depth {}, {threads}{assumed}",
        size(Bytes::new(conditions.block.into())),
        conditions.depth
    )
}
