//! Figures of a running job since the last update: differences of its distributions.

use fathom_model::{BUCKETS, Histogram, Nanos, Recording, bucket_range};

/// Rows of [`WindowFigures::heat`].
const DECADES: usize = 12;
/// The upper end of the lowest row, nanoseconds.
const LOWEST: f64 = 10_000.0;

/// Figures of one part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowFigures {
    /// Good I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Median latency, nanoseconds; response times in an open loop, clat in a closed one.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// I/Os that took less than 10 us, 32 us, 100 us and so on; the last row has all others.
    pub heat: [u64; DECADES],
}

/// The state at the last update.
#[derive(Clone, Debug)]
pub struct Window {
    counts: Vec<u64>,
    ios: u64,
    bytes: u64,
    at: Nanos,
}

impl Default for Window {
    fn default() -> Window {
        Window {
            counts: vec![0; BUCKETS],
            ios: 0,
            bytes: 0,
            at: Nanos::ZERO,
        }
    }
}

impl Window {
    /// The figures since the last update; `None` if no time has passed. A recording with fewer I/Os
    /// than before is a new run and counts from its start.
    pub fn update(&mut self, state: &Recording) -> Option<WindowFigures> {
        let mut all = Histogram::new();
        let (mut ios, mut bytes) = (0, 0);
        for (_, seen) in state.jobs.iter().flat_map(|job| job.directions.iter()) {
            all.merge(if seen.response.count() > 0 {
                &seen.response
            } else {
                &seen.clat
            });
            ios += seen.counts.ok;
            bytes += seen.counts.bytes_ok;
        }
        if state.elapsed < self.at || ios < self.ios {
            *self = Window::default();
        }
        let seconds = state.elapsed.saturating_sub(self.at).as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let new = self.difference(&all);
        let figures = WindowFigures {
            iops: (ios - self.ios) as f64 / seconds,
            bandwidth: bytes.saturating_sub(self.bytes) as f64 / seconds,
            p50: new.percentile(50.0),
            p99: new.percentile(99.0),
            heat: heat(&new),
        };
        (self.ios, self.bytes, self.at) = (ios, bytes, state.elapsed);
        Some(figures)
    }

    /// The values that were added to `all`, each at the middle of its bucket.
    fn difference(&mut self, all: &Histogram) -> Histogram {
        let mut new = Histogram::new();
        for (bucket, count) in all.indexed() {
            let more = count.saturating_sub(self.counts[bucket]);
            if more > 0 {
                let (low, high) = bucket_range(bucket);
                new.record_n(low.midpoint(high), more);
            }
            self.counts[bucket] = count;
        }
        new
    }
}

fn heat(histogram: &Histogram) -> [u64; DECADES] {
    let mut rows = [0; DECADES];
    for (middle, count) in histogram.buckets() {
        let row = ((middle.max(1.0) / LOWEST).log10() * 2.0).floor() + 1.0;
        rows[(row.max(0.0) as usize).min(DECADES - 1)] += count;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_half_decades() {
        let mut histogram = Histogram::new();
        for ns in [1_000, 9_000, 20_000, 50_000, 2_000_000, 100_000_000_000] {
            histogram.record(ns);
        }
        let rows = heat(&histogram);
        assert_eq!(rows, [2, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn only_new_values_count() {
        let mut window = Window::default();
        let mut all = Histogram::new();
        all.record_n(1_000_000, 100);
        assert_eq!(window.difference(&all).count(), 100);
        all.record_n(20_000, 50);
        let new = window.difference(&all);
        assert_eq!(new.count(), 50);
        assert!((new.percentile(50.0).expect("values") / 20_000.0 - 1.0).abs() < 0.01);
        assert_eq!(window.difference(&all).count(), 0);
    }
}
