//! The largest load that keeps limits: which load to measure next, and what the measured ones came to.
//!
//! A search is told one trial after another and names the next load. The same trials in the same order lead to the same
//! next load, so that one which was interrupted goes on where it was by being told again what is known.
//!
//! Short trials bracket the edge; where the bracket is narrow, each trial is long ([`trial_seconds`]) and in one piece, because many
//! short ones at the same load never show a queue that grows. Both ends of the final bracket rest on long trials.

mod length;
mod limit;
mod tests;

pub use self::length::{LoadArrivals, trial_error, trial_seconds};
pub use self::limit::{LatencyFigure, ParseLimitError, SloLimit};

/// A bracket wider than this is halved after short trials.
const WIDE: f64 = 1.25;
/// Parts of a long trial, which must agree for it to count as an end of the interval.
///
/// Where in truth half of all parts or fewer would keep the limits, all of six do so with a chance of at most 1/64
/// (the sign test); both ends together are right with 96.9 %.
pub const SEARCH_PARTS: usize = 6;

/// What a search may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBounds {
    /// First load, I/Os per second.
    pub start: u64,
    /// Smallest load.
    pub least: u64,
    /// Largest load.
    pub most: u64,
    /// The bracket is narrow enough when its ends are apart by this share.
    pub precision: f64,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    /// Measure this load and [`Search::learn`] what came of it.
    Measure(SearchLoad),
    /// There is an answer.
    Done(SearchAnswer),
}

/// A load to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLoad {
    /// I/Os per second.
    pub load: u64,
    /// Near the edge: as long as [`trial_seconds`] says, in one piece.
    pub long: bool,
}

/// What a trial said of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchVerdict {
    /// It kept the limits.
    pub kept: bool,
    /// All its parts say so.
    pub sure: bool,
}

/// What a search came to, in I/Os per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchAnswer {
    /// The largest load that kept the limits in a long trial; nothing when not even the smallest did.
    pub load: Option<u64>,
    /// The largest that kept them in all parts of a trial.
    pub low: Option<u64>,
    /// The smallest that broke them in all parts. Nothing when the largest load that may be tried keeps them.
    pub high: Option<u64>,
}

/// An end of the bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    load: u64,
    /// A long trial said so.
    long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Until the bracket is narrow enough and both its ends rest on long trials.
    Edge,
    /// Down from the bracket to a load that is sure to keep the limits.
    Lower,
    /// Up from the bracket to a load that is sure to break them.
    Upper,
    Over,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: SearchBounds,
    phase: Phase,
    /// The largest load that kept the limits.
    low: Option<End>,
    /// The smallest that broke them.
    high: Option<End>,
    sure_low: Option<u64>,
    sure_high: Option<u64>,
    next: SearchLoad,
}

impl Search {
    /// A search within `bounds`; those that make no sense are mended.
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
            sure_low: None,
            sure_high: None,
            next,
        }
    }

    /// What comes next.
    #[must_use]
    pub fn step(&self) -> SearchStep {
        match self.phase {
            Phase::Over => SearchStep::Done(SearchAnswer {
                load: self.low.map(|low| low.load),
                low: self.sure_low,
                high: self.sure_high,
            }),
            _ => SearchStep::Measure(self.next),
        }
    }

    /// Takes in what came of the load that [`Search::step`] named.
    pub fn learn(&mut self, verdict: SearchVerdict) {
        let SearchLoad { load, long } = self.next;
        let sure = verdict.sure && long;
        match self.phase {
            Phase::Edge => {
                self.learn_edge(load, long, verdict.kept);
                self.note(load, sure, verdict.kept);
                self.aim();
            }
            Phase::Lower => {
                self.note(load, sure && verdict.kept, true);
                if self.sure_low.is_some_and(|low| low >= load) || load <= self.bounds.least {
                    self.turn(Phase::Upper)
                } else {
                    self.further()
                }
            }
            Phase::Upper => {
                self.note(load, sure && !verdict.kept, false);
                if self.sure_high.is_some_and(|high| high <= load) || load >= self.bounds.most {
                    self.turn(Phase::Over)
                } else {
                    self.further()
                }
            }
            Phase::Over => {}
        }
    }

    /// A long trial may take back what a short one said: the bracket opens again to that side.
    fn learn_edge(&mut self, load: u64, long: bool, kept: bool) {
        let end = Some(End { load, long });
        if kept {
            self.low = end;
            self.high = self.high.filter(|high| high.load > load);
        } else {
            self.high = end;
            self.low = self.low.filter(|low| low.load < load);
        }
    }

    fn note(&mut self, load: u64, sure: bool, kept: bool) {
        match (sure, kept) {
            (true, true) => self.sure_low = self.sure_low.max(Some(load)),
            (true, false) => {
                self.sure_high = Some(self.sure_high.map_or(load, |high| high.min(load)))
            }
            (false, _) => {}
        }
    }

    /// The next load of the phase in which the edge is looked for.
    fn aim(&mut self) {
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
            // All the loads there are keep the limits, or none does.
            (Some(_), None) => return self.turn(Phase::Lower),
            (None, Some(_)) => return self.turn(Phase::Over),
            (Some(low), Some(high)) => {
                let (from, to) = (low.load as f64, high.load as f64);
                let closed = high.load - low.load <= 1 || to <= from * (1.0 + precision);
                let middle = ((from * to).sqrt().round() as u64).clamp(low.load, high.load);
                match (closed, low.long, high.long) {
                    // What only a short trial kept is looked at first: it may lie beyond the edge, and all that follows with it.
                    (_, false, _) if closed || to <= from * WIDE => (low.load, true),
                    (false, ..) => (middle.clamp(low.load + 1, high.load - 1), to <= from * WIDE),
                    (true, _, false) => (high.load, true),
                    (true, _, true) => return self.turn(Phase::Lower),
                }
            }
        };
        self.next = SearchLoad { load, long };
    }

    /// Begins to look for an end of the interval, unless the bracket's own end will do.
    fn turn(&mut self, phase: Phase) {
        self.phase = phase;
        let (low, high) = (
            self.low.map_or(0, |low| low.load),
            self.high.map(|high| high.load),
        );
        match (phase, high) {
            (Phase::Lower, _) if self.sure_low == Some(low) || low <= self.bounds.least => {
                self.turn(Phase::Upper)
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
                if self.sure_high == Some(high) || high >= self.bounds.most =>
            {
                self.phase = Phase::Over
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

    /// Twice as far out.
    fn further(&mut self) {
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

    /// What is not closer than a load that is known for sure is not measured.
    fn skip_known(&mut self) {
        let at = self.next.load;
        match self.phase {
            Phase::Lower if self.sure_low.is_some_and(|low| low >= at) => self.turn(Phase::Upper),
            Phase::Upper if self.sure_high.is_some_and(|high| high <= at) => {
                self.phase = Phase::Over
            }
            _ => {}
        }
    }

    /// Twice as far from `from` as `at` is, and never no step at all.
    fn outward(&self, from: u64, at: u64) -> u64 {
        let least = (1.0 + self.bounds.precision).ln();
        let below = at <= from && self.phase == Phase::Lower;
        let (from, to) = (from.max(1) as f64, at.max(1) as f64);
        let ratio = (to / from).ln();
        let further = if below {
            (2.0 * ratio).min(-least)
        } else {
            (2.0 * ratio).max(least)
        };
        let next = from * further.exp();
        if below {
            (next as u64).min(at.saturating_sub(1))
        } else {
            (next.ceil() as u64).max(at + 1)
        }
    }
}

/// A larger load: twice as large, or where a long trial has already been here, by the width of a narrow bracket.
fn wider(low: End, most: u64) -> u64 {
    let next = if low.long {
        (low.load as f64 * WIDE).ceil() as u64
    } else {
        low.load.saturating_mul(2)
    };
    next.max(low.load + 1).min(most)
}

/// A smaller load, in the same way.
fn narrower(high: End, least: u64) -> u64 {
    let next = if high.long {
        (high.load as f64 / WIDE) as u64
    } else {
        high.load / 2
    };
    next.min(high.load - 1).max(least)
}
