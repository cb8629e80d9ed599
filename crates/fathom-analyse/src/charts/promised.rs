//! What a data sheet promises beside what was measured.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartMark, ChartOptions, ChartSeries, JobFigures,
    MarkPosition, RatedValue, SeriesShape,
};

use super::ChartError;
use super::unit::Quantity;

pub(super) const DERIVED: &str = "A bar is the best of the results that match a value of the data sheet (direction, order, block size where stated), in percent of that value. For a latency it is the data sheet's value over the result, so that more is always better.";
const LACKS: ChartError = ChartError::Lacks(
    "no data sheet matches these results; name one with --sheet=ID (`fathom spec` lists them)",
);
const NONE_FITS: ChartError = ChartError::Lacks(
    "none of these results matches a value of the data sheet: direction, random or sequential, and block size must be the same",
);

pub(super) fn promised(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    if options.rated_values.is_empty() {
        return Err(LACKS);
    }
    let kept: Vec<(&RatedValue, f64)> = options
        .rated_values
        .iter()
        .filter_map(|promise| Some((promise, best(promise, cells)?)))
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
    let mut notes = vec!["100 is the data sheet's value, more is better.".to_owned()];
    if missing > 0 {
        notes.push(format!(
            "{missing} more values of the data sheet have no matching result."
        ));
    }
    Ok(Chart {
        title: "Measured against the data sheet".to_owned(),
        subtitle: options.sheet.clone(),
        x: ChartAxis {
            scale: AxisScale::Names(
                kept.iter()
                    .map(|(promise, _)| promise.label.clone())
                    .collect(),
            ),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: "Of what is promised".into(),
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
            label: String::new(),
        }],
        notes,
        ..Chart::default()
    })
}

/// The best share of a promise among the cells that fit it.
fn best(promise: &RatedValue, cells: &[JobFigures]) -> Option<f64> {
    let share = |cell: &JobFigures| {
        let value = promise.metric.of(cell, promise.direction)?;
        let share = if promise.metric.more_is_better() {
            value / promise.value
        } else {
            promise.value / value
        };
        share.is_finite().then_some(share)
    };
    cells
        .iter()
        .filter(|cell| fits(promise, cell))
        .filter_map(share)
        .max_by(f64::total_cmp)
}

fn fits(promise: &RatedValue, cell: &JobFigures) -> bool {
    let alone = promise
        .direction
        .is_none_or(|direction| cell.directions.iter().all(|way| way.direction == direction));
    let mix = promise
        .mix
        .is_none_or(|mix| cell.mix == Some(mix) && cell.directions.len() == 2);
    let block = promise.block.is_none_or(|block| cell.block == Some(block));
    alone && mix && block && cell.rw.starts_with("rand") == promise.random
}
