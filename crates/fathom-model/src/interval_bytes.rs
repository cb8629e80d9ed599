//! Intervals as bytes, for the spill file of a long run and for stored results: the format never changes.

use crate::histogram::{pull_number, push_number};
use crate::{Interval, IntervalDirection, Nanos, PerDirection, SparseHistogram};

impl Interval {
    /// Appends this interval to `into`: numbers of variable length, some hundred bytes where I/O was done.
    pub fn encode(&self, into: &mut Vec<u8>) {
        push_number(into, self.start.get());
        push_number(into, self.length.get());
        for part in &self.directions.0 {
            [part.ios, part.bytes, part.bad]
                .into_iter()
                .for_each(|number| push_number(into, number));
            part.clat.encode(into);
            part.response.encode(into);
        }
    }

    /// Reads one interval from the front of `from`; `None` if it is incomplete.
    #[must_use]
    pub fn decode(from: &mut &[u8]) -> Option<Interval> {
        let (start, length) = (
            Nanos::new(pull_number(from)?),
            Nanos::new(pull_number(from)?),
        );
        let mut directions = PerDirection::default();
        for part in &mut directions.0 {
            *part = IntervalDirection {
                ios: pull_number(from)?,
                bytes: pull_number(from)?,
                bad: pull_number(from)?,
                clat: SparseHistogram::decode(from)?,
                response: SparseHistogram::decode(from)?,
            };
        }
        Some(Interval {
            start,
            length,
            directions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Histogram, LARGEST_NS};

    fn full() -> Interval {
        let mut clat = Histogram::new();
        [0, 255, 70_000, 70_000, LARGEST_NS, u64::MAX]
            .into_iter()
            .for_each(|value| clat.record(value));
        let part = IntervalDirection {
            ios: 6,
            bytes: u64::MAX,
            bad: 1,
            clat: SparseHistogram::pack(&clat),
            ..Default::default()
        };
        let mut directions = PerDirection::default();
        directions[Direction::Write] = part;
        Interval {
            start: Nanos::from_secs(86_400),
            length: Nanos::from_millis(100),
            directions,
        }
    }

    #[test]
    fn intervals_round_trip_and_truncated_ones_are_refused() {
        let mut bytes = Vec::new();
        [full(), full()]
            .iter()
            .for_each(|interval| interval.encode(&mut bytes));
        let mut rest = &bytes[..];
        for _ in 0..2 {
            let back = Interval::decode(&mut rest).expect("a complete interval");
            assert_eq!((back.start, back.length), (full().start, full().length));
            let (a, b) = (
                &back.directions[Direction::Write],
                &full().directions[Direction::Write],
            );
            assert_eq!((a.ios, a.bytes, a.bad), (b.ios, b.bytes, b.bad));
            assert_eq!(a.clat.unpack(), b.clat.unpack());
            assert_eq!(
                back.directions[Direction::Read].clat.unpack(),
                Histogram::new()
            );
        }
        assert!(rest.is_empty());
        for cut in 0..bytes.len() / 2 {
            assert!(Interval::decode(&mut &bytes[..cut]).is_none(), "{cut}");
        }
        // Numbers that never end.
        assert!(Interval::decode(&mut &[0xff; 400][..]).is_none());
    }
}
