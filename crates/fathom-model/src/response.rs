//! What a search came to: the curves of latency over load, and the largest load that keeps the limits.

use crate::CellFigures;

/// One load with what its trials came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponsePoint {
    /// Open loop: I/Os offered each second. Closed loop: I/Os in flight, over all jobs.
    pub load: f64,
    /// How many times it was measured.
    pub trials: u32,
    /// How many of them kept the limits; nothing where there are none, and in a closed loop.
    pub kept: Option<u32>,
    /// Medians over the trials; the worst verdict, all codes.
    pub figures: CellFigures,
}

/// The largest load that keeps the limits, I/Os per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MostLoad {
    /// Most of its trials kept the limits; nothing when not even the smallest load did.
    pub load: Option<u64>,
    /// Lower end of its interval: `kept`, less what a trial of its length cannot show.
    pub low: Option<u64>,
    /// Upper end: the smallest load that broke them in all parts of a trial; nothing when there was none.
    pub high: Option<u64>,
    /// The largest load that kept them in all parts of a trial; nothing when there was none.
    pub kept: Option<u64>,
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
    /// I/Os in flight; nothing where the curve has no such place.
    pub depth: Option<f64>,
    /// What it says, with its figures.
    pub sentence: String,
}

/// A search, told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// What was measured, in words.
    pub about: String,
    /// How the open loop's I/Os were due: `Poisson arrivals`.
    pub arrivals: String,
    /// The limits, as they are understood.
    pub limits: Vec<String>,
    /// Nothing without limits, and when the search did not come to its end.
    pub most: Option<MostLoad>,
    /// Open loop, rising loads: response times, from due to completed.
    pub open: Vec<ResponsePoint>,
    /// Closed loop, rising depths: from hand-over to completed.
    pub closed: Vec<ResponsePoint>,
    /// What each rule says of the closed loop.
    pub knees: Vec<NamedKnee>,
    /// Everything else worth saying, with its figures; the answer first.
    pub sentences: Vec<String>,
}
