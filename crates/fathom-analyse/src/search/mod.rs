//! The largest load that keeps limits: which load to measure next, and what the measured ones came to.
//!
//! A search is told one trial after another and names the next load. The same trials in the same order lead to the same
//! next load, so that one which was interrupted goes on where it was by being told again what is known.

mod limit;
mod tests;

pub use self::limit::{LatencyFigure, ParseLimitError, SloLimit};

/// A bracket wider than this is halved after one trial for each load; a narrower one after a vote.
const WIDE: f64 = 1.25;
/// Trials of one vote at most; it ends when more than half agree.
const VOTES: u32 = 5;
/// Trials that must agree at an end of the interval.
///
/// Where in truth half of all trials or fewer would keep the limits, all of six do so with a chance of at most 1/64
/// (the sign test); both ends together are right with 96.9 %.
pub const SEARCH_CONFIRM: u32 = 6;

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
    /// Measure this load and [`Search::learn`] whether it kept the limits.
    Measure(u64),
    /// There is an answer.
    Done(SearchAnswer),
}

/// What a search came to, in I/Os per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchAnswer {
    /// The largest load of which most trials kept the limits; nothing when not even the smallest did.
    pub load: Option<u64>,
    /// The interval's lower end: every one of [`SEARCH_CONFIRM`] trials kept the limits.
    pub low: Option<u64>,
    /// Its upper end: every one broke them. Nothing when the largest load that may be tried keeps them.
    pub high: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The load is doubled or halved until one keeps the limits and one breaks them.
    Bracket { low: Option<u64>, high: Option<u64> },
    /// Between a load that keeps them and one that breaks them, halved in the logarithm.
    Bisect { low: u64, high: u64 },
    /// Down from the bracket to a load that always keeps them.
    Lower { low: u64, high: u64, at: u64 },
    /// Up from the bracket to a load that always breaks them.
    Upper { low: u64, sure: Option<u64>, at: u64 },
    Done(SearchAnswer),
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: SearchBounds,
    phase: Phase,
    at: u64,
    /// Of the load that is tried now.
    kept: u32,
    broke: u32,
}

impl Search {
    /// A search within `bounds`; those that make no sense are mended.
    #[must_use]
    pub fn new(bounds: SearchBounds) -> Search {
        let least = bounds.least.max(1);
        let most = bounds.most.max(least);
        let precision = if bounds.precision.is_finite() { bounds.precision.clamp(0.001, 0.5) } else { 0.01 };
        let at = bounds.start.clamp(least, most);
        let bounds = SearchBounds { start: at, least, most, precision };
        Search { bounds, phase: Phase::Bracket { low: None, high: None }, at, kept: 0, broke: 0 }
    }

    /// What comes next.
    #[must_use]
    pub fn step(&self) -> SearchStep {
        match self.phase {
            Phase::Done(answer) => SearchStep::Done(answer),
            _ => SearchStep::Measure(self.at),
        }
    }

    /// Takes in whether the load that [`Search::step`] named kept the limits.
    pub fn learn(&mut self, kept: bool) {
        if kept { self.kept += 1 } else { self.broke += 1 }
        let Some(verdict) = self.verdict() else { return };
        (self.kept, self.broke) = (0, 0);
        self.phase = self.after(verdict);
        self.aim();
    }

    /// Whether the trials of this load suffice, and what they say.
    fn verdict(&self) -> Option<bool> {
        let (for_it, against) = (self.kept, self.broke);
        let vote = |n: u32| if for_it > n / 2 { Some(true) } else if against > n / 2 { Some(false) } else { None };
        match self.phase {
            Phase::Bracket { .. } => Some(for_it > 0),
            Phase::Bisect { low, high } if high as f64 > low as f64 * WIDE => Some(for_it > 0),
            Phase::Bisect { .. } => vote(VOTES),
            Phase::Lower { .. } => (against > 0 || for_it == SEARCH_CONFIRM).then_some(against == 0),
            Phase::Upper { .. } => (for_it > 0 || against == SEARCH_CONFIRM).then_some(for_it > 0),
            Phase::Done(_) => None,
        }
    }

    fn after(&self, kept: bool) -> Phase {
        let at = self.at;
        match self.phase {
            Phase::Bracket { low, high } => {
                let (low, high) = if kept { (Some(at), high) } else { (low, Some(at)) };
                match (low, high) {
                    (Some(low), Some(high)) => Phase::Bisect { low, high },
                    (None, Some(_)) if at == self.bounds.least => Phase::Done(SearchAnswer { load: None, low: None, high }),
                    (Some(low), None) if at == self.bounds.most => Phase::Lower { low, high: low, at: low },
                    (low, high) => Phase::Bracket { low, high },
                }
            }
            Phase::Bisect { high, .. } if kept => Phase::Bisect { low: at, high },
            Phase::Bisect { low, .. } => Phase::Bisect { low, high: at },
            // All the loads there are keep the limits: there is no upper end to look for.
            Phase::Lower { low, high, .. } if kept && low == high => {
                Phase::Done(SearchAnswer { load: Some(low), low: Some(at), high: None })
            }
            Phase::Lower { low, high, .. } if kept => Phase::Upper { low, sure: Some(at), at: high },
            Phase::Lower { low, high, at } if at <= self.bounds.least => {
                if low == high { Phase::Done(SearchAnswer { load: Some(low), low: None, high: None }) } else { Phase::Upper { low, sure: None, at: high } }
            }
            Phase::Lower { low, high, at } => Phase::Lower { low, high, at: self.outward(high, at).max(self.bounds.least) },
            Phase::Upper { low, sure, at } if kept && at >= self.bounds.most => {
                Phase::Done(SearchAnswer { load: Some(low), low: sure, high: None })
            }
            Phase::Upper { low, sure, at } if kept => Phase::Upper { low, sure, at: self.outward(low, at).min(self.bounds.most) },
            Phase::Upper { low, sure, at } => Phase::Done(SearchAnswer { load: Some(low), low: sure, high: Some(at) }),
            done => done,
        }
    }

    /// Twice as far from `from` as `at` is, and never no step at all.
    fn outward(&self, from: u64, at: u64) -> u64 {
        let (from, at) = (from as f64, at as f64);
        let ratio = (at / from).ln();
        let least = (1.0 + self.bounds.precision).ln();
        let further = if ratio < 0.0 { (2.0 * ratio).min(-least) } else { (2.0 * ratio).max(least) };
        let next = from * further.exp();
        if ratio < 0.0 { (next as u64).min(at as u64 - 1) } else { (next.ceil() as u64).max(at as u64 + 1) }
    }

    /// Sets the load that the phase wants tried.
    fn aim(&mut self) {
        let SearchBounds { least, most, precision, .. } = self.bounds;
        if let Phase::Bisect { low, high } = self.phase {
            let close = high - low <= 1 || high as f64 <= low as f64 * (1.0 + precision);
            if close {
                self.phase = Phase::Lower { low, high, at: low };
            }
        }
        match self.phase {
            Phase::Bracket { low: Some(at), .. } => self.at = at.saturating_mul(2).min(most),
            Phase::Bracket { high: Some(at), .. } => self.at = (at / 2).max(least),
            Phase::Bisect { low, high } => {
                let middle = ((low as f64) * (high as f64)).sqrt().round() as u64;
                self.at = middle.clamp(low + 1, high - 1);
            }
            Phase::Lower { at, .. } | Phase::Upper { at, .. } => self.at = at,
            Phase::Bracket { .. } | Phase::Done(_) => {}
        }
    }
}
