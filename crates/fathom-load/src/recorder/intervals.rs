//! The closed intervals of a job: the newest unchanged, older ones in the archive, or neighbours
//! merged.

use fathom_model::{Direction, Interval, IntervalDirection, Nanos, PerDirection};

use crate::archive::{JobArchive, merge_neighbours};

/// Number of counts kept of intervals that were sent: 90 KiB, full within two minutes at ten
/// intervals a second.
const MAX_COUNTS: usize = 1024;

/// Intervals of one job, in order.
pub(crate) struct Intervals {
    recent: Vec<Interval>,
    /// The counts of the intervals that were sent.
    sent: Vec<Counted>,
    job_archive: Option<JobArchive>,
    most: usize,
    step: u64,
    /// When the sink must have everything recorded so far.
    send_by: u64,
}

/// An interval without its histograms: 88 bytes.
#[derive(Clone, Copy, Debug)]
struct Counted {
    start: u64,
    length: u64,
    directions: [(u64, u64, u64); 3],
}

impl Intervals {
    /// Intervals of `step` nanoseconds, at most `most` of them in memory; the archive takes the
    /// others.
    pub fn new(step: u64, most: usize, job_archive: Option<JobArchive>) -> Self {
        Intervals {
            recent: Vec::new(),
            sent: Vec::new(),
            job_archive,
            most: most.max(2),
            step,
            send_by: 0,
        }
    }

    /// Current length of an interval, nanoseconds.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Whether it is time to send the intervals that only this job holds to the sink.
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.send_by
            && self
                .job_archive
                .as_ref()
                .is_some_and(|job_archive| job_archive.max_unsaved_ns().is_some())
    }

    /// Sends the intervals that only this job holds, and the unfinished interval `partial`.
    pub fn send_all(&mut self, now: u64, partial: Option<Interval>) {
        if !self.recent.is_empty() {
            self.send();
        }
        let Some(job_archive) = &self.job_archive else {
            return;
        };
        self.send_by = now + job_archive.max_unsaved_ns().unwrap_or_default();
        if let Some(partial) = partial {
            job_archive.send_partial(partial);
        }
    }

    fn send(&mut self) {
        let Some(job_archive) = &self.job_archive else {
            return;
        };
        let counted = self.recent.iter().map(Counted::of).collect::<Vec<_>>();
        if job_archive.take(&mut self.recent) {
            let end = counted.last().map_or(0, |last| last.start + last.length);
            self.send_by = end + job_archive.max_unsaved_ns().unwrap_or_default();
            self.sent.extend(counted);
        }
    }

    /// Appends an interval. Memory is bounded whatever the length of the run.
    pub fn push(&mut self, interval: Interval) {
        self.recent.push(interval);
        if self
            .job_archive
            .as_ref()
            .is_some_and(|job_archive| self.recent.len() >= job_archive.batch)
        {
            self.send();
        }
        if self.recent.len() >= self.most {
            self.step *= 2;
            merge_neighbours(&mut self.recent, self.step);
        }
        if self.sent.len() >= MAX_COUNTS {
            let pairs = self
                .sent
                .chunks(2)
                .map(|pair| pair.iter().skip(1).fold(pair[0], Counted::plus));
            self.sent = pairs.collect();
        }
    }

    /// Discards everything: the measurement restarts. Intervals in the archive started earlier and
    /// are dropped when they are read back.
    pub fn clear(&mut self) {
        self.recent.clear();
        self.sent.clear();
    }

    /// All intervals so far, without histograms.
    pub fn counted(&self) -> Vec<Interval> {
        self.sent
            .iter()
            .copied()
            .chain(self.recent.iter().map(Counted::of))
            .map(Counted::interval)
            .collect()
    }

    /// The intervals that the archive does not have.
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

    fn plus(mut self, next: &Counted) -> Counted {
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
    use crate::testing::FakeHost;

    fn memory(intervals: &Intervals) -> usize {
        intervals.recent.capacity() * size_of::<Interval>()
            + intervals.sent.capacity() * size_of::<Counted>()
    }

    /// The memory use of ten minutes at ten intervals a second does not exceed that of the first
    /// two minutes, and no count is lost.
    #[test]
    fn memory_of_a_long_run_does_not_grow() {
        let host =
            FakeHost::new(|_, _| None).with_scratch(|| Ok(std::io::Cursor::new(Vec::<u8>::new())));
        let host = std::sync::Arc::new(host);
        let archive = Archive::open(&host, 1, 100_000, 1, None).expect("a thread");
        let mut intervals = Intervals::new(100_000_000, 100_000, Some(archive.for_job(0)));
        let (mut early, mut most) = (0, 0);
        for n in 0..6_000_u64 {
            let mut interval = Interval {
                start: Nanos::new(n * 100_000_000),
                length: Nanos::new(100_000_000),
                directions: PerDirection::default(),
            };
            interval.directions[Direction::Read].ios = 1;
            intervals.push(interval);
            // As in a run, where chunks are 6 seconds apart: none waits for another.
            while intervals.recent.len() >= 64 {
                std::thread::yield_now();
                let counted = intervals.recent.iter().map(Counted::of).collect::<Vec<_>>();
                if intervals
                    .job_archive
                    .as_ref()
                    .is_some_and(|job_archive| job_archive.take(&mut intervals.recent))
                {
                    intervals.sent.extend(counted);
                }
            }
            let now = memory(&intervals);
            if n < 1_200 {
                early = early.max(now);
            } else {
                most = most.max(now);
            }
        }
        assert!(
            most <= early,
            "{early} bytes in the first two minutes, {most} later"
        );
        assert!(early <= 512 << 10, "{early}");
        let counted = intervals.counted();
        let ios: u64 = counted
            .iter()
            .map(|i| i.directions[Direction::Read].ios)
            .sum();
        // Also the counts that were added together cover all of the time, without a gap.
        let length: Nanos = counted.iter().map(|i| i.length).sum();
        assert_eq!((ios, length), (6_000, Nanos::from_secs(600)));
        assert!(
            counted
                .windows(2)
                .all(|pair| pair[0].start + pair[0].length == pair[1].start)
        );
    }
}
