//! Charts of block I/O that was seen through tracepoints: phases of latency, offsets, sizes, depth.

use std::collections::BTreeMap;

use fathom_model::{
    AxisScale, BUCKETS, Chart, ChartAxis, ChartBody, ChartGrid, ChartOptions, ChartSeries,
    Histogram, JobFigures, ObservedIo, ObservedOffsets, RequestPhase, SeriesShape, bucket_range,
};

use super::ChartError;
use super::unit::Quantity;
use crate::figures::{bytes, count};

pub(super) const DERIVED_PHASES: &str = "Each panel is a phase of a request in the block layer. Each column is a range of time, each row a quarter of a power \
    of two of latency; the colour is the share of that column's requests in that row, on a logarithmic scale.";
pub(super) const DERIVED_OFFSETS: &str = "The colour is the number of requests that completed in a range of time and began in a range of the device, on a \
    logarithmic scale.";
pub(super) const DERIVED_SIZES: &str = "Bios are what file systems and direct I/O submit; requests are what the device gets after the block layer split and \
    merged them. The height of a bar is the share of all bios, or of all requests, in percent.";
pub(super) const DERIVED_DEPTH: &str = "The number of requests with the driver of the device, of all directions, as the mean over each interval weighted by \
    time.";
const LACKS: ChartError = ChartError::Lacks(
    "these results have no block I/O seen through tracepoints; use `fathom observe` or `fathom witness` as root",
);
const NO_DEPTH: ChartError = ChartError::Lacks(
    "these results have no depth over time: the device has no requests, or the I/O is that of several devices",
);
const NO_OFFSETS: ChartError = ChartError::Lacks(
    "these results have no offsets: the I/O is that of several devices; use `fathom observe DEVICE`",
);
/// Columns of a map.
const COLUMNS: usize = 200;
/// Histogram buckets in one row.
const BUCKETS_A_BAND: usize = 32;
/// More sizes are counted together by powers of two.
const SIZES: usize = 16;
/// Panels, and lines in one of them.
const PANELS: usize = 6;
const LINES: usize = 7;

/// The jobs with observed I/O that the filters include, the one with the most I/Os first.
fn chosen<'a>(
    cells: &'a [JobFigures],
    options: &ChartOptions,
) -> Vec<(&'a JobFigures, &'a ObservedIo)> {
    let wanted = |cell: &&JobFigures| {
        options.matches(cell)
            && options
                .direction
                .is_none_or(|wanted| cell.directions.iter().any(|one| one.direction == wanted))
    };
    let mut all: Vec<_> = cells
        .iter()
        .filter(wanted)
        .filter_map(|cell| Some((cell, cell.observed.as_deref()?)))
        .collect();
    let ios = |cell: &JobFigures| cell.directions.iter().map(|one| one.ios).sum::<u64>();
    all.sort_by_key(|(cell, _)| std::cmp::Reverse(ios(cell)));
    all
}

/// Its name, after that of its result where there are several.
fn label(cell: &JobFigures, all: &[(&JobFigures, &ObservedIo)]) -> String {
    if all.iter().all(|(other, _)| other.source == cell.source) {
        cell.name.clone()
    } else {
        format!("{}, {}", cell.source, cell.name)
    }
}

fn omitted(all: &[(&JobFigures, &ObservedIo)], drawn: usize) -> Option<String> {
    let names: Vec<String> = all
        .iter()
        .skip(drawn)
        .map(|(cell, _)| label(cell, all))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Omitted: {}. `fathom plot` selects with --name or --direction.",
            names.join(", ")
        )
    })
}

fn time_axis(end: f64) -> ChartAxis {
    ChartAxis {
        title: "Time since the start".into(),
        unit: Quantity::Elapsed.unit(0.0, end, false),
        from: Some(0.0),
        to: Some(end),
        ..ChartAxis::default()
    }
}

/// The phases that are drawn: with a scheduler those before and after its queue, without one the way to the driver.
fn drawn_phases(observed: &ObservedIo) -> Vec<(RequestPhase, &[fathom_model::SparseHistogram])> {
    let get = |phase: RequestPhase| {
        observed
            .phases
            .iter()
            .find(|(known, all)| *known == phase && all.iter().any(|one| !one.is_empty()))
            .map(|(_, all)| (phase, all.as_slice()))
    };
    let mut phases: Vec<_> = if get(RequestPhase::InsertToIssue).is_some() {
        [RequestPhase::QueueToInsert, RequestPhase::InsertToIssue]
            .into_iter()
            .filter_map(get)
            .collect()
    } else {
        get(RequestPhase::QueueToIssue).into_iter().collect()
    };
    phases.extend(get(RequestPhase::IssueToComplete));
    if phases.is_empty() {
        phases.extend(get(RequestPhase::QueueToComplete));
    }
    phases
}

pub(super) fn phases(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let all = chosen(cells, options);
    let found = all.iter().find(|(_, one)| !drawn_phases(one).is_empty());
    let (cell, observed) = *found.ok_or(LACKS)?;
    let phases = drawn_phases(observed);
    let intervals = phases.iter().map(|(_, all)| all.len()).max().unwrap_or(1);
    let columns = intervals.clamp(1, COLUMNS);
    let column_of = |interval: usize| interval * columns / intervals;
    // By phase, row and column.
    let mut counts: BTreeMap<(usize, usize, usize), u64> = BTreeMap::new();
    let mut sums = vec![0u64; phases.len() * columns];
    let mut scratch = Histogram::new();
    for (number, (_, all)) in phases.iter().enumerate() {
        for (interval, packed) in all.iter().enumerate() {
            scratch.clear();
            packed.add_to(&mut scratch);
            let column = column_of(interval);
            sums[number * columns + column] += scratch.count();
            for (bucket, n) in scratch.indexed() {
                *counts
                    .entry((number, bucket / BUCKETS_A_BAND, column))
                    .or_default() += n;
            }
        }
    }
    let bands = counts.keys().map(|(_, band, _)| *band);
    let (lowest, highest) = (bands.clone().min().unwrap_or(0), bands.max().unwrap_or(0));
    let rows = highest - lowest + 1;
    let mut values = vec![None; phases.len() * rows * columns];
    for ((number, band, column), n) in counts {
        let sum = sums[number * columns + column].max(1);
        values[(number * rows + band - lowest) * columns + column] =
            Some(100.0 * n as f64 / sum as f64);
    }
    let edge = |band: usize| {
        bucket_range((band * BUCKETS_A_BAND).min(BUCKETS - 1))
            .0
            .max(1) as f64
    };
    let (low, high) = (edge(lowest), edge(highest + 1));
    let end = (observed.interval.get() * intervals as u64).max(1) as f64;
    let mut notes = vec![
        "Light: large share of the column's requests. Dark: small share. Blank: none.".to_owned(),
    ];
    notes.extend(omitted_but(&all, cell));
    Ok(Chart {
        title: "Latency of requests by phase".to_owned(),
        subtitle: label(cell, &all),
        panels: if phases.len() > 1 {
            phases
                .iter()
                .map(|(phase, _)| phase.text().into())
                .collect()
        } else {
            Vec::new()
        },
        x: time_axis(end),
        y: vec![ChartAxis {
            title: match phases.as_slice() {
                [(phase, _)] => format!("Latency, {}", phase.text()),
                _ => "Latency".to_owned(),
            },
            unit: Quantity::Latency.unit(low, high, true),
            scale: AxisScale::Log(10),
            from: Some(low),
            to: Some(high),
        }],
        body: ChartBody::Grid(ChartGrid {
            title: "Requests of the column".into(),
            unit: Quantity::Percent.unit(0.0, 100.0, false),
            columns,
            rows,
            values,
            solid: false,
            log: true,
        }),
        notes,
        ..Chart::default()
    })
}

/// The note on the jobs that are not this one.
fn omitted_but(all: &[(&JobFigures, &ObservedIo)], drawn: &JobFigures) -> Option<String> {
    let mut others: Vec<_> = all.to_vec();
    others.sort_by_key(|(cell, _)| !std::ptr::eq(*cell, drawn));
    omitted(&others, 1)
}

pub(super) fn offsets(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let all = chosen(cells, options);
    if all.is_empty() {
        return Err(LACKS);
    }
    let (cell, offsets): (&JobFigures, &ObservedOffsets) = all
        .iter()
        .find_map(|(cell, one)| Some((*cell, one.offsets.as_ref()?)))
        .filter(|(_, offsets)| offsets.rows > 0 && !offsets.counts.is_empty())
        .ok_or(NO_OFFSETS)?;
    let rows = offsets.rows as usize;
    let columns = offsets.counts.len() / rows;
    let at = |place: usize| offsets.counts[place % columns * rows + place / columns];
    let values = (0..rows * columns)
        .map(|place| (at(place) > 0).then(|| at(place) as f64))
        .collect();
    let (low, high) = (
        offsets.first_byte as f64,
        (offsets.first_byte + offsets.rows * offsets.row_bytes) as f64,
    );
    let mut notes = vec![format!(
        "A row is {} of the device, a column {}. Blank: no request.",
        bytes(offsets.row_bytes),
        crate::figures::duration(offsets.column.get() as f64),
    )];
    notes.extend(omitted_but(&all, cell));
    Ok(Chart {
        title: "Requests by offset on the device, over time".to_owned(),
        subtitle: label(cell, &all),
        x: time_axis((offsets.column.get() * columns as u64) as f64),
        y: vec![ChartAxis {
            title: "Offset".into(),
            unit: Quantity::Bytes.unit(low, high, false),
            scale: AxisScale::Linear,
            from: Some(low),
            to: Some(high),
        }],
        body: ChartBody::Grid(ChartGrid {
            title: "Requests".into(),
            unit: Quantity::Plain.unit(0.0, 1.0, false),
            columns,
            rows,
            values,
            solid: false,
            log: true,
        }),
        notes,
        ..Chart::default()
    })
}

pub(super) fn sizes(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let mut all = chosen(cells, options);
    all.retain(|(_, one)| !one.request_sizes.is_empty());
    if all.is_empty() {
        return Err(LACKS);
    }
    let shown = &all[..all.len().min(PANELS)];
    let seen =
        |kind: fn(&ObservedIo) -> &[(u64, u64)]| shown.iter().flat_map(move |(_, one)| kind(one));
    let of_bios: fn(&ObservedIo) -> &[(u64, u64)] = |one| &one.bio_sizes;
    let of_requests: fn(&ObservedIo) -> &[(u64, u64)] = |one| &one.request_sizes;
    let mut places: Vec<u64> = seen(of_bios)
        .chain(seen(of_requests))
        .map(|s| s.0)
        .collect();
    places.sort_unstable();
    places.dedup();
    let by_powers = places.len() > SIZES;
    let class = |size: u64| {
        if by_powers {
            size.next_power_of_two()
        } else {
            size
        }
    };
    if by_powers {
        places = places.into_iter().map(class).collect();
        places.dedup();
    }
    let mut series = Vec::new();
    for (panel, (_, one)) in shown.iter().enumerate() {
        for (colour, (name, sizes)) in [("bios", of_bios(one)), ("requests", of_requests(one))]
            .into_iter()
            .enumerate()
        {
            let total: u64 = sizes.iter().map(|(_, n)| n).sum();
            let mut shares = vec![0u64; places.len()];
            for (size, n) in sizes {
                if let Ok(place) = places.binary_search(&class(*size)) {
                    shares[place] += n;
                }
            }
            let points: Vec<(f64, f64)> = shares
                .iter()
                .enumerate()
                .filter(|(_, n)| **n > 0)
                .map(|(place, n)| (place as f64, 100.0 * *n as f64 / total.max(1) as f64))
                .collect();
            if !points.is_empty() {
                series.push(ChartSeries {
                    name: name.to_owned(),
                    shape: SeriesShape::Bars,
                    panel,
                    points,
                    colour,
                    ..ChartSeries::default()
                });
            }
        }
    }
    let mut notes: Vec<String> = omitted(&all, shown.len()).into_iter().collect();
    if by_powers {
        notes.insert(
            0,
            "A size stands for all above the one before it.".to_owned(),
        );
    }
    let labels: Vec<String> = shown.iter().map(|(cell, _)| label(cell, &all)).collect();
    Ok(Chart {
        title: "Sizes of bios and requests".to_owned(),
        subtitle: if labels.len() == 1 {
            labels[0].clone()
        } else {
            String::new()
        },
        panels: if labels.len() > 1 { labels } else { Vec::new() },
        x: ChartAxis {
            title: "Size".into(),
            scale: AxisScale::Names(places.iter().map(|size| bytes(*size)).collect()),
            ..ChartAxis::default()
        },
        y: vec![ChartAxis {
            title: "Share".into(),
            unit: Quantity::Percent.unit(0.0, 100.0, false),
            ..ChartAxis::default()
        }],
        body: ChartBody::Series(series),
        notes,
        ..Chart::default()
    })
}

pub(super) fn depth(cells: &[JobFigures], options: &ChartOptions) -> Result<Chart, ChartError> {
    let all = chosen(cells, options);
    if all.is_empty() {
        return Err(LACKS);
    }
    // The directions of a device have one depth.
    let mut devices: Vec<(String, &ObservedIo)> = Vec::new();
    for (cell, one) in all.iter().filter(|(_, one)| !one.depth.is_empty()) {
        if !devices.iter().any(|(_, known)| known.depth == one.depth) {
            let label = label(cell, &all);
            let device = label
                .rsplit_once(' ')
                .map_or(label.as_str(), |(device, _)| device);
            devices.push((device.to_owned(), one));
        }
    }
    if devices.is_empty() {
        return Err(NO_DEPTH);
    }
    let mean = |one: &ObservedIo| one.depth.iter().sum::<u64>() / one.depth.len().max(1) as u64;
    devices.sort_by_key(|(_, one)| std::cmp::Reverse(mean(one)));
    let most = if options.is_complete {
        usize::MAX
    } else {
        LINES
    };
    let mut notes = Vec::new();
    if devices.len() > most {
        let names: Vec<&str> = devices[most..].iter().map(|one| one.0.as_str()).collect();
        notes.push(format!("Omitted: {}.", names.join(", ")));
        devices.truncate(most);
    }
    let largest: Vec<String> = devices
        .iter()
        .map(|(name, one)| format!("{name} {}", count(one.largest_depth.into())))
        .collect();
    notes.insert(0, format!("Largest depth: {}.", largest.join(", ")));
    let series: Vec<ChartSeries> = devices
        .iter()
        .enumerate()
        .map(|(colour, (name, one))| ChartSeries {
            name: name.clone(),
            shape: SeriesShape::Thin,
            points: one
                .depth
                .iter()
                .enumerate()
                .map(|(interval, depth)| {
                    let middle = (interval as f64 + 0.5) * one.interval.get() as f64;
                    (middle, *depth as f64 / 1e3)
                })
                .collect(),
            colour,
            ..ChartSeries::default()
        })
        .collect();
    let end = devices
        .iter()
        .map(|(_, one)| one.interval.get() * one.depth.len() as u64)
        .max()
        .unwrap_or(1);
    Ok(Chart {
        title: "Requests in the device over time".to_owned(),
        subtitle: if let [(name, _)] = devices.as_slice() {
            name.clone()
        } else {
            String::new()
        },
        x: time_axis(end as f64),
        y: vec![ChartAxis {
            title: "Requests with the driver".into(),
            ..ChartAxis::default()
        }],
        body: ChartBody::Series(series),
        notes,
        ..Chart::default()
    })
}
