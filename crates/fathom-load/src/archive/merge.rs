//! Merges neighbouring intervals, so that a long run stores a bounded number of them.

use fathom_model::{Direction, Histogram, Interval, SparseHistogram};

/// Merges intervals that start within the same `step` nanoseconds since the epoch.
pub(crate) fn merge_neighbours(intervals: &mut Vec<Interval>, step: u64) {
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len() / 2 + 1);
    for interval in intervals.drain(..) {
        match merged.last_mut() {
            Some(last) if last.start.get() / step == interval.start.get() / step => {
                absorb(last, &interval);
            }
            _ => merged.push(interval),
        }
    }
    *intervals = merged;
}

fn absorb(into: &mut Interval, other: &Interval) {
    into.length += other.length;
    for direction in Direction::ALL {
        let (mine, theirs) = (
            &mut into.directions[direction],
            &other.directions[direction],
        );
        mine.ios += theirs.ios;
        mine.bytes += theirs.bytes;
        mine.bad += theirs.bad;
        mine.clat = sum(&mine.clat, &theirs.clat);
        mine.response = sum(&mine.response, &theirs.response);
    }
}

fn sum(a: &SparseHistogram, b: &SparseHistogram) -> SparseHistogram {
    let mut both: Histogram = a.unpack();
    b.add_to(&mut both);
    SparseHistogram::pack(&both)
}
