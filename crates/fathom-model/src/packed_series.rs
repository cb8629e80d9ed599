//! Intervals of an entry in few bytes, for results that wait until they are written.

use crate::histogram::{pull_number, push_number};
use crate::{Direction, MergedInterval, MergedIntervalDirection, Nanos, SparseHistogram};

/// The intervals of an entry as variable-length numbers; figures that are zero or unknown take no space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedSeries(Box<[u8]>);

impl PackedSeries {
    /// Packs `series`.
    #[must_use]
    pub fn pack(series: &[MergedInterval]) -> Self {
        let mut bytes = Vec::new();
        let (mut expected, mut length) = (0u64, 0u64);
        for one in series {
            // Most intervals follow the one before and are as long.
            push_number(&mut bytes, one.start.get().wrapping_sub(expected));
            push_number(&mut bytes, one.length.get().wrapping_sub(length));
            length = one.length.get();
            expected = one.start.get().wrapping_add(length);
            for direction in &one.directions.0 {
                push_direction(&mut bytes, direction);
            }
        }
        PackedSeries(bytes.into_boxed_slice())
    }

    /// The series that was packed.
    #[must_use]
    pub fn unpack(&self) -> Vec<MergedInterval> {
        let mut rest = &self.0[..];
        let (mut expected, mut length) = (0u64, 0u64);
        let mut series = Vec::new();
        while let Some(start) = pull_number(&mut rest) {
            let mut next = || pull_number(&mut rest).expect("an interval is complete");
            let start = start.wrapping_add(expected);
            length = length.wrapping_add(next());
            expected = start.wrapping_add(length);
            let mut one = MergedInterval {
                start: Nanos::new(start),
                length: Nanos::new(length),
                ..MergedInterval::default()
            };
            for direction in Direction::ALL {
                one.directions[direction] = pull_direction(&mut rest);
            }
            series.push(one);
        }
        series
    }
}

/// The presence bit of the latencies, between those of the numbers.
const LATENCIES: u64 = 1 << 7;

fn push_direction(bytes: &mut Vec<u8>, one: &MergedIntervalDirection) {
    let count = |n: u64| (n > 0).then_some(n);
    let numbers = [
        count(one.ios),
        count(one.bytes),
        count(one.bad),
        one.p50,
        one.p99,
        one.max,
        one.mean,
        None,
        one.slat,
        one.lat,
    ];
    let known = (0..)
        .zip(numbers)
        .filter(|(_, number)| number.is_some())
        .fold(0, |mask, (bit, _)| mask | 1 << bit);
    let latencies = if one.latencies.is_empty() {
        0
    } else {
        LATENCIES
    };
    push_number(bytes, known | latencies);
    for number in numbers.into_iter().flatten() {
        push_number(bytes, number);
    }
    if latencies > 0 {
        one.latencies.encode(bytes);
    }
}

fn pull_direction(rest: &mut &[u8]) -> MergedIntervalDirection {
    let mask = pull_number(rest).expect("a direction has a mask");
    let numbers = mask & !LATENCIES;
    let [ios, bytes, bad, p50, p99, max, mean, _, slat, lat] = std::array::from_fn(|bit| {
        (numbers & 1 << bit > 0).then(|| pull_number(rest).expect("a known number follows"))
    });
    MergedIntervalDirection {
        ios: ios.unwrap_or(0),
        bytes: bytes.unwrap_or(0),
        bad: bad.unwrap_or(0),
        p50,
        p99,
        max,
        mean,
        slat,
        lat,
        latencies: if mask & LATENCIES > 0 {
            SparseHistogram::decode(rest).expect("latencies follow")
        } else {
            SparseHistogram::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    /// Every combination of known and unknown figures, with gaps, overlaps and the largest numbers.
    #[test]
    fn a_series_is_unchanged_after_packing() {
        let some =
            |n: u64, bit: u32| (n >> bit & 1 == 1).then_some(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let direction = |n: u64| {
            let mut latencies = Histogram::new();
            for value in 0..n % 5 {
                latencies.record(value * 1000 * n);
            }
            MergedIntervalDirection {
                ios: n % 3 * (u64::MAX / 2),
                bytes: n % 2 * 4096,
                bad: n / 100,
                p50: some(n, 0),
                p99: some(n, 1),
                max: some(n, 2),
                mean: if n.is_multiple_of(7) {
                    Some(0)
                } else {
                    some(n, 3)
                },
                slat: some(n, 4),
                lat: some(n, 5),
                latencies: SparseHistogram::pack(&latencies),
            }
        };
        let mut series: Vec<MergedInterval> = (0..1000)
            .map(|n| {
                let mut one = MergedInterval {
                    start: Nanos::from_millis(n * 250),
                    length: Nanos::from_millis(250 - n % 90 / 89),
                    ..MergedInterval::default()
                };
                for (shift, place) in (0..).zip(Direction::ALL) {
                    one.directions[place] = direction(n >> shift);
                }
                one
            })
            .collect();
        series[700].start = Nanos::new(u64::MAX);
        series[701].start = Nanos::ZERO;
        assert_eq!(PackedSeries::pack(&series).unpack(), series);
        assert!(PackedSeries::default().unpack().is_empty());
    }

    #[test]
    fn intervals_of_a_log_with_means_need_few_bytes() {
        let series: Vec<MergedInterval> = (0..1000)
            .map(|n| {
                let mut one = MergedInterval {
                    start: Nanos::from_millis(n * 250),
                    length: Nanos::from_millis(250),
                    ..MergedInterval::default()
                };
                one.directions[Direction::Read] = MergedIntervalDirection {
                    ios: 20_000 + n,
                    bytes: (20_000 + n) * 4096,
                    mean: Some(90_000 + n),
                    ..MergedIntervalDirection::default()
                };
                one
            })
            .collect();
        let size = PackedSeries::pack(&series).0.len();
        assert!(size < 20_000, "{size}");
    }
}
