//! `latency_target`: the deepest queue at which latencies stay within a limit. The depth is
//! doubled, and then the distance between the deepest that met the limit and the shallowest that
//! did not is halved. The steps are fio's.

use fathom_model::LatencyTarget;

/// Windows in a row that must meet the limit before a depth that failed once is tried again.
const TRUST: u32 = 3;

/// A search in progress.
#[derive(Debug)]
pub(super) struct DepthSearch {
    target: LatencyTarget,
    /// `iodepth`: the largest depth.
    most: u32,
    depth: u32,
    /// Deepest that met the limit, and shallowest that did not.
    low: u32,
    high: u32,
    since: u64,
    ios: u64,
    slow: u64,
    stable: u32,
    /// The depth is known, and this window is reported.
    last: bool,
    /// Nothing is submitted until everything in flight has completed.
    drains: bool,
    /// Measurement restarts once the queue is empty.
    restarts: bool,
}

/// What a job does next for its search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Continue as before.
    Continue,
    /// The depth has been found: measure from here on.
    Restart,
    /// The window at the depth that was found is over.
    Done,
}

impl DepthSearch {
    pub fn new(target: LatencyTarget, most: u32, now: u64) -> DepthSearch {
        DepthSearch {
            target,
            most,
            depth: 1,
            low: 1,
            high: most,
            since: now,
            ios: 0,
            slow: 0,
            stable: 0,
            last: false,
            drains: false,
            restarts: false,
        }
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How many I/Os may be added to `in_flight`.
    pub fn room(&self, in_flight: u32) -> usize {
        if self.drains {
            0
        } else {
            self.depth.saturating_sub(in_flight) as usize
        }
    }

    /// An I/O took `latency`. False when not even one at a time meets the limit.
    pub fn completed(&mut self, latency: u64) -> bool {
        if self.drains {
            return true;
        }
        self.ios += 1;
        if latency <= self.target.limit.get() {
            return true;
        }
        self.slow += 1;
        if self.target.percentile < 100.0 {
            return true;
        }
        if self.depth == 1 {
            return false;
        }
        self.shallower();
        true
    }

    /// Judges the depth once its window is over.
    pub fn judge(&mut self, in_flight: u32, now: u64) -> Step {
        if self.drains {
            if in_flight > 0 {
                return Step::Continue;
            }
            self.drains = false;
            self.begin(now);
            return if std::mem::take(&mut self.restarts) {
                Step::Restart
            } else {
                Step::Continue
            };
        }
        if now < self.since.saturating_add(self.target.window.get()) || self.ios == 0 {
            return Step::Continue;
        }
        let met = (self.ios - self.slow) as f64 * 100.0 / self.ios as f64;
        if met >= self.target.percentile {
            return self.deeper(now);
        }
        if self.depth > 1 {
            self.shallower();
        } else {
            self.begin(now);
        }
        Step::Continue
    }

    fn begin(&mut self, now: u64) {
        (self.since, self.ios, self.slow) = (now, 0, 0);
    }

    fn shallower(&mut self) {
        self.high = self.depth;
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = u32::midpoint(self.depth, self.low);
        (self.stable, self.drains) = (0, true);
    }

    fn deeper(&mut self, now: u64) -> Step {
        let before = self.depth;
        self.low = before;
        if before + 1 == self.high {
            self.stable += 1;
            if self.stable >= TRUST {
                (self.high, self.stable) = (self.high + 1, 0);
            }
        }
        let next = if self.high == self.most {
            before.saturating_mul(2)
        } else {
            u32::midpoint(before, self.high)
        };
        self.depth = next.min(self.most);
        self.begin(now);
        if self.target.continuous || self.depth != before {
            return Step::Continue;
        }
        if self.last {
            return Step::Done;
        }
        (self.last, self.drains, self.restarts) = (true, true, true);
        Step::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Nanos;

    fn target(percentile: f64, continuous: bool) -> LatencyTarget {
        LatencyTarget {
            limit: Nanos::new(100),
            window: Nanos::new(1000),
            percentile,
            continuous,
        }
    }

    /// Runs a search on a device whose latency is 10 for each I/O in flight: the limit of 100
    /// allows ten. Returns the depths that were tried and the last step.
    fn run(mut search: DepthSearch, windows: usize) -> (Vec<u32>, Step, DepthSearch) {
        let (mut tried, mut now, mut step) = (vec![1], 0, Step::Continue);
        for _ in 0..windows {
            for _ in 0..20 {
                let latency = u64::from(search.depth()) * 10;
                assert!(search.completed(latency));
            }
            now += 1000;
            step = search.judge(0, now);
            if *tried.last().expect("at least one") != search.depth() {
                tried.push(search.depth());
            }
            if step == Step::Done {
                break;
            }
        }
        (tried, step, search)
    }

    #[test]
    fn the_deepest_queue_within_the_limit_is_found_by_bisection() {
        for percentile in [100.0, 90.0] {
            let (tried, step, search) = run(DepthSearch::new(target(percentile, false), 64, 0), 60);
            assert_eq!(
                tried[..5],
                [1, 2, 4, 8, 16],
                "doubling until the first failure"
            );
            assert_eq!(
                (step, search.depth()),
                (Step::Done, 10),
                "{percentile}: {tried:?}"
            );
        }
    }

    #[test]
    fn the_reported_window_begins_with_an_empty_queue_at_the_depth_found() {
        let mut search = DepthSearch::new(target(100.0, false), 1, 0);
        search.completed(50);
        assert_eq!(search.judge(1, 1000), Step::Continue);
        assert_eq!(
            (search.room(1), search.judge(1, 1001)),
            (0, Step::Continue),
            "one is still in flight"
        );
        assert_eq!(search.judge(0, 1500), Step::Restart);
        search.completed(50);
        assert_eq!(search.judge(0, 2499), Step::Continue);
        assert_eq!(search.judge(0, 2500), Step::Done);
    }

    #[test]
    fn a_limit_that_one_at_a_time_misses_cannot_be_met() {
        let mut search = DepthSearch::new(target(100.0, false), 8, 0);
        assert!(search.completed(100) && !search.completed(101));
    }

    #[test]
    fn with_latency_run_the_search_continues() {
        let (tried, step, search) = run(DepthSearch::new(target(100.0, true), 64, 0), 60);
        assert_eq!(step, Step::Continue);
        assert!((9..=11).contains(&search.depth()), "{tried:?}");
    }
}
