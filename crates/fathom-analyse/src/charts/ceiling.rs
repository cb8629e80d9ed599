//! The capacity of a link as a line across a chart.

use fathom_model::{Chart, ChartBody, ChartMark, ChartOptions, Dimension, MarkPosition};

use super::ChartError;
use super::curve::values;
use super::group::Seen;
use crate::figures::{bytes, rate};

const NO_CEILING: ChartError = ChartError::Lacks(
    "--link needs bandwidth (--metric=bw), or IOPS of results that all have the same block size",
);
/// A ceiling further above the highest value would leave no room for the curves; a note has it instead.
const FARTHEST: f64 = 3.0;
/// Room above the ceiling for its label.
const ROOM: f64 = 1.08;

/// Adds the ceiling of `options.link` on the first y axis, which shows `metric`.
pub(super) fn add_ceiling<'a>(
    mut chart: Chart,
    metric: Dimension,
    seen: impl IntoIterator<Item = &'a Seen<'a>>,
    options: &ChartOptions,
) -> Result<Chart, ChartError> {
    let Some((link, links)) = options.link else {
        return Ok(chart);
    };
    let capacity = link.usable() * f64::from(links);
    let mut blocks: Vec<Option<u64>> = seen.into_iter().map(|one| one.cell.block).collect();
    blocks.dedup();
    let highest = match &chart.body {
        ChartBody::Series(all) => values(all, 0).1,
        _ => 0.0,
    };
    let (value, amount) = match (metric, blocks.as_slice()) {
        (Dimension::Bandwidth, _) => (capacity, format!("{}/s", bytes(capacity as u64))),
        (Dimension::Iops, [Some(block)]) => {
            let iops = capacity / *block as f64;
            (iops, format!("{} IOPS of {}", rate(iops), bytes(*block)))
        }
        _ => return Err(NO_CEILING),
    };
    let times = if links > 1 {
        format!("{links} x ")
    } else {
        String::new()
    };
    let label = format!("{times}{link}: {amount}");
    if value > FARTHEST * highest {
        chart.notes.push(format!(
            "{label}, {:.0} times the highest value here, is above this chart.",
            value / highest
        ));
        return Ok(chart);
    }
    let axis = &mut chart.y[0];
    if value > highest && axis.to.is_none() {
        axis.to = Some(value * ROOM);
    }
    chart.marks.push(ChartMark {
        at: MarkPosition::Across(0, value),
        label,
        panel: None,
    });
    Ok(chart)
}
