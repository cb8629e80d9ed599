//! Steadiness of a cell by second, and its figures over time in at most twenty parts.

use fathom_model::{
    CellFigures, CellLatency, CellTimeline, Entry, Histogram, MergedInterval, Nanos, TimeSlice,
};

use crate::figures::{count, percent};

/// Length of the intervals that are compared: steadiness is usually quoted by second.
const SECOND: u64 = 1_000_000_000;
/// Limit of parts.
const SLICES: usize = 20;

/// The figures over time of the cell named `cell`; `None` for less than three seconds.
#[must_use]
pub fn over_time(cell: &str, series: &[MergedInterval]) -> Option<CellTimeline> {
    let seconds = seconds(series);
    if seconds.len() < 3 {
        return None;
    }
    let n = seconds.len() as f64;
    let mean = seconds.iter().sum::<f64>() / n;
    let variance = seconds
        .iter()
        .map(|rate| (rate - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    let deviation = if mean > 0.0 {
        variance.sqrt() / mean
    } else {
        0.0
    };
    let range = seconds
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), rate| {
            (low.min(*rate), high.max(*rate))
        });
    let whole = |rate: f64| count(rate.round() as u64);
    let sentence = format!(
        "{cell}: steadiness {} of 100; the standard deviation of its {} seconds is {} of their mean of {} IOPS, the slowest has {}, the fastest {}.",
        (100.0 * (1.0 - deviation)).max(0.0).round(),
        seconds.len(),
        percent(100.0 * deviation),
        whole(mean),
        whole(range.0),
        whole(range.1)
    );
    Some(CellTimeline {
        cell: cell.to_owned(),
        mean,
        deviation,
        range,
        sentence,
        slices: slices(series),
    })
}

/// I/Os of each whole second, including seconds without any.
fn seconds(series: &[MergedInterval]) -> Vec<f64> {
    let end = series
        .iter()
        .map(|moment| moment.start.get() + moment.length.get())
        .max()
        .unwrap_or(0);
    let start = series
        .iter()
        .map(|moment| moment.start.get())
        .min()
        .unwrap_or(0);
    let mut bins = vec![0.0; ((end - start) / SECOND) as usize];
    for moment in series.iter().filter(|moment| moment.length > Nanos::ZERO) {
        let place = moment.start.get() - start;
        // A merged interval counts equally in each of its seconds.
        let (from, spans) = (
            (place / SECOND) as usize,
            (moment.length.get() / SECOND).max(1) as usize,
        );
        let ios: u64 = moment.directions.iter().map(|(_, seen)| seen.ios).sum();
        for bin in bins.iter_mut().skip(from).take(spans) {
            *bin += ios as f64 / spans as f64;
        }
    }
    bins
}

fn slices(series: &[MergedInterval]) -> Vec<TimeSlice> {
    let each = series.len().div_ceil(SLICES).max(1);
    series.chunks(each).filter_map(slice).collect()
}

fn slice(moments: &[MergedInterval]) -> Option<TimeSlice> {
    let (first, last) = (moments.first()?, moments.last()?);
    let length = (last.start.get() + last.length.get()).saturating_sub(first.start.get());
    let mut latencies = Histogram::new();
    let (mut ios, mut bytes) = (0, 0);
    for (_, seen) in moments.iter().flat_map(|moment| moment.directions.iter()) {
        seen.latencies.add_to(&mut latencies);
        ios += seen.ios;
        bytes += seen.bytes;
    }
    let seconds = length as f64 / SECOND as f64;
    (seconds > 0.0).then(|| TimeSlice {
        start: first.start,
        iops: ios as f64 / seconds,
        bandwidth: bytes as f64 / seconds,
        p99: latencies.percentile(99.0).unwrap_or(0.0),
        max: latencies.max().map_or(0.0, |max| max.get() as f64),
    })
}

/// The figures of one entry instead of those of its whole cell.
#[must_use]
pub fn entry_figures(entry: &Entry, cell: &CellFigures) -> CellFigures {
    let busiest = entry
        .directions
        .iter()
        .map(|(_, summary)| summary)
        .max_by_key(|summary| summary.ios);
    let latency = busiest.map(|summary| summary.response.as_ref().unwrap_or(&summary.clat));
    let at = |wanted: f64| {
        let found = latency.and_then(|latency| {
            latency
                .percentiles
                .iter()
                .find(|(percent, _)| *percent == wanted)
        });
        found.map_or(0.0, |(_, value)| *value as f64)
    };
    CellFigures {
        iops: entry
            .directions
            .iter()
            .map(|(_, summary)| summary.iops)
            .sum(),
        bandwidth: entry
            .directions
            .iter()
            .map(|(_, summary)| summary.bandwidth)
            .sum(),
        latency: CellLatency {
            mean: latency.map_or(0.0, |latency| latency.mean),
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            p9999: at(99.99),
            max: latency.map_or(0.0, |latency| latency.max as f64),
        },
        ..cell.clone()
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Direction, MergedIntervalDirection, PerDirection, SparseHistogram};

    use super::*;

    /// Half-second intervals with so many I/Os of 1 ms each.
    fn series(ios: &[u64]) -> Vec<MergedInterval> {
        let moment = |(number, ios): (usize, &u64)| {
            let mut latencies = Histogram::new();
            latencies.record_n(1_000_000, *ios);
            let mut directions = PerDirection::<MergedIntervalDirection>::default();
            directions[Direction::Read] = MergedIntervalDirection {
                ios: *ios,
                bytes: ios * 4096,
                latencies: SparseHistogram::pack(&latencies),
                ..MergedIntervalDirection::default()
            };
            MergedInterval {
                start: Nanos::from_millis(500 * number as u64),
                length: Nanos::from_millis(500),
                directions,
            }
        };
        ios.iter().enumerate().map(moment).collect()
    }

    /// By hand: seconds of 90, 100, 110: mean 100, sd = 10, so 10 % and a steadiness of 90.
    #[test]
    fn three_seconds_by_hand() {
        let result = over_time("cover", &series(&[40, 50, 60, 40, 55, 55])).expect("three seconds");
        assert_eq!(
            (result.mean, result.deviation, result.range),
            (100.0, 0.1, (90.0, 110.0))
        );
        assert!(result.sentence.starts_with("cover: steadiness 90 of 100; the standard deviation of its 3 seconds is 10 % of their mean of 100 IOPS"), "{}", result.sentence);
        assert_eq!(result.slices.len(), 6);
        assert_eq!(
            (result.slices[1].iops, result.slices[1].bandwidth),
            (100.0, 409_600.0)
        );
        assert!((result.slices[0].p99 / 1e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_long_run_has_twenty_parts_and_a_short_one_none() {
        assert_eq!(
            over_time("x", &series(&[50; 400]))
                .expect("long")
                .slices
                .len(),
            20
        );
        assert_eq!(over_time("x", &series(&[50; 4])), None);
    }
}
