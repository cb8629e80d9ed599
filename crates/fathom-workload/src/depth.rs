//! I/Os in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Depths are counted up to here; more counts as this.
const DEEPEST: usize = 4096;
/// In a closed loop hardly any arrival (one in this many) sees the full depth in flight.
const EXCEPTION: f64 = 1000.0;

/// Observes issues and completions.
#[derive(Clone, Debug, Default)]
pub(crate) struct DepthCounter {
    completions: BinaryHeap<Reverse<u64>>,
    /// Nanoseconds at each depth.
    time: Vec<u64>,
    /// Arrivals by the depth that they found.
    seen: Vec<u64>,
    now: u64,
    /// The most recent completion.
    pub completed: Option<u64>,
    known: u64,
}

fn at(counts: &mut Vec<u64>, depth: usize) -> &mut u64 {
    let depth = depth.min(DEEPEST);
    if depth >= counts.len() {
        counts.resize(depth + 1, 0);
    }
    &mut counts[depth]
}

impl DepthCounter {
    /// An I/O is issued. Returns how many are in flight before it.
    pub fn add(&mut self, time: u64, latency: Option<u64>) -> usize {
        if self.known == 0 {
            self.now = time;
        }
        while let Some(Reverse(end)) = self.completions.peek().copied() {
            if end > time {
                break;
            }
            *at(&mut self.time, self.completions.len()) += end.saturating_sub(self.now);
            self.now = self.now.max(end);
            self.completed = Some(end);
            self.completions.pop();
        }
        let depth = self.completions.len();
        *at(&mut self.time, depth) += time.saturating_sub(self.now);
        self.now = self.now.max(time);
        if let Some(latency) = latency {
            self.known += 1;
            *at(&mut self.seen, depth) += 1;
            self.completions.push(Reverse(time.saturating_add(latency)));
        }
        depth
    }

    /// The result; `None` without latencies.
    pub fn finish(self) -> Option<Depth> {
        if self.known == 0 {
            return None;
        }
        let total: u64 = self.time.iter().sum();
        let mean = weighted_mean(&self.time);
        let arrivals: u64 = self.seen.iter().sum();
        let (mut above, mut limit) = (arrivals, 0_usize);
        for (depth, count) in self.seen.iter().enumerate() {
            above -= count;
            limit = depth + 1;
            if above as f64 <= arrivals as f64 / EXCEPTION {
                break;
            }
        }
        let max = self.seen.len();
        // As many arrivals as this would find the limit in flight if they did not wait for completions.
        let expected = poisson_tail(mean, limit) * arrivals as f64;
        // Several slots that are mostly idle can as well be independent arrivals that happen to be few.
        let is_busy = limit == 1 || mean >= limit as f64 * 0.5;
        let closed = (is_busy && expected > 10.0 * (above as f64 + 1.0) && arrivals >= 100)
            .then_some(limit as u32);
        Some(Depth {
            mean,
            max: max as u32,
            closed,
            shares: self
                .time
                .iter()
                .map(|time| *time as f64 / total.max(1) as f64)
                .collect(),
        })
    }
}

fn weighted_mean(time: &[u64]) -> f64 {
    let total: u64 = time.iter().sum();
    let sum: f64 = time
        .iter()
        .enumerate()
        .map(|(depth, time)| depth as f64 * *time as f64)
        .sum();
    sum / total.max(1) as f64
}

/// The probability of at least `count` events with this mean.
fn poisson_tail(mean: f64, count: usize) -> f64 {
    let (mut term, mut below) = ((-mean).exp(), 0.0);
    if term == 0.0 {
        // Far from zero the distribution is symmetric enough.
        return if (count as f64) <= mean { 0.5 } else { 0.1 };
    }
    for k in 0..count {
        below += term;
        term *= mean / (k + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

/// I/Os in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Depth {
    /// Mean over time.
    pub mean: f64,
    /// The largest number.
    pub max: u32,
    /// The depth of a closed loop: each I/O waits for an earlier one. `None` is an open loop: I/Os do not wait.
    pub closed: Option<u32>,
    /// The share of the time at each depth, from 0.
    pub shares: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_loops_keep_their_depth_and_open_loops_do_not() {
        // Four slots, each busy for 100 us and then idle for 20.
        let mut closed = DepthCounter::default();
        for n in 0..10_000_u64 {
            closed.add(n * 30_000, Some(100_000));
        }
        let depth = closed.finish().expect("latencies");
        assert!((depth.mean - 100.0 / 30.0).abs() < 0.01, "{}", depth.mean);
        assert_eq!((depth.closed, depth.max), (Some(4), 4));

        // Poisson arrivals with the same mean depth.
        let (mut open, mut now, mut state) = (DepthCounter::default(), 0.0_f64, 7_u64);
        for _ in 0..20_000 {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let uniform = (crate::hash::mix(state) >> 11) as f64 / (1_u64 << 53) as f64;
            now += -30_000.0 * (1.0 - uniform).ln();
            open.add(now as u64, Some(100_000));
        }
        let depth = open.finish().expect("latencies");
        assert!((depth.mean / (100.0 / 30.0) - 1.0).abs() < 0.05);
        assert_eq!(depth.closed, None);
    }
}
