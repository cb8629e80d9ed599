//! The due time of each I/O of a trace.

use fathom_model::{Nanos, ReplayReading, ReplayTiming};

use super::line::Version;

/// Converts timestamps and waits into due times, as [`ReplayTiming`] defines them.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    timing: ReplayTiming,
    percent: u64,
    first: Option<u64>,
    last: u64,
    /// Since the start, ns; of [`ReplayTiming::AfterLast`] since the last I/O, of [`ReplayTiming::ByDependency`] as in the log.
    at: u64,
    /// Since the start, ns, whatever the timing.
    length: u64,
}

impl Timeline {
    pub fn new(reading: &ReplayReading, version: Version) -> Self {
        let timing = match (reading.timing, version) {
            (_, Version::Dependencies) => ReplayTiming::ByDependency,
            (ReplayTiming::AfterLast, Version::Two) => ReplayTiming::NotBefore,
            (timing, _) => timing,
        };
        Timeline {
            timing,
            percent: reading.time_percent.max(1),
            first: None,
            last: 0,
            at: 0,
            length: 0,
        }
    }

    pub fn timing(&self) -> ReplayTiming {
        self.timing
    }

    /// A line with this timestamp: microseconds, or nanoseconds in a log with dependencies.
    pub fn timestamp(&mut self, timestamp: u64) {
        let first = *self.first.get_or_insert(timestamp);
        let last = std::mem::replace(&mut self.last, timestamp);
        match self.timing {
            ReplayTiming::AsFast | ReplayTiming::NotBefore => {}
            // Only the order counts: the log has no length.
            ReplayTiming::ByDependency => self.at = timestamp,
            // An I/O whose timestamp goes back is due together with the previous one.
            ReplayTiming::OnTime => {
                self.at = self.at.max(self.scaled(timestamp.saturating_sub(first)));
                self.length = self.at;
            }
            // fio ignores the gap after a timestamp of zero.
            ReplayTiming::AfterLast if last == 0 || timestamp < last => {}
            ReplayTiming::AfterLast => self.gap(self.scaled(timestamp - last)),
        }
    }

    fn gap(&mut self, gap: u64) {
        self.at = self.at.saturating_add(gap);
        self.length = self.length.saturating_add(gap);
    }

    /// A `wait` of version 2. In fio's manual it is in microseconds since the previous `wait`; fio itself reads milliseconds
    /// since the start.
    pub fn wait(&mut self, time: u64) {
        match self.timing {
            ReplayTiming::AsFast | ReplayTiming::AfterLast | ReplayTiming::ByDependency => {}
            ReplayTiming::OnTime => self.gap(self.scaled(time)),
            ReplayTiming::NotBefore => {
                self.at = self.at.max(time.saturating_mul(1_000_000));
                self.length = self.at;
            }
        }
    }

    /// Microseconds of the trace as nanoseconds of the replay.
    fn scaled(&self, micros: u64) -> u64 {
        u64::try_from(u128::from(micros) * 100_000 / u128::from(self.percent)).unwrap_or(u64::MAX)
    }

    /// An I/O is due now.
    pub fn take(&mut self) -> Nanos {
        let at = Nanos::new(self.at);
        if self.timing == ReplayTiming::AfterLast {
            self.at = 0;
        }
        at
    }

    /// Skips a line: fio drops the gap before it.
    pub fn skip(&mut self) {
        if self.timing == ReplayTiming::AfterLast {
            self.at = 0;
        }
    }

    /// From the start to here.
    pub fn length(&self) -> Nanos {
        Nanos::new(self.length)
    }
}
