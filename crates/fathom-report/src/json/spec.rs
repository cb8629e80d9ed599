//! The comparison of a result with a data sheet, as JSON.

use std::io::{self, Write};

use fathom_model::{SpecLine, SpecReport};

use crate::tree::{Object, Tree};

/// Version of the layout; an incompatible change increments it.
const VERSION: u64 = 1;

/// The comparison as one JSON document and a line end.
///
/// # Errors
/// If writing to `out` fails.
pub fn spec_document(report: &SpecReport, out: &mut dyn Write) -> io::Result<()> {
    Tree::from(spec_object(report)).write(out)?;
    out.write_all(b"\n")
}

/// The comparison as a part of a document.
pub(crate) fn spec_object(report: &SpecReport) -> Object {
    let facts = Object::of(
        report
            .facts
            .iter()
            .map(|(name, value)| (name.clone(), Tree::from(value))),
    );
    let object = Object::new()
        .with("version", VERSION)
        .with("target", &report.target)
        .with("device", &report.device)
        .with("data_sheet", &report.sheet)
        .with("product", &report.product)
        .with("confidence", report.confidence)
        .with("file", &report.file)
        .with("selected_by", &report.chosen)
        .with("facts", facts)
        .with("source", report.source.iter().collect::<Tree>())
        .with("figures", report.lines.iter().map(line).collect::<Tree>());
    match &report.no_figures {
        Some(why) => object.with("no_figures", why),
        None => object,
    }
}

fn line(line: &SpecLine) -> Object {
    Object::new()
        .with("figure", &line.figure)
        .with("conditions", &line.conditions)
        .with("specified", line.promised)
        .with("measured", line.measured)
        .with("ratio", line.ratio)
        .with("tolerance", line.tolerance)
        .with("judgement", line.judgement)
        .with("reasons", line.reasons.iter().collect::<Tree>())
        .with("note", line.note.as_ref())
}
