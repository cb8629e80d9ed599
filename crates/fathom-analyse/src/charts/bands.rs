//! Latency heat map: for each interval the distribution of all latencies.

use std::collections::BTreeMap;

use fathom_model::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartGrid, ChartOptions, Histogram, JobFigures,
    MergedInterval, bucket_range,
};

use super::ChartError;
use super::group::{chosen, split};
use super::time::{full, strip_events, strip_note, whole_run_note};
use super::unit::Quantity;

pub(super) const DERIVED: &str = "Each column is a range of time, each row a quarter of a power of two of latency; the colour is the share of that \
    column's I/Os in that row, on a logarithmic scale. If there are more intervals than columns, their counts are added, which is exact.";
/// Columns of the map.
const COLUMNS: usize = 300;
/// Histogram buckets in one row.
const BUCKETS_A_BAND: usize = 32;

pub(super) fn map(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let made = split(chosen(cells, options), &[]);
    let has = |cell: &JobFigures| {
        cell.series.iter().any(|moment| {
            moment
                .directions
                .iter()
                .any(|(_, m)| !m.latencies.is_empty())
        })
    };
    let all = || {
        made.groups
            .iter()
            .flat_map(|group| group.seen.iter().map(|seen| (group.label.clone(), *seen)))
    };
    let Some((label, seen)) = all().find(|(_, seen)| has(seen.cell)) else {
        return Err(ChartError::Lacks(
            "these results have no latencies by interval; use `fathom run` with --output-format=json+",
        ));
    };
    let others = all().filter(|(_, seen)| has(seen.cell)).count() - 1;
    let series: Vec<&MergedInterval> = full(&seen.cell.series).collect();
    let end = series
        .last()
        .map_or(1, |moment| (moment.start + moment.length).get())
        .max(1);
    let columns = series.len().clamp(1, COLUMNS);
    let column_of = |moment: &MergedInterval| {
        ((u128::from(moment.start.get()) * columns as u128 / u128::from(end)) as usize)
            .min(columns - 1)
    };
    let mut counts: BTreeMap<(usize, u16), u64> = BTreeMap::new();
    let mut scratch = Histogram::new();
    for stretch in series.chunk_by(|a, b| column_of(a) == column_of(b)) {
        scratch.clear();
        stretch.iter().for_each(|moment| {
            moment.directions[seen.direction_figures.direction]
                .latencies
                .add_to(&mut scratch);
        });
        for (bucket, n) in scratch.indexed() {
            *counts
                .entry((column_of(stretch[0]), (bucket / BUCKETS_A_BAND) as u16))
                .or_default() += n;
        }
    }
    let (Some(lowest), Some(highest)) = (
        counts.keys().map(|key| key.1).min(),
        counts.keys().map(|key| key.1).max(),
    ) else {
        return Err(ChartError::Lacks("no I/O completed in any interval"));
    };
    let rows = usize::from(highest - lowest) + 1;
    let mut sums = vec![0u64; columns];
    counts
        .iter()
        .for_each(|((column, _), n)| sums[*column] += n);
    let mut values = vec![None; rows * columns];
    for ((column, band), n) in &counts {
        values[usize::from(band - lowest) * columns + column] =
            Some(100.0 * *n as f64 / sums[*column] as f64);
    }
    let edge = |band: u16| {
        bucket_range((usize::from(band) * BUCKETS_A_BAND).min(fathom_model::BUCKETS - 1))
            .0
            .max(1) as f64
    };
    let (low, high) = (edge(lowest), edge(highest + 1));
    let mut notes =
        vec!["Light: large share of the column's I/Os. Dark: small share. Blank: none.".to_owned()];
    let drawn = [(String::new(), seen)];
    let strip = strip_events(&drawn);
    // A map covers what is behind it: its events are below it.
    notes.extend(
        strip_note(&strip, end as f64)
            .map(|note| note.replacen("Shaded:", "In the strip below the chart:", 1)),
    );
    notes.extend(whole_run_note(&drawn));
    if others > 0 {
        notes.push(format!(
            "{} like this omitted: `fathom plot` selects with --name, --rw, --depth or --direction.",
            if others == 1 {
                "1 more is".into()
            } else {
                format!("{others} more are")
            }
        ));
    }
    Ok(Chart {
        title: "Latencies over time".to_owned(),
        subtitle: [made.common.as_str(), label.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" · "),
        x: ChartAxis {
            title: "Time since the start".into(),
            unit: Quantity::Elapsed.unit(0.0, end as f64, false),
            from: Some(0.0),
            to: Some(end as f64),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: "Latency".into(),
            unit: Quantity::Latency.unit(low, high, true),
            scale: AxisScale::Log(10),
            from: Some(low),
            to: Some(high),
        }],
        body: ChartBody::Grid(ChartGrid {
            title: "I/Os of the column".into(),
            unit: Quantity::Percent.unit(0.0, 100.0, false),
            columns,
            rows,
            values,
            solid: false,
            log: true,
        }),
        events: strip,
        notes,
        ..Chart::default()
    })
}
