//! The formats of `--output-format`, written in fio's order.

use std::io::{self, Write};

use fathom_model::Findings;

use crate::{Exposition, Style, TerseVersion, exposition, json, terse, text};

/// One of the formats of `--output-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `terse`, also `minimal` and `csv`.
    Terse(TerseVersion),
    /// `json`.
    Json,
    /// `json+`: with histograms.
    JsonPlus,
    /// `normal`: text.
    Normal,
    /// `openmetrics` and `prometheus`: an exposition, alone in its document.
    Exposition(Exposition),
}

/// Writes all requested formats: terse, then JSON, then the exposition, then text, in any order of `formats`. `json+` replaces
/// `json` if both are requested.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    findings: &Findings,
    formats: &[Format],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terse_version = formats.iter().rev().find_map(|format| match format {
        Format::Terse(version) => Some(*version),
        _ => None,
    });
    if let Some(version) = terse_version {
        terse(findings, style, version, out)?;
    }
    let plus = formats.contains(&Format::JsonPlus);
    if plus || formats.contains(&Format::Json) {
        json(findings, style, plus, out)?;
    }
    for format in formats {
        if let Format::Exposition(format) = format {
            exposition(&[(Vec::new(), findings)], *format, out)?;
        }
    }
    if formats.contains(&Format::Normal) {
        out.write_all(text(findings, style).as_bytes())?;
    }
    Ok(())
}
