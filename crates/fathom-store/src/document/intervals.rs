//! Histograms and intervals in documents: packed bytes, as the model packs them.

use fathom_model::{Histogram, Interval, IntervalDirection, SparseHistogram};
#[cfg(test)]
use fathom_model::{Nanos, PerDirection};

use super::kept::Kept;
use super::value::Value;
use super::{Names, Unreadable};

#[cfg(test)]
use super::dice::TestRng;

impl Kept for Histogram {
    fn keep(&self, _: &mut Names) -> Value {
        let mut bytes = Vec::new();
        SparseHistogram::pack(self).put(&mut bytes);
        Value::Bytes(bytes)
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        let Value::Bytes(bytes) = value else {
            return Err(Unreadable::wrong("Histogram"));
        };
        let mut rest = &bytes[..];
        match SparseHistogram::pull(&mut rest) {
            Some(histogram) if rest.is_empty() => Ok(histogram.unpack()),
            _ => Err(Unreadable::wrong("Histogram")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        let mut histogram = Histogram::new();
        (0..dice.below(20))
            .for_each(|_| histogram.record_n(dice.number(), 1 + dice.below(1000) as u64));
        histogram
    }
}

/// `intervals` one behind the other.
pub(crate) fn put_intervals(intervals: &[Interval]) -> Vec<u8> {
    let mut bytes = Vec::new();
    intervals
        .iter()
        .for_each(|interval| interval.put(&mut bytes));
    bytes
}

/// What [`put_intervals`] wrote; `None` when it is something else.
pub(crate) fn pull_intervals(bytes: &[u8]) -> Option<Vec<Interval>> {
    let mut rest = bytes;
    let mut intervals = Vec::new();
    while !rest.is_empty() {
        intervals.push(Interval::pull(&mut rest)?);
    }
    Some(intervals)
}

/// Packed as the model packs it. When an interval holds more one day, what is on disk stays as it is: the line below
/// does not compile then, and a second form is to be written beside this one.
impl Kept for Interval {
    fn keep(&self, _: &mut Names) -> Value {
        let Interval {
            start: _,
            length: _,
            directions,
        } = self;
        let [
            IntervalDirection {
                ios: _,
                bytes: _,
                bad: _,
                clat: _,
                response: _,
            },
            _,
            _,
        ] = &directions.0;
        let mut bytes = Vec::new();
        self.put(&mut bytes);
        Value::Bytes(bytes)
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        let Value::Bytes(bytes) = value else {
            return Err(Unreadable::wrong("Interval"));
        };
        let mut rest = &bytes[..];
        Interval::pull(&mut rest)
            .filter(|_| rest.is_empty())
            .ok_or_else(|| Unreadable::wrong("Interval"))
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        let directions = PerDirection::from_fn(|_| IntervalDirection {
            ios: dice.number(),
            bytes: dice.number(),
            bad: dice.number(),
            clat: SparseHistogram::pack(&Histogram::any(dice)),
            response: SparseHistogram::pack(&Histogram::any(dice)),
        });
        Interval {
            start: Nanos::any(dice),
            length: Nanos::any(dice),
            directions,
        }
    }
}
