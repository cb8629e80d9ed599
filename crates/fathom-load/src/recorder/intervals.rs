//! The closed intervals of a job: the newest as they are, older ones in the archive, or neighbours merged.

use fathom_model::{Direction, Interval, IntervalDirection, Nanos, PerDirection};

use crate::archive::{JobArchive, merge_neighbours};

/// Counts kept of intervals that were passed on: 90 KiB, full within two minutes at ten intervals a second.
const COUNTED: usize = 1024;

/// Intervals of one job, in order.
pub(crate) struct Intervals {
    recent: Vec<Interval>,
    /// What is known here of those that were passed on.
    passed_on: Vec<Counted>,
    shelf: Option<JobArchive>,
    most: usize,
    step: u64,
    /// Somebody is to have all that is known by then.
    keep_by: u64,
}

/// An interval without its histograms: 88 bytes.
#[derive(Clone, Copy, Debug)]
struct Counted {
    start: u64,
    length: u64,
    directions: [(u64, u64, u64); 3],
}

impl Intervals {
    /// Intervals of `step` nanoseconds, at most `most` of them in memory; `shelf` takes the others.
    pub fn new(step: u64, most: usize, shelf: Option<JobArchive>) -> Self {
        Intervals {
            recent: Vec::new(),
            passed_on: Vec::new(),
            shelf,
            most: most.max(2),
            step,
            keep_by: 0,
        }
    }

    /// How long an interval is now, nanoseconds.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Whether it is time that who keeps intervals hears of what is here alone.
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.keep_by
            && self
                .shelf
                .as_ref()
                .is_some_and(|shelf| shelf.kept_after().is_some())
    }

    /// Passes on what is here alone, and what the interval being filled holds `so_far`.
    pub fn hand_over(&mut self, now: u64, so_far: Option<Interval>) {
        if !self.recent.is_empty() {
            self.pass_on();
        }
        let Some(shelf) = &self.shelf else { return };
        self.keep_by = now + shelf.kept_after().unwrap_or_default();
        if let Some(so_far) = so_far {
            shelf.show(so_far);
        }
    }

    fn pass_on(&mut self) {
        let Some(shelf) = &self.shelf else { return };
        let counted = self.recent.iter().map(Counted::of).collect::<Vec<_>>();
        if shelf.take(&mut self.recent) {
            let end = counted.last().map_or(0, |last| last.start + last.length);
            self.keep_by = end + shelf.kept_after().unwrap_or_default();
            self.passed_on.extend(counted);
        }
    }

    /// Takes the next. Memory stays bounded whatever the length of the run.
    pub fn push(&mut self, interval: Interval) {
        self.recent.push(interval);
        if self
            .shelf
            .as_ref()
            .is_some_and(|shelf| self.recent.len() >= shelf.at_once)
        {
            self.pass_on();
        }
        if self.recent.len() >= self.most {
            self.step *= 2;
            merge_neighbours(&mut self.recent, self.step);
        }
        if self.passed_on.len() >= COUNTED {
            let pairs = self
                .passed_on
                .chunks(2)
                .map(|pair| pair.iter().skip(1).fold(pair[0], Counted::and));
            self.passed_on = pairs.collect();
        }
    }

    /// Forgets all: measuring begins anew. What the archive has began before that, and is left out when it comes back.
    pub fn clear(&mut self) {
        self.recent.clear();
        self.passed_on.clear();
    }

    /// All so far, without histograms.
    pub fn counted(&self) -> Vec<Interval> {
        self.passed_on
            .iter()
            .copied()
            .chain(self.recent.iter().map(Counted::of))
            .map(Counted::interval)
            .collect()
    }

    /// Those that the archive does not have.
    pub fn rest(self) -> Vec<Interval> {
        self.recent
    }
}

impl Counted {
    fn of(interval: &Interval) -> Counted {
        let of = |d: &IntervalDirection| (d.ios, d.bytes, d.bad);
        let directions = Direction::ALL.map(|d| of(&interval.directions[d]));
        Counted {
            start: interval.start.get(),
            length: interval.length.get(),
            directions,
        }
    }

    fn and(mut self, next: &Counted) -> Counted {
        self.length += next.length;
        for (mine, theirs) in self.directions.iter_mut().zip(next.directions) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1, mine.2 + theirs.2);
        }
        self
    }

    fn interval(self) -> Interval {
        let directions = PerDirection::from_fn(|d| {
            let (ios, bytes, bad) = self.directions[d as usize];
            IntervalDirection {
                ios,
                bytes,
                bad,
                ..IntervalDirection::default()
            }
        });
        Interval {
            start: Nanos::new(self.start),
            length: Nanos::new(self.length),
            directions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;

    fn kept(intervals: &Intervals) -> usize {
        intervals.recent.capacity() * size_of::<Interval>()
            + intervals.passed_on.capacity() * size_of::<Counted>()
    }

    /// Ten minutes of ten intervals a second hold no more than the first two did, and nothing counted is lost.
    #[test]
    fn what_a_long_run_keeps_does_not_grow() {
        let archive = Archive::open(
            1,
            100_000,
            1,
            Box::new(|| Ok(Box::new(std::io::Cursor::new(Vec::new())))),
            None,
        )
        .expect("a thread");
        let mut intervals = Intervals::new(100_000_000, 100_000, Some(archive.shelf(0)));
        let (mut early, mut most) = (0, 0);
        for n in 0..6_000_u64 {
            let mut interval = Interval {
                start: Nanos::new(n * 100_000_000),
                length: Nanos::new(100_000_000),
                directions: PerDirection::default(),
            };
            interval.directions[Direction::Read].ios = 1;
            intervals.push(interval);
            // As in a run, where there are 6 seconds between two chunks: none waits for another.
            while intervals.recent.len() >= 64 {
                std::thread::yield_now();
                let counted = intervals.recent.iter().map(Counted::of).collect::<Vec<_>>();
                if intervals
                    .shelf
                    .as_ref()
                    .is_some_and(|shelf| shelf.take(&mut intervals.recent))
                {
                    intervals.passed_on.extend(counted);
                }
            }
            let now = kept(&intervals);
            if n < 1_200 {
                early = early.max(now)
            } else {
                most = most.max(now)
            }
        }
        assert!(
            most <= early,
            "{early} bytes in the first two minutes, {most} later"
        );
        assert!(early <= 512 << 10, "{early}");
        assert_eq!(
            intervals
                .counted()
                .iter()
                .map(|i| i.directions[Direction::Read].ios)
                .sum::<u64>(),
            6_000
        );
    }
}
