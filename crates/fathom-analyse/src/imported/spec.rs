//! Checks measurements against the vendor's figures.

use fathom_model::{Finding, ImportedFigures, SpecFigure, SpecSheet, Weight};

use super::{CheckInput, about};
use crate::figures::{bytes, percent, rate};

/// A measurement within this share of the vendor's figure confirms it.
const TOLERANCE: f64 = 0.1;

/// One finding for each rated value that was missed or exceeded.
pub(crate) fn missed(input: &CheckInput) -> Vec<Finding> {
    input.results.iter().flat_map(missed_by).collect()
}

fn missed_by(imported: &ImportedFigures) -> Vec<Finding> {
    let Some(sheet) = &imported.sheet else {
        return Vec::new();
    };
    let random = imported
        .rw
        .as_ref()
        .is_some_and(|rw| rw.starts_with("rand"));
    let fits = |figure: &&SpecFigure| {
        figure.random == random
            && imported.streams.len() == 1
            && imported.streams[0].direction == figure.direction
    };
    sheet
        .figures
        .iter()
        .filter(fits)
        .filter_map(|figure| judged(imported, sheet, figure))
        .collect()
}

fn judged(imported: &ImportedFigures, sheet: &SpecSheet, figure: &SpecFigure) -> Option<Finding> {
    let got = if figure.is_bandwidth {
        imported.bandwidth()?
    } else {
        imported.iops()
    };
    let ratio = got / figure.value;
    if (ratio - 1.0).abs() <= TOLERANCE {
        return None;
    }
    let unit = |n: f64| {
        if figure.is_bandwidth {
            format!("{}/s", bytes(n as u64))
        } else {
            format!("{} I/Os per second", rate(n))
        }
    };
    let evidence = format!(
        "{} is {} of the {} that the data sheet of {} specifies{}.",
        unit(got),
        percent(ratio * 100.0),
        unit(figure.value),
        sheet.model,
        conditions(imported, figure),
    );
    let advice = "State for each row its share of the specified value, at the data sheet's block size and depth; above it, check for a cache.";
    let weight = if ratio > 1.0 {
        Weight::Degrades
    } else {
        Weight::Note
    };
    Some(about(imported, weight, evidence, advice))
}

/// Differences between the conditions of the measurement and of the data sheet.
fn conditions(imported: &ImportedFigures, figure: &SpecFigure) -> String {
    let mut parts = Vec::new();
    if let Some((own, theirs)) = imported
        .block
        .zip(figure.block)
        .filter(|(own, theirs)| own != theirs)
    {
        parts.push(format!(
            "blocks of {} instead of {}",
            bytes(own),
            bytes(theirs)
        ));
    }
    if let Some((own, theirs)) = imported
        .max_in_flight()
        .zip(figure.in_flight)
        .filter(|(own, theirs)| own != theirs)
    {
        parts.push(format!("{own} in flight instead of {theirs}"));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!(" (measured with {})", parts.join(" and "))
    }
}

/// Checks that the part number belongs to the stated product family.
pub(crate) fn part_number(imported: &ImportedFigures) -> Option<Finding> {
    let (part, sheet, claimed) = (
        imported.part_number.as_ref()?,
        imported.sheet.as_ref()?,
        imported.claims.model.as_ref()?,
    );
    let plain = |text: &str| text.to_ascii_uppercase().replace(['-', ' '], "");
    let belongs = sheet
        .part_prefixes
        .iter()
        .any(|prefix| plain(part).starts_with(&plain(prefix)));
    if belongs
        || sheet.part_prefixes.is_empty()
        || !plain(claimed).contains(&plain(&sheet.model))
            && !plain(&sheet.model).contains(&plain(claimed))
    {
        return None;
    }
    let evidence = format!(
        "{part} is described as a {claimed}, but part numbers of the {} begin with {} ({} known).",
        sheet.model,
        sheet.part_prefixes.join(" or "),
        sheet.part_prefixes.len(),
    );
    let advice =
        "Identify a drive by the part number that it reports, and use that family's data sheet.";
    Some(about(imported, Weight::Invalidates, evidence, advice))
}
