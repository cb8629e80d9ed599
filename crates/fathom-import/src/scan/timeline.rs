//! The data of logs in steps of equal length. A step without a row is zero: fio writes no row if
//! nothing completed.

use fathom_model::{
    Direction, Histogram, MergedInterval, MergedIntervalDirection, Nanos, PerDirection,
    SparseHistogram,
};

/// A row this close to the edge of a step is moved to the edge: fio's timer is a few milliseconds
/// late.
const NEAR: f64 = 0.05;
/// Rows are rounded down, so less than this share of the usual amount may be missing by rounding.
const LEAST_MISSING: f64 = 0.1;
/// More than this share of the usual amount cannot have completed in the last window.
const MOST_MISSING: f64 = 2.0;

/// One step of one direction.
#[derive(Clone, Debug, Default)]
pub struct LogStep {
    /// I/Os that completed.
    pub ios: f64,
    /// Their bytes.
    pub bytes: f64,
    /// Mean of the known completion latencies, with its weight.
    pub clat: Mean,
    /// The same of total latencies.
    pub lat: Mean,
    /// The same of submission latencies.
    pub slat: Mean,
    /// Distribution of the latencies, if each is known.
    pub latencies: SparseHistogram,
}

/// A weighted mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    /// `None` without a value.
    #[must_use]
    pub fn get(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }

    fn join(&mut self, other: Mean) {
        self.sum += other.sum;
        self.weight += other.weight;
    }
}

/// Steps from `origin` on, three directions.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Its start, in the log's own milliseconds.
    origin: u64,
    /// Length of a step, milliseconds.
    step: u64,
    /// Limit of steps; beyond it the steps become twice as long.
    largest: usize,
    /// End of the last row, since `origin`.
    end: u64,
    /// End of the last row that counts the I/Os of its window; 0 if there is none.
    counted_end: u64,
    cells: PerDirection<Vec<LogStep>>,
    /// Times in which I/Os completed that no row counts.
    tails: PerDirection<Vec<Tail>>,
}

/// The time between the last row that counts I/Os and the end of a job: fio writes no such row for
/// its last window, unless it is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// Its beginning and end, milliseconds since the origin.
    pub from: u64,
    pub to: u64,
    /// I/Os (or bytes, if no log counts I/Os) at the usual rate of the job.
    pub usual: f64,
}

impl Timeline {
    pub(crate) fn new(origin: u64, step: u64, largest: usize) -> Self {
        Timeline {
            origin,
            step: step.max(1),
            largest: largest.max(1),
            end: 0,
            counted_end: 0,
            cells: PerDirection::default(),
            tails: PerDirection::default(),
        }
    }

    /// Length of a step in milliseconds.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Milliseconds from its beginning to its last row.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Milliseconds since the origin.
    pub(crate) fn since_origin(&self, at: u64) -> u64 {
        at.saturating_sub(self.origin)
    }

    /// Notes that a row counts the I/Os until `end`, milliseconds since the origin.
    pub(crate) fn count_until(&mut self, end: u64) {
        self.counted_end = self.counted_end.max(end);
    }

    pub(crate) fn add_tail(&mut self, direction: Direction, tail: Tail) {
        self.tails[direction].push(tail);
    }

    /// I/Os of each step, or their bytes if no log counts I/Os.
    #[must_use]
    pub fn amounts(&self, direction: Direction) -> Vec<f64> {
        let cells = &self.cells[direction];
        if cells.iter().any(|cell| cell.ios > 0.0) {
            cells.iter().map(|cell| cell.ios).collect()
        } else {
            cells.iter().map(|cell| cell.bytes).collect()
        }
    }

    /// Reconciles the end of the rows with the I/Os and bytes of the summary: what is missing
    /// completed in the tails. Returns whether it is known how much that was.
    pub fn fill_tails(&mut self, direction: Direction, ios: u64, bytes: u64) -> bool {
        let end = self.end;
        let is_left = |tail: &Tail| self.snapped(tail.from) < self.snapped(end);
        let tails: Vec<Tail> = self.tails[direction]
            .iter()
            .filter(|tail| is_left(tail))
            .map(|tail| Tail {
                to: tail.to.min(end),
                ..*tail
            })
            .collect();
        let usual: f64 = tails.iter().map(|tail| tail.usual).sum();
        if usual <= 0.0 {
            return tails.is_empty();
        }
        let counted = self.cells[direction].iter().any(|cell| cell.ios > 0.0);
        let rows: f64 = self.amounts(direction).iter().sum();
        let total = if counted { ios } else { bytes } as f64;
        let missing = total - rows;
        if missing < usual * LEAST_MISSING {
            return false;
        }
        // If more is missing, the rows themselves lost I/Os: only the usual amount is filled in.
        let filled = if missing <= usual * MOST_MISSING {
            missing
        } else {
            usual
        };
        let bytes_each = if counted {
            bytes as f64 / (ios as f64).max(1.0)
        } else {
            1.0
        };
        let sized = self.cells[direction].iter().any(|cell| cell.bytes > 0.0);
        for tail in tails {
            let amount = filled * tail.usual / usual;
            let length = tail.to.saturating_sub(tail.from).max(1);
            self.share(
                direction,
                tail.to + self.origin,
                length,
                &mut |cell, _, part| {
                    cell.ios += if counted { amount * part } else { 0.0 };
                    cell.bytes += if sized {
                        amount * part * bytes_each
                    } else {
                        0.0
                    };
                },
            );
        }
        true
    }

    /// Ends the line at the last step in which I/Os were counted, if that is at most `window` ms
    /// before its end: nothing is known about the rest.
    pub fn end_at_last_count(&mut self, window: u64) {
        let steps = |cells: &Vec<LogStep>| {
            cells
                .iter()
                .rposition(|cell| cell.ios > 0.0 || cell.bytes > 0.0)
                .map_or(0, |last| last as u64 + 1)
        };
        let mut last = self.cells.0.iter().map(steps).max().unwrap_or(0) * self.step;
        // The last of these steps may be counted in part.
        let counted_end = self.snapped(self.counted_end);
        if counted_end < last && last < counted_end + self.step {
            last = counted_end;
        }
        let rest = self.end.saturating_sub(last);
        if last > 0 && rest > 0 && rest <= window + self.near() {
            self.end = last;
        }
    }

    fn near(&self) -> u64 {
        (self.step as f64 * NEAR) as u64
    }

    /// Distributes the window of `window` ms that ends `at` over the steps that it overlaps: calls
    /// `add` with each step and its share.
    pub(crate) fn share(
        &mut self,
        direction: Direction,
        at: u64,
        window: u64,
        add: &mut dyn FnMut(&mut LogStep, u64, f64),
    ) {
        let to = self.snapped(at.saturating_sub(self.origin));
        let from = self.snapped(to.saturating_sub(window.max(1)));
        let (to, length) = (to.max(from + 1), (to.max(from + 1) - from) as f64);
        self.reach(to);
        let step = self.step;
        let cells = &mut self.cells[direction];
        let last = ((to - 1) / step) as usize;
        if cells.len() <= last {
            cells.resize(last + 1, LogStep::default());
        }
        for index in from / step..=last as u64 {
            let (begin, end) = (from.max(index * step), to.min((index + 1) * step));
            add(
                &mut cells[index as usize],
                index * step,
                (end - begin) as f64 / length,
            );
        }
    }

    /// The step that contains `at`.
    pub(crate) fn at(&mut self, direction: Direction, at: u64) -> &mut LogStep {
        let at = at.saturating_sub(self.origin);
        self.reach(at + 1);
        let (step, cells) = (self.step, &mut self.cells[direction]);
        let index = (at / step) as usize;
        if cells.len() <= index {
            cells.resize(index + 1, LogStep::default());
        }
        &mut cells[index]
    }

    /// Whether a step of this direction has anything.
    #[must_use]
    pub fn used(&self, direction: Direction) -> bool {
        !self.cells[direction].is_empty()
    }

    /// The steps of this direction, from the origin.
    #[must_use]
    pub fn cells(&self, direction: Direction) -> &[LogStep] {
        &self.cells[direction]
    }

    /// A number of milliseconds, moved to the nearest edge of a step if it is close.
    pub(crate) fn snapped(&self, at: u64) -> u64 {
        let near = self.near();
        let over = at % self.step;
        match over {
            over if over <= near => at - over,
            over if self.step - over <= near => at + (self.step - over),
            _ => at,
        }
    }

    /// Makes the steps longer until `end` fits.
    fn reach(&mut self, end: u64) {
        self.end = self.end.max(end);
        while end.div_ceil(self.step) > self.largest as u64 {
            self.double();
        }
    }

    fn double(&mut self) {
        self.step *= 2;
        for cells in &mut self.cells.0 {
            let pairs = cells
                .chunks(2)
                .map(|pair| pair.iter().skip(1).fold(pair[0].clone(), joined));
            *cells = pairs.collect();
        }
    }

    /// Adds `other`, which has the same start.
    pub(crate) fn merge(&mut self, mut other: Timeline) {
        while other.step < self.step {
            other.double();
        }
        while self.step < other.step {
            self.double();
        }
        self.end = self.end.max(other.end);
        self.count_until(other.counted_end);
        for (mine, theirs) in self.tails.0.iter_mut().zip(other.tails.0) {
            mine.extend(theirs);
        }
        for (mine, theirs) in self.cells.0.iter_mut().zip(other.cells.0) {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), LogStep::default());
            }
            for (mine, theirs) in mine.iter_mut().zip(&theirs) {
                *mine = joined(std::mem::take(mine), theirs);
            }
        }
    }

    /// Converts latencies in microseconds to nanoseconds.
    pub fn in_nanoseconds(&mut self) {
        for cell in self.cells.0.iter_mut().flatten() {
            cell.clat.sum *= 1e3;
            cell.lat.sum *= 1e3;
            cell.slat.sum *= 1e3;
            let mut longer = Histogram::new();
            cell.latencies
                .unpack()
                .buckets()
                .for_each(|(middle, n)| longer.record_n((middle * 1e3) as u64, n));
            cell.latencies = SparseHistogram::pack(&longer);
        }
    }

    /// The moments of the whole length, without gaps. Fractions of I/Os are carried to the next
    /// moment, so that the total is exact.
    #[must_use]
    pub fn moments(&self) -> Vec<MergedInterval> {
        let mut carried = [(0.0, 0.0); 3];
        let count = self.end.div_ceil(self.step);
        let moment = |index: u64| {
            let start = index * self.step;
            let length = self.step.min(self.end - start);
            let directions = PerDirection::from_fn(|direction| {
                let cell = self.cells[direction].get(index as usize);
                cell.map_or_else(MergedIntervalDirection::default, |cell| {
                    one(cell, &mut carried[direction as usize])
                })
            });
            MergedInterval {
                start: Nanos::from_millis(start),
                length: Nanos::from_millis(length),
                directions,
            }
        };
        (0..count).map(moment).collect()
    }
}

fn joined(mut sum: LogStep, other: &LogStep) -> LogStep {
    sum.ios += other.ios;
    sum.bytes += other.bytes;
    sum.clat.join(other.clat);
    sum.lat.join(other.lat);
    sum.slat.join(other.slat);
    if sum.latencies.is_empty() {
        sum.latencies = other.latencies.clone();
    } else if !other.latencies.is_empty() {
        let mut both = sum.latencies.unpack();
        other.latencies.add_to(&mut both);
        sum.latencies = SparseHistogram::pack(&both);
    }
    sum
}

fn one(cell: &LogStep, (ios, bytes): &mut (f64, f64)) -> MergedIntervalDirection {
    let whole = |part: f64, carried: &mut f64| {
        *carried += part;
        let whole = carried.round();
        *carried -= whole;
        whole.max(0.0) as u64
    };
    let spread = (!cell.latencies.is_empty()).then(|| cell.latencies.unpack());
    let percentile = |percent| {
        spread
            .as_ref()
            .and_then(|spread| spread.percentile(percent))
            .map(|ns| ns.round() as u64)
    };
    let mean = cell
        .clat
        .get()
        .or(cell.lat.get())
        .or(spread.as_ref().map(Histogram::mean));
    MergedIntervalDirection {
        ios: whole(cell.ios, ios),
        bytes: whole(cell.bytes, bytes),
        bad: 0,
        p50: percentile(50.0),
        p99: percentile(99.0),
        max: spread.as_ref().and_then(Histogram::max).map(Nanos::get),
        mean: mean.map(|ns| ns.round() as u64),
        slat: cell.slat.get().map(|ns| ns.round() as u64),
        lat: cell.lat.get().map(|ns| ns.round() as u64),
        latencies: cell.latencies.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: Direction = Direction::Read;

    fn counts(line: &Timeline) -> Vec<u64> {
        line.moments()
            .iter()
            .map(|moment| moment.directions[R].ios)
            .collect()
    }

    #[test]
    fn a_step_without_a_row_is_zero() {
        let mut line = Timeline::new(0, 250, 100);
        for at in [250, 1001, 1249] {
            line.share(R, at, 250, &mut |cell, _, part| cell.ios += 10.0 * part);
        }
        assert_eq!(counts(&line), [10, 0, 0, 10, 10]);
    }

    #[test]
    fn windows_across_an_edge_are_split_without_loss() {
        let mut line = Timeline::new(0, 100, 100);
        line.share(R, 250, 100, &mut |cell, _, part| cell.ios += 7.0 * part);
        assert_eq!(counts(&line), [0, 4, 3]);
        let mut long = Timeline::new(0, 100, 4);
        for at in 1..=1000 {
            long.share(R, at * 100 + at % 90, 100, &mut |cell, _, part| {
                cell.ios += 3.3 * part;
            });
        }
        assert!(long.moments().len() <= 4, "{}", long.moments().len());
        assert_eq!(counts(&long).iter().sum::<u64>(), 3300);
    }

    #[test]
    fn jobs_add_up_though_their_steps_differ() {
        let (mut one, mut other) = (Timeline::new(0, 100, 1000), Timeline::new(0, 100, 2));
        for at in 1..=4 {
            one.share(R, at * 100, 100, &mut |cell, _, part| cell.ios += part);
            other.share(R, at * 100, 100, &mut |cell, _, part| cell.ios += part);
        }
        one.merge(other);
        assert_eq!((one.step(), counts(&one)), (200, vec![4, 4]));
    }

    /// A mean of I/Os, not of means: one I/O of 100 and three of 20 have a mean of 40.
    #[test]
    fn means_are_weighted_by_their_number() {
        let mut mean = Mean::default();
        mean.add(100.0, 1.0);
        mean.add(20.0, 3.0);
        assert_eq!(mean.get(), Some(40.0));
    }
}
