//! The rated values of a data sheet, for the chart that draws them beside results.

use fathom_cli::SheetOptions;
use fathom_device::spec::{Access, Figure, FigureDirection, Library, Metric, Sheet};
use fathom_model::format::thousands;
use fathom_model::{DeviceFacts, Dimension, Direction, RatedValue, ReportSource};

use crate::spec_compare::named;
use crate::specs::library;

/// The product and the rated values of the named sheet, or of the sheet for the model in the results.
///
/// # Errors
/// When there is no sheet of this name, or none fits.
pub(super) fn of(
    results: &[ReportSource],
    sheets: &SheetOptions,
) -> Result<(String, Vec<RatedValue>), String> {
    let library = library(&sheets.specs);
    let sheet = match &sheets.sheet {
        Some(id) => named(id, &library)?,
        None => for_device(&library, results).ok_or("no data sheet fits the devices of these results; name one with --sheet=ID (`fathom spec` lists them)")?,
    };
    Ok((
        format!("{} {}", sheet.maker, sheet.product),
        sheet.figures.iter().map(rated_value).collect(),
    ))
}

/// The sheet for a model among the facts of the results.
fn for_device<'a>(library: &'a Library, results: &[ReportSource]) -> Option<&'a Sheet> {
    let pairs = results
        .iter()
        .flat_map(|format_word| &format_word.facts)
        .flat_map(|(_, pairs)| pairs);
    let of_model = |model: &String| {
        let mut device = DeviceFacts::default();
        device.identity.model = Some(model.clone());
        library.for_device(&device)
    };
    pairs
        .filter(|(name, _)| name.ends_with("model"))
        .find_map(|(_, model)| of_model(model))
}

/// With thousands separators and without trailing zeros, as in all charts: `72,000 IOPS`, `110 us`.
fn formatted(text: &str) -> String {
    let format_word = |word: &str| match word.parse::<u64>() {
        Ok(number) => thousands(number),
        Err(_) => word.strip_suffix(".0").unwrap_or(word).to_owned(),
    };
    text.split(' ')
        .map(format_word)
        .collect::<Vec<_>>()
        .join(" ")
}

fn rated_value(figure: &Figure) -> RatedValue {
    let (direction, mix) = match figure.side {
        FigureDirection::Read => (Some(Direction::Read), None),
        FigureDirection::Write => (Some(Direction::Write), None),
        FigureDirection::Mix(reads) => (None, Some(u32::from(reads))),
    };
    let measured = match figure.what {
        Metric::Iops => Dimension::Iops,
        Metric::Bandwidth => Dimension::Bandwidth,
        Metric::Latency(None) => Dimension::Mean,
        Metric::Latency(Some(percent)) => Dimension::Percentile(percent),
    };
    RatedValue {
        label: formatted(&figure.to_string()),
        direction,
        mix,
        random: figure.access == Access::Random,
        block: figure.block.map(u64::from),
        metric: measured,
        value: figure.value,
    }
}

#[cfg(test)]
mod tests {
    use super::formatted;

    #[test]
    fn rated_values_are_formatted_like_the_rest_of_a_chart() {
        assert_eq!(
            formatted("random read, 72000 IOPS"),
            "random read, 72,000 IOPS"
        );
        assert_eq!(
            formatted("random read, 110.0 us mean"),
            "random read, 110 us mean"
        );
        assert_eq!(
            formatted("sequential read, 1234567 MB/s at p99.9"),
            "sequential read, 1,234,567 MB/s at p99.9"
        );
    }
}
