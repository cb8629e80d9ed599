//! Results of a search: the curves of latency over load, and the largest load within the limits.

use crate::{CellFigures, Simulated};

/// One load with the results of its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponsePoint {
    /// Open loop: I/Os offered each second. Closed loop: I/Os in flight, over all jobs.
    pub load: f64,
    /// How many times it was measured.
    pub trials: u32,
    /// Trials that met the limits; `None` without limits and in a closed loop.
    pub within_limits: Option<u32>,
    /// Medians over the trials; the worst verdict, all codes.
    pub figures: CellFigures,
}

/// The largest load within the limits, I/Os per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaxLoad {
    /// A load whose trials mostly met the limits; `None` if not even the smallest load did.
    pub load: Option<u64>,
    /// Lower end of its interval: `sustained`, minus the resolution of a trial of its length.
    pub low: Option<u64>,
    /// Upper end: the smallest load that exceeded them in all parts of a trial; `None` without one.
    pub high: Option<u64>,
    /// The largest load that met them in all parts of a trial; `None` without one.
    pub sustained: Option<u64>,
    /// The smallest load above `load` whose trials mostly exceeded the limits; `None` without one.
    pub exceeded: Option<u64>,
    /// The search ended before these loads were as close as requested.
    pub stopped_early: bool,
    /// How long that trial was, seconds.
    pub seconds: f64,
    /// Mean bytes of one I/O there.
    pub bytes: f64,
}

/// A depth that a rule names, with its sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedKnee {
    /// Name of the rule.
    pub rule: String,
    /// I/Os in flight; `None` where the curve has no such point.
    pub depth: Option<f64>,
    /// The sentence, with its figures.
    pub sentence: String,
}

/// Whether a load meets the limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SloAnswer {
    /// It meets all of them.
    pub met: bool,
    /// Distance to the nearest limit as a share of it; negative where it is exceeded.
    pub headroom: Option<f64>,
    /// Yes or no, with the figures.
    pub sentence: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// What was measured, as text.
    pub about: String,
    /// Arrival process of the open loop: `Poisson arrivals`.
    pub arrivals: String,
    /// The limits as text.
    pub limits: Vec<String>,
    /// `None` without limits, and when the search did not finish.
    pub max_load: Option<MaxLoad>,
    /// Open loop, rising loads: response times, from due to completed.
    pub open: Vec<ResponsePoint>,
    /// Closed loop, ascending depths: from submission to completion.
    pub closed: Vec<ResponsePoint>,
    /// The result of each rule on the closed loop.
    pub knees: Vec<NamedKnee>,
    /// Conclusions, each with its figures; the main result first.
    pub sentences: Vec<String>,
    /// The answer for one given load; `None` in a search for the highest load.
    pub at: Option<SloAnswer>,
    /// Set where a simulated device was measured.
    pub simulated: Option<Simulated>,
}
