//! What a data sheet promises beside what was measured.

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartMark, ChartSeries, Direction, MarkPlace,
    SeriesShape,
};

use super::dimension::Dimension;
use super::unit::Quantity;
use super::{ChartError, ChartOptions, JobFigures};

pub(super) const DERIVED: &str = "A bar is the best of the results that fit a promise of the data sheet (direction, order, block size where stated), in \
    percent of it: 100 is as promised. Of a latency it is the promise over the result, so that more is always better.";
const LACKS: ChartError = ChartError::Lacks(
    "no data sheet is known for these results; name one with --sheet=ID (`fathom spec` lists them)",
);
const NONE_FITS: ChartError = ChartError::Lacks(
    "none of these results fits a promise of the sheet: direction, random or in order, and block size must be the same",
);

/// One figure of a data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// What is promised, in words with the value.
    pub words: String,
    /// Direction; `None` is a mix.
    pub direction: Option<Direction>,
    /// Reads of a mix, percent.
    pub mix: Option<u32>,
    /// Random addresses.
    pub random: bool,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// What is counted.
    pub figure: Dimension,
    /// How much, in base units.
    pub value: f64,
}

pub(super) fn promised(cells: &[JobFigures], wish: &ChartOptions) -> Result<Chart, ChartError> {
    if wish.promises.is_empty() {
        return Err(LACKS);
    }
    let kept: Vec<(&Promise, f64)> = wish
        .promises
        .iter()
        .filter_map(|promise| Some((promise, best(promise, cells)?)))
        .collect();
    if kept.is_empty() {
        return Err(NONE_FITS);
    }
    let missing = wish.promises.len() - kept.len();
    let points = kept
        .iter()
        .enumerate()
        .map(|(place, (_, share))| (place as f64, 100.0 * share))
        .collect();
    let mut notes = vec!["100 is as promised, more is better.".to_owned()];
    if missing > 0 {
        notes.push(format!(
            "{missing} more figures of the sheet have no result that fits them."
        ));
    }
    Ok(Chart {
        title: "Measured against the data sheet".to_owned(),
        subtitle: wish.sheet.clone(),
        x: ChartAxis {
            scale: AxisScale::Names(
                kept.iter()
                    .map(|(promise, _)| promise.words.clone())
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
            at: MarkPlace::Across(0, 100.0),
            words: String::new(),
        }],
        notes,
        ..Chart::default()
    })
}

/// The best share of a promise among the cells that fit it.
fn best(promise: &Promise, cells: &[JobFigures]) -> Option<f64> {
    let share = |cell: &JobFigures| {
        let value = promise.figure.of(cell, promise.direction)?;
        let share = if promise.figure.more_is_better() {
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

fn fits(promise: &Promise, cell: &JobFigures) -> bool {
    let alone = promise
        .direction
        .is_none_or(|direction| cell.ways.iter().all(|way| way.direction == direction));
    let mix = promise
        .mix
        .is_none_or(|mix| cell.mix == Some(mix) && cell.ways.len() == 2);
    let block = promise.block.is_none_or(|block| cell.block == Some(block));
    alone && mix && block && cell.rw.starts_with("rand") == promise.random
}
