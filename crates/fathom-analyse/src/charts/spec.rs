//! Measured values in percent of the data sheet.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartMark, ChartOptions, ChartSeries, JobFigures,
    MarkPosition, RatedValue, SeriesShape,
};

use super::ChartError;
use super::unit::Quantity;

pub(super) const DERIVED: &str = "A bar is the best of the results that match a value of the data sheet (direction, random or sequential, block size if stated), in percent of that value. For a latency it is the data sheet's value divided by the result, so that higher is always better.";
const LACKS: ChartError = ChartError::Lacks(
    "no data sheet matches these results; name one with --sheet=ID (`fathom spec` lists them)",
);
const NONE_FITS: ChartError = ChartError::Lacks(
    "none of these results matches a value of the data sheet: direction, random or sequential, and block size must be the same",
);

pub(super) fn spec(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    if options.rated_values.is_empty() {
        return Err(LACKS);
    }
    let kept: Vec<(&RatedValue, f64)> = options
        .rated_values
        .iter()
        .filter_map(|rated| Some((rated, best_share(rated, cells)?)))
        .collect();
    if kept.is_empty() {
        return Err(NONE_FITS);
    }
    let missing = options.rated_values.len() - kept.len();
    let points = kept
        .iter()
        .enumerate()
        .map(|(place, (_, share))| (place as f64, 100.0 * share))
        .collect();
    let mut notes = vec!["100 is the data sheet's value; higher is better.".to_owned()];
    if missing > 0 {
        notes.push(format!(
            "{missing} more values of the data sheet have no matching result."
        ));
    }
    Ok(Chart {
        title: "Measured against the data sheet".to_owned(),
        subtitle: options.sheet.clone(),
        x: ChartAxis {
            scale: AxisScale::Names(kept.iter().map(|(rated, _)| rated.label.clone()).collect()),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: "Of the data sheet's value".into(),
            unit: Quantity::Percent.unit(0.0, 100.0, false),
            ..ChartAxis::default()
        }],
        body: ChartBody::Series(vec![ChartSeries {
            name: "measured".into(),
            shape: SeriesShape::Bars,
            points,
            ..ChartSeries::default()
        }]),
        marks: vec![ChartMark {
            at: MarkPosition::Across(0, 100.0),
            label: "100 %: the data sheet".into(),
            panel: None,
        }],
        notes,
        ..Chart::default()
    })
}

/// The best share of a rated value among the cells that match it.
fn best_share(rated: &RatedValue, cells: &[JobFigures]) -> Option<f64> {
    let share = |cell: &JobFigures| {
        let value = rated.metric.of(cell, rated.direction)?;
        let share = if rated.metric.more_is_better() {
            value / rated.value
        } else {
            rated.value / value
        };
        share.is_finite().then_some(share)
    };
    cells
        .iter()
        .filter(|cell| matches(rated, cell))
        .filter_map(share)
        .max_by(f64::total_cmp)
}

fn matches(rated: &RatedValue, cell: &JobFigures) -> bool {
    let alone = rated.direction.is_none_or(|direction| {
        cell.directions
            .iter()
            .all(|direction_figures| direction_figures.direction == direction)
    });
    let mix = rated
        .mix
        .is_none_or(|mix| cell.mix == Some(mix) && cell.directions.len() == 2);
    let block = rated.block.is_none_or(|block| cell.block == Some(block));
    alone && mix && block && cell.rw.starts_with("rand") == rated.random
}
