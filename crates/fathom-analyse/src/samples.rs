//! bw and iops samples: the rate of each window, and statistics of those rates.
//!
//! fio takes a sample every 500 ms (`bwavgtime`, `iopsavgtime`), skips windows without transfers,
//! drops the incomplete last one, and for a group adds the members' minima, maxima, means and
//! squared deviations.

use fathom_model::{Interval, Nanos, Samples};

/// fio ends a window up to this much early.
const SLACK: Nanos = Nanos::from_millis(1);
const DEFAULT_WINDOW: Nanos = Nanos::from_millis(500);

/// Rates per second of each full window, in units of `unit`, rounded down.
pub(crate) fn rates(
    intervals: &[Interval],
    window: Nanos,
    unit: u64,
    amount: impl Fn(&Interval) -> u64,
) -> Vec<u64> {
    let window = if window.is_zero() {
        DEFAULT_WINDOW
    } else {
        window
    };
    let (mut rates, mut spent, mut moved) = (Vec::new(), Nanos::ZERO, 0);
    for interval in intervals {
        spent += interval.length;
        moved += amount(interval);
        if spent + SLACK >= window {
            if moved > 0 {
                rates.push(per_second(moved, spent) / unit);
            }
            (spent, moved) = (Nanos::ZERO, 0);
        }
    }
    rates
}

fn per_second(amount: u64, time: Nanos) -> u64 {
    (u128::from(amount) * 1_000_000_000 / u128::from(time.get().max(1))) as u64
}

/// Sums of the statistics of several series of rates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    min: f64,
    max: f64,
    mean: f64,
    squares: f64,
    count: u64,
}

impl Tally {
    /// Adds one member's rates.
    pub(crate) fn add(&mut self, rates: &[u64]) {
        let (Some(min), Some(max)) = (rates.iter().min(), rates.iter().max()) else {
            return;
        };
        let mean = rates.iter().map(|r| *r as f64).sum::<f64>() / rates.len() as f64;
        self.min += *min as f64;
        self.max += *max as f64;
        self.mean += mean;
        self.squares += rates
            .iter()
            .map(|r| (*r as f64 - mean).powi(2))
            .sum::<f64>();
        self.count += rates.len() as u64;
    }

    /// Adds finished statistics, as fio does for `unified_rw_reporting=both`.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Samples>) -> Tally {
        parts.into_iter().fold(Tally::default(), |sum, part| Tally {
            min: sum.min + part.min,
            max: sum.max + part.max,
            mean: sum.mean + part.mean,
            squares: sum.squares + part.dev.powi(2) * part.count.saturating_sub(1) as f64,
            count: sum.count + part.count,
        })
    }

    /// The statistics.
    pub(crate) fn samples(&self) -> Samples {
        let dev = if self.count > 1 {
            (self.squares / (self.count - 1) as f64).sqrt()
        } else {
            0.0
        };
        Samples {
            min: self.min,
            max: self.max,
            mean: self.mean,
            dev,
            count: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Direction;

    fn intervals(ios: &[u64]) -> Vec<Interval> {
        let mut made = vec![
            Interval {
                length: Nanos::from_millis(100),
                ..Interval::default()
            };
            ios.len()
        ];
        made.iter_mut()
            .zip(ios)
            .for_each(|(i, n)| i.directions[Direction::Read].ios = *n);
        made
    }

    #[test]
    fn windows_of_half_a_second_without_idle_and_incomplete_ones() {
        let moved = [1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 99];
        let got = rates(&intervals(&moved), Nanos::from_millis(500), 1, |i| {
            i.directions[Direction::Read].ios
        });
        // 15 and 50 I/Os in 0.5 s.
        assert_eq!(got, [30, 100]);
    }

    #[test]
    fn a_window_is_stretched_by_a_short_first_interval() {
        let mut first = intervals(&[6; 6]);
        first[0].length = Nanos::from_millis(40);
        let got = rates(&first, Nanos::from_millis(500), 1, |i| {
            i.directions[Direction::Read].ios
        });
        // 36 in 540 ms.
        assert_eq!(got, [66]);
    }

    #[test]
    fn members_are_added_as_fio_adds_them() {
        let mut tally = Tally::default();
        tally.add(&[10, 20, 30]);
        tally.add(&[]);
        tally.add(&[100]);
        let s = tally.samples();
        assert_eq!((s.min, s.max, s.mean, s.count), (110.0, 130.0, 120.0, 4));
        // Squares 100 + 0 + 100, over 4 - 1.
        assert_eq!(s.dev, (200f64 / 3.0).sqrt());
    }
}
