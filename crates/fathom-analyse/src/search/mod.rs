//! Searches for the highest load that meets limits: selects the next load to measure and computes
//! the answer.
//!
//! A search receives one trial after another and selects the next load. The same trials in the same
//! order select the same next load, so an interrupted search continues after the known trials are
//! repeated.
//!
//! Short trials bracket the highest load. In a narrow bracket each trial is long
//! ([`trial_seconds`]) and continuous, because many short ones at the same load do not show a
//! growing queue. Both ends of the final bracket are based on long trials.

mod length;
mod limit;
mod tests;

pub use self::length::{LoadArrivals, trial_error, trial_seconds};
pub use self::limit::{LatencyFigure, ParseLimitError, SloLimit};

/// A bracket wider than this is halved after short trials.
const WIDE: f64 = 1.25;
/// Parts of a long trial. All must agree if it is used as an end of the interval.
///
/// If at most half of all parts meet the limits at a load, all of six do so with a probability of
/// at most 1/64 (sign test); both ends together are right with 96.9 %.
pub const SEARCH_PARTS: usize = 6;

/// The limits of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBounds {
    /// First load, I/Os per second.
    pub start: u64,
    /// Smallest load.
    pub least: u64,
    /// Largest load.
    pub most: u64,
    /// The bracket is narrow enough if its ends differ by at most this share.
    pub precision: f64,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    /// Measure this load and pass the verdict to [`Search::learn`].
    Measure(SearchLoad),
    /// The search is complete.
    Done(SearchAnswer),
}

/// A load to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLoad {
    /// I/Os per second.
    pub load: u64,
    /// A long trial in one piece, see [`trial_seconds`].
    pub long: bool,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchVerdict {
    /// It met the limits.
    pub kept: bool,
    /// All its parts agree.
    pub sure: bool,
}

/// The answer of a search, in I/Os per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    /// The highest load that met the limits in a long trial; `None` if not even the lowest did.
    pub load: Option<u64>,
    /// The highest load that met them in all parts of a trial.
    pub low: Option<u64>,
    /// The lowest load that exceeded them in all parts; `None` if the highest allowed load meets
    /// them.
    pub high: Option<u64>,
    /// Upper end of the bracket: the lowest load that exceeded the limits, in whichever trial is the
    /// most reliable one of that load.
    pub exceeded: Option<u64>,
    /// The search ended before the bracket was narrow: its ends may be based on short trials.
    pub stopped_early: bool,
}

/// An end of the bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BracketEnd {
    load: u64,
    /// It is based on a long trial.
    long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Narrows the bracket until both ends are based on long trials.
    Edge,
    /// Decreases the load from the bracket until it surely meets the limits.
    Lower,
    /// Increases the load from the bracket until it surely exceeds them.
    Upper,
    Over,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: SearchBounds,
    phase: Phase,
    /// The highest load that met the limits.
    low: Option<BracketEnd>,
    /// The lowest that exceeded them.
    high: Option<BracketEnd>,
    confirmed_low: Option<u64>,
    confirmed_high: Option<u64>,
    next: SearchLoad,
}

impl Search {
    /// A search within `bounds`; invalid bounds are corrected.
    #[must_use]
    pub fn new(bounds: SearchBounds) -> Search {
        let least = bounds.least.max(1);
        let most = bounds.most.max(least);
        let precision = if bounds.precision.is_finite() {
            bounds.precision.clamp(0.001, 0.5)
        } else {
            0.01
        };
        let start = bounds.start.clamp(least, most);
        let bounds = SearchBounds {
            start,
            least,
            most,
            precision,
        };
        let next = SearchLoad {
            load: start,
            long: false,
        };
        Search {
            bounds,
            phase: Phase::Edge,
            low: None,
            high: None,
            confirmed_low: None,
            confirmed_high: None,
            next,
        }
    }

    /// The next step.
    #[must_use]
    pub fn step(&self) -> SearchStep {
        match self.phase {
            Phase::Over => SearchStep::Done(self.answer()),
            _ => SearchStep::Measure(self.next),
        }
    }

    /// What is known so far.
    #[must_use]
    pub fn answer(&self) -> SearchAnswer {
        SearchAnswer {
            load: self.low.map(|low| low.load),
            low: self.confirmed_low,
            high: self.confirmed_high,
            exceeded: self.high.map(|high| high.load),
            stopped_early: self.phase != Phase::Over,
        }
    }

    /// Records the result of the load that [`Search::step`] selected.
    pub fn learn(&mut self, verdict: SearchVerdict) {
        let SearchLoad { load, long } = self.next;
        let confirmed = verdict.sure && long;
        match self.phase {
            Phase::Edge => {
                self.learn_edge(load, long, verdict.kept);
                self.record_confirmed(load, confirmed, verdict.kept);
                self.next_edge_load();
            }
            Phase::Lower => {
                self.record_confirmed(load, confirmed && verdict.kept, true);
                if self.confirmed_low.is_some_and(|low| low >= load) || load <= self.bounds.least {
                    self.enter_phase(Phase::Upper);
                } else {
                    self.step_outward();
                }
            }
            Phase::Upper => {
                self.record_confirmed(load, confirmed && !verdict.kept, false);
                if self.confirmed_high.is_some_and(|high| high <= load) || load >= self.bounds.most
                {
                    self.enter_phase(Phase::Over);
                } else {
                    self.step_outward();
                }
            }
            Phase::Over => {}
        }
    }

    /// Updates the bracket. A long trial may contradict a short one: the bracket opens again on
    /// that side.
    fn learn_edge(&mut self, load: u64, long: bool, kept: bool) {
        let end = Some(BracketEnd { load, long });
        if kept {
            self.low = end;
            self.high = self.high.filter(|high| high.load > load);
        } else {
            self.high = end;
            self.low = self.low.filter(|low| low.load < load);
        }
    }

    fn record_confirmed(&mut self, load: u64, confirmed: bool, kept: bool) {
        match (confirmed, kept) {
            (true, true) => self.confirmed_low = self.confirmed_low.max(Some(load)),
            (true, false) => {
                self.confirmed_high = Some(self.confirmed_high.map_or(load, |high| high.min(load)));
            }
            (false, _) => {}
        }
    }

    /// Selects the next load of the edge phase.
    fn next_edge_load(&mut self) {
        let SearchBounds {
            start,
            least,
            most,
            precision,
        } = self.bounds;
        let (load, long) = match (self.low, self.high) {
            (None, None) => (start, false),
            (Some(low), None) if low.load < most => (wider(low, most), false),
            (None, Some(high)) if high.load > least => (narrower(high, least), false),
            (Some(end), None) | (None, Some(end)) if !end.long => (end.load, true),
            // All allowed loads meet the limits, or none does.
            (Some(_), None) => return self.enter_phase(Phase::Lower),
            (None, Some(_)) => return self.enter_phase(Phase::Over),
            (Some(low), Some(high)) => {
                let (from, to) = (low.load as f64, high.load as f64);
                let closed = high.load - low.load <= 1 || to <= from * (1.0 + precision);
                let middle = ((from * to).sqrt().round() as u64).clamp(low.load, high.load);
                match (closed, low.long, high.long) {
                    // Repeat the lower end of a short trial first: if it is too high, all later
                    // loads would be too.
                    (_, false, _) if closed || to <= from * WIDE => (low.load, true),
                    (false, ..) => (middle.clamp(low.load + 1, high.load - 1), to <= from * WIDE),
                    (true, _, false) => (high.load, true),
                    (true, _, true) => return self.enter_phase(Phase::Lower),
                }
            }
        };
        self.next = SearchLoad { load, long };
    }

    /// Starts to search for an end of the interval, unless the end of the bracket is one.
    fn enter_phase(&mut self, phase: Phase) {
        self.phase = phase;
        let (low, high) = (
            self.low.map_or(0, |low| low.load),
            self.high.map(|high| high.load),
        );
        match (phase, high) {
            (Phase::Lower, _) if self.confirmed_low == Some(low) || low <= self.bounds.least => {
                self.enter_phase(Phase::Upper);
            }
            (Phase::Lower, _) => {
                self.next = SearchLoad {
                    load: self
                        .outward(high.unwrap_or(low), low)
                        .max(self.bounds.least),
                    long: true,
                }
            }
            (Phase::Upper, None) => self.phase = Phase::Over,
            (Phase::Upper, Some(high))
                if self.confirmed_high == Some(high) || high >= self.bounds.most =>
            {
                self.phase = Phase::Over;
            }
            (Phase::Upper, Some(high)) => {
                self.next = SearchLoad {
                    load: self.outward(low, high).min(self.bounds.most),
                    long: true,
                }
            }
            (Phase::Edge | Phase::Over, _) => {}
        }
        self.skip_known();
    }

    /// Doubles the distance from the bracket.
    fn step_outward(&mut self) {
        let (low, high) = (
            self.low.map_or(1, |low| low.load),
            self.high.map_or(self.bounds.most, |high| high.load),
        );
        let (from, least, most) = (
            if self.phase == Phase::Lower {
                high
            } else {
                low
            },
            self.bounds.least,
            self.bounds.most,
        );
        self.next.load = self.outward(from, self.next.load).clamp(least, most);
        self.skip_known();
    }

    /// Skips loads beyond one that is already certain.
    fn skip_known(&mut self) {
        let at = self.next.load;
        match self.phase {
            Phase::Lower if self.confirmed_low.is_some_and(|low| low >= at) => {
                self.enter_phase(Phase::Upper);
            }
            Phase::Upper if self.confirmed_high.is_some_and(|high| high <= at) => {
                self.phase = Phase::Over;
            }
            _ => {}
        }
    }

    /// The load twice as far from `from` as `at`; at least one step.
    fn outward(&self, from: u64, at: u64) -> u64 {
        let least = (1.0 + self.bounds.precision).ln();
        let below = at <= from && self.phase == Phase::Lower;
        let (from, to) = (from.max(1) as f64, at.max(1) as f64);
        let ratio = (to / from).ln();
        let step_outward = if below {
            (2.0 * ratio).min(-least)
        } else {
            (2.0 * ratio).max(least)
        };
        let next = from * step_outward.exp();
        if below {
            (next as u64).min(at.saturating_sub(1))
        } else {
            (next.ceil() as u64).max(at + 1)
        }
    }
}

/// A higher load: twice as high, or after a long trial by the width of a narrow bracket.
fn wider(low: BracketEnd, most: u64) -> u64 {
    let next = if low.long {
        (low.load as f64 * WIDE).ceil() as u64
    } else {
        low.load.saturating_mul(2)
    };
    next.max(low.load + 1).min(most)
}

/// A lower load, in the same way.
fn narrower(high: BracketEnd, least: u64) -> u64 {
    let next = if high.long {
        (high.load as f64 / WIDE) as u64
    } else {
        high.load / 2
    };
    next.min(high.load - 1).max(least)
}
