//! The time of cells, and the budget.

use std::time::{Duration, Instant};

use fathom_plan::PlannedCell;

use crate::driver::Bounds;
use crate::observer::Position;

/// Tracks how long cells take.
pub(crate) struct Pace<'a> {
    bounds: &'a Bounds,
    started: Instant,
    /// Time of the cells of earlier sessions.
    earlier: Duration,
    measured: u32,
    taken: Duration,
    number: usize,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(bounds: &'a Bounds, now: Instant) -> Pace<'a> {
        Pace {
            bounds,
            started: now,
            earlier: Duration::ZERO,
            measured: 0,
            taken: Duration::ZERO,
            number: 0,
        }
    }

    /// Adds a cell of an earlier session.
    pub(crate) fn add_earlier(&mut self, cell: &PlannedCell, time: Duration) {
        self.earlier += time;
        self.number += usize::from(!cell.prepares);
    }

    /// Adds a cell of this session. Cells that prepare do not count: their time says nothing about the others.
    pub(crate) fn add(&mut self, cell: &PlannedCell, time: Duration) {
        if !cell.prepares {
            self.taken += time;
            self.measured += 1;
            self.number += 1;
        }
    }

    /// The time of one cell: the mean of those measured, else the expected time.
    fn time_of_cell(&self) -> Option<Duration> {
        if self.measured > 0 {
            Some(self.taken / self.measured)
        } else {
            self.bounds.expected
        }
    }

    /// The budget, and how much of it is used.
    fn budget(&self, now: Instant) -> Option<(Duration, Duration)> {
        let session = now.saturating_duration_since(self.started);
        let whole = || {
            self.bounds
                .budget
                .map(|budget| (budget, self.earlier + session))
        };
        self.bounds
            .session_budget
            .map(|budget| (budget, session))
            .or_else(whole)
    }

    /// Whether another cell fits into the budget, one that takes `expected` or as long as the others. The first one always
    /// does.
    pub(crate) fn has_time(&self, now: Instant, expected: Option<Duration>) -> bool {
        let Some((budget, used)) = self.budget(now) else {
            return true;
        };
        let is_first = if self.bounds.session_budget.is_some() {
            self.measured == 0
        } else {
            self.number == 0
        };
        // A cell that ends a little late is better than an unused last tenth of the budget.
        let time = expected.or_else(|| self.time_of_cell()).unwrap_or_default();
        is_first || used + time <= budget + budget / 20
    }

    /// The position of the next cell, with `remaining` cells after it.
    pub(crate) fn position(&self, remaining: usize, now: Instant) -> Position {
        let all = self
            .time_of_cell()
            .map(|time| time * (remaining as u32 + 1));
        let in_budget = self
            .budget(now)
            .map(|(budget, used)| budget.saturating_sub(used));
        Position {
            number: self.number + 1,
            all: self.number + 1 + remaining,
            started: now,
            remaining: match (all, in_budget) {
                (Some(all), Some(in_budget)) => Some(all.min(in_budget)),
                (all, _) => all,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After two cells of 3 s and 5 s, the third and two more take 4 s each; of what the budget has left at most.
    #[test]
    fn the_time_left_is_that_of_this_cell_and_all_later_ones() {
        let seconds = Duration::from_secs;
        let started = Instant::now();
        let cell = PlannedCell::default();
        for (budget, left) in [(None, 12), (Some(30), 12), (Some(15), 7)] {
            let bounds = Bounds {
                budget: budget.map(seconds),
                expected: Some(seconds(9)),
                ..Bounds::default()
            };
            let mut pace = Pace::new(&bounds, started);
            let whole = budget.map_or(27, |budget| budget.min(27));
            let first = pace.position(2, started);
            assert_eq!(first.remaining, Some(seconds(whole)), "{budget:?}");
            pace.add(&cell, seconds(3));
            pace.add(&cell, seconds(5));
            let now = started + seconds(8);
            let position = pace.position(2, now);
            assert_eq!(position.remaining, Some(seconds(left)), "{budget:?}");
            assert_eq!((position.number, position.all), (3, 5));
            let later = now + seconds(3);
            assert_eq!(position.time_left(later), Some(seconds(left - 3)));
        }
    }

    /// Two cells of 4 s leave 2 s of a budget of 10 s, and the twentieth by which a last cell may exceed it: 2.5 s. A budget of this
    /// session is all there.
    #[test]
    fn the_time_of_earlier_sessions_is_part_of_the_budget() {
        let seconds = Duration::from_secs_f64;
        let now = Instant::now();
        let cell = PlannedCell::default();
        let budget = Some(seconds(10.0));
        let whole = Bounds {
            budget,
            ..Bounds::default()
        };
        let mut pace = Pace::new(&whole, now);
        pace.add_earlier(&cell, seconds(4.0));
        assert!(pace.has_time(now, Some(seconds(4.0))));
        pace.add_earlier(&cell, seconds(4.0));
        assert!(pace.has_time(now, Some(seconds(2.5))));
        assert!(!pace.has_time(now, Some(seconds(2.6))));
        let session = Bounds {
            session_budget: budget,
            ..whole.clone()
        };
        let mut pace = Pace::new(&session, now);
        pace.add_earlier(&cell, seconds(8.0));
        pace.add(&cell, seconds(1.0));
        assert!(pace.has_time(now, Some(seconds(10.5))));
        assert!(!pace.has_time(now, Some(seconds(10.6))));
    }
}
