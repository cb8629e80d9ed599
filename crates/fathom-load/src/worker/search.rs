//! `latency_target`: the deepest queue at which latencies stay below a limit, found by doubling and then by halving the
//! distance between the deepest that kept it and the shallowest that did not. The steps are fio's.

use fathom_model::LatencyTarget;

/// Windows in a row that must keep the limit before a depth that failed once is tried again.
const TRUST: u32 = 3;

/// A search under way.
#[derive(Debug)]
pub(super) struct Search {
    target: LatencyTarget,
    /// `iodepth`: the deepest there is.
    most: u32,
    depth: u32,
    /// Deepest that kept the limit, and shallowest that did not.
    low: u32,
    high: u32,
    since: u64,
    ios: u64,
    slow: u64,
    stable: u32,
    /// The depth is known; this window is what will be reported.
    last: bool,
    /// Nothing is handed over until what is in flight has come back.
    drains: bool,
    forgets: bool,
}

/// What a search asks of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on.
    GoOn,
    /// Measure from here on: the depth has been found.
    StartOver,
    /// The window at the depth that was found is over.
    Done,
}

impl Search {
    pub fn new(target: LatencyTarget, most: u32, now: u64) -> Search {
        Search {
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
            forgets: false,
        }
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How many more may be in flight beside `in_flight`.
    pub fn room(&self, in_flight: u32) -> usize {
        if self.drains {
            0
        } else {
            self.depth.saturating_sub(in_flight) as usize
        }
    }

    /// An I/O took `latency`. False when not even one at a time keeps the limit.
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
    pub fn look(&mut self, in_flight: u32, now: u64) -> Next {
        if self.drains {
            if in_flight > 0 {
                return Next::GoOn;
            }
            self.drains = false;
            self.begin(now);
            return if std::mem::take(&mut self.forgets) {
                Next::StartOver
            } else {
                Next::GoOn
            };
        }
        if now < self.since.saturating_add(self.target.window.get()) || self.ios == 0 {
            return Next::GoOn;
        }
        let kept = (self.ios - self.slow) as f64 * 100.0 / self.ios as f64;
        if kept >= self.target.percentile {
            return self.deeper(now);
        }
        if self.depth > 1 {
            self.shallower();
        } else {
            self.begin(now);
        }
        Next::GoOn
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

    fn deeper(&mut self, now: u64) -> Next {
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
        if self.target.keeps_on || self.depth != before {
            return Next::GoOn;
        }
        if self.last {
            return Next::Done;
        }
        (self.last, self.drains, self.forgets) = (true, true, true);
        Next::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Nanos;

    fn target(percentile: f64, keeps_on: bool) -> LatencyTarget {
        LatencyTarget {
            limit: Nanos::new(100),
            window: Nanos::new(1000),
            percentile,
            keeps_on,
        }
    }

    /// Runs a search on a device whose latency is 10 for each I/O in flight: the limit of 100 allows ten. Returns the
    /// depths that were tried, and what came last.
    fn run(mut search: Search, windows: usize) -> (Vec<u32>, Next, Search) {
        let (mut tried, mut now, mut next) = (vec![1], 0, Next::GoOn);
        for _ in 0..windows {
            for _ in 0..20 {
                let latency = u64::from(search.depth()) * 10;
                assert!(search.completed(latency));
            }
            now += 1000;
            next = search.look(0, now);
            if *tried.last().expect("one at least") != search.depth() {
                tried.push(search.depth());
            }
            if next == Next::Done {
                break;
            }
        }
        (tried, next, search)
    }

    #[test]
    fn the_deepest_that_keeps_the_limit_is_found_by_bisection() {
        for percentile in [100.0, 90.0] {
            let (tried, next, search) = run(Search::new(target(percentile, false), 64, 0), 60);
            assert_eq!(
                tried[..5],
                [1, 2, 4, 8, 16],
                "doubling until the first failure"
            );
            assert_eq!(
                (next, search.depth()),
                (Next::Done, 10),
                "{percentile}: {tried:?}"
            );
        }
    }

    #[test]
    fn what_is_reported_begins_with_an_empty_queue_at_the_depth_found() {
        let mut search = Search::new(target(100.0, false), 1, 0);
        search.completed(50);
        assert_eq!(search.look(1, 1000), Next::GoOn);
        assert_eq!(
            (search.room(1), search.look(1, 1001)),
            (0, Next::GoOn),
            "one is still in flight"
        );
        assert_eq!(search.look(0, 1500), Next::StartOver);
        search.completed(50);
        assert_eq!(search.look(0, 2499), Next::GoOn);
        assert_eq!(search.look(0, 2500), Next::Done);
    }

    #[test]
    fn a_limit_that_one_at_a_time_misses_cannot_be_kept() {
        let mut search = Search::new(target(100.0, false), 8, 0);
        assert!(search.completed(100) && !search.completed(101));
    }

    #[test]
    fn with_latency_run_it_goes_on() {
        let (tried, next, search) = run(Search::new(target(100.0, true), 64, 0), 60);
        assert_eq!(next, Next::GoOn);
        assert!((9..=11).contains(&search.depth()), "{tried:?}");
    }
}
