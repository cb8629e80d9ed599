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
    let seconds = seconds(series)?;
    let rates: Vec<f64> = seconds.iter().map(Second::rate).collect();
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let deviation = if mean > 0.0 {
        variance.sqrt() / mean
    } else {
        0.0
    };
    let range = rates
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), rate| {
            (low.min(*rate), high.max(*rate))
        });
    let whole = |rate: f64| count(rate.round() as u64);
    let sentence = format!(
        "{cell}: steadiness {} of 100; the standard deviation of its {} seconds is {} of their mean of {} IOPS, the slowest has {}, the fastest {}.",
        (100.0 * (1.0 - deviation)).max(0.0).round(),
        rates.len(),
        percent(100.0 * deviation),
        whole(mean),
        whole(range.0),
        whole(range.1)
    );
    let each = seconds.len().div_ceil(SLICES).max(1);
    Some(CellTimeline {
        cell: cell.to_owned(),
        mean,
        deviation,
        range,
        sentence,
        slices: seconds.chunks(each).map(slice).collect(),
    })
}

/// A second of the cell. The last one also has the rest of the time.
#[derive(Clone, Default)]
struct Second {
    start: u64,
    length: u64,
    ios: f64,
    bytes: f64,
    latencies: Histogram,
}

impl Second {
    fn rate(&self) -> f64 {
        self.ios * SECOND as f64 / self.length as f64
    }
}

/// The seconds of a cell, including those without I/O; `None` for less than three. An interval that lies in several seconds
/// counts in each by its share, so that a stall is in the second in which it was. Its latencies are those of its first second.
fn seconds(series: &[MergedInterval]) -> Option<Vec<Second>> {
    let end_of = |moment: &MergedInterval| moment.start.get() + moment.length.get();
    let start = series.iter().map(|moment| moment.start.get()).min()?;
    let end = series.iter().map(end_of).max()?;
    let n = (end - start) / SECOND;
    if n < 3 {
        return None;
    }
    let mut seconds: Vec<Second> = (0..n)
        .map(|number| Second {
            start: start + number * SECOND,
            length: if number + 1 == n {
                end - start - number * SECOND
            } else {
                SECOND
            },
            ..Second::default()
        })
        .collect();
    for moment in series.iter().filter(|moment| moment.length > Nanos::ZERO) {
        let (from, to) = (moment.start.get(), end_of(moment));
        let first = ((from - start) / SECOND).min(n - 1) as usize;
        let (mut ios, mut bytes) = (0, 0);
        for (_, seen) in moment.directions.iter() {
            seen.latencies.add_to(&mut seconds[first].latencies);
            ios += seen.ios;
            bytes += seen.bytes;
        }
        for second in &mut seconds[first..] {
            let overlap = to
                .min(second.start + second.length)
                .saturating_sub(from.max(second.start));
            if overlap == 0 {
                break;
            }
            let share = overlap as f64 / moment.length.get() as f64;
            second.ios += ios as f64 * share;
            second.bytes += bytes as f64 * share;
        }
    }
    Some(seconds)
}

/// One or more whole seconds: a shorter part could have a lower rate than the slowest second.
fn slice(seconds: &[Second]) -> TimeSlice {
    let mut latencies = Histogram::new();
    let (mut ios, mut bytes, mut length) = (0.0, 0.0, 0);
    for second in seconds {
        latencies.merge(&second.latencies);
        ios += second.ios;
        bytes += second.bytes;
        length += second.length;
    }
    let time = length as f64 / SECOND as f64;
    TimeSlice {
        start: Nanos::new(seconds[0].start),
        iops: ios / time,
        bandwidth: bytes / time,
        p99: latencies.percentile(99.0).unwrap_or(0.0),
        max: latencies.max().map_or(0.0, |max| max.get() as f64),
    }
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
        assert_eq!(result.slices.len(), 3);
        assert_eq!(
            (result.slices[1].iops, result.slices[1].bandwidth),
            (100.0, 409_600.0)
        );
        assert!((result.slices[0].p99 / 1e6 - 1.0).abs() < 0.01);
    }

    /// Regression 0408: parts of half a second had no I/O beside a slowest second of 7,865, and a first interval that was
    /// shorter than the others moved each second, so that the second with a stall had I/O of 1.3 s.
    #[test]
    fn a_stall_counts_in_its_second_and_no_part_is_slower_than_the_slowest_second() {
        // 1,000 a second, but nothing from 0.2 s to 0.75 s; the first interval is 200 ms long.
        let interval = |start: u64, length: u64, ios: u64| MergedInterval {
            start: Nanos::from_millis(start),
            length: Nanos::from_millis(length),
            ..series(&[ios]).remove(0)
        };
        let mut all = vec![
            interval(300, 200, 200),
            interval(500, 500, 0),
            interval(1000, 500, 450),
        ];
        all.extend((3..9).map(|number| interval(number * 500, 500, 500)));
        let result = over_time("cover", &all).expect("four seconds");
        // The first second has 0.2 s at full rate, nothing for 0.5 s, and 0.3 s of the third interval.
        let first = 200.0 + 450.0 * 0.6;
        assert!((result.range.0 - first).abs() < 1.0, "{:?}", result.range);
        for slice in &result.slices {
            assert!(slice.iops >= result.range.0 - 0.01, "{slice:?}");
        }
        // All I/Os are in the parts.
        let sum: f64 = all
            .iter()
            .flat_map(|one| one.directions.iter())
            .map(|(_, seen)| seen.ios as f64)
            .sum();
        let mean = sum / 4.2;
        assert!((result.mean / mean - 1.0).abs() < 0.03, "{}", result.mean);
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
