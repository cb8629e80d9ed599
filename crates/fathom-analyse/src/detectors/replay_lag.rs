//! REPLAY_LAG: the I/Os of a log were handed over later than the log says.

use fathom_model::{Finding, Nanos, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::{counted, duration, percent, share};

const CODE: &str = "REPLAY_LAG";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

/// Ten timer ticks of a kernel with HZ=1000: later than any healthy wake-up.
const LATE: Nanos = Nanos::from_millis(10);
/// From this share on, p99 of the arrivals is not the log's.
const LATE_PERCENT: f64 = 1.0;
const ADVICE: &str = "Response times include the wait and stay true. For the arrivals of the log raise iodepth, use an \
                      asynchronous engine, or slow the log down with replay_time_scale.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(behind)
}

fn behind(seat: &EntryContext) -> Option<Finding> {
    let replay = seat.replay()?;
    let lateness = seat.latencies(|d| &d.lateness);
    let late = lateness.count_above(LATE);
    let late_share = share(late, lateness.count());
    if late_share < LATE_PERCENT {
        return None;
    }
    let at = |percent: f64| duration(lateness.percentile(percent).unwrap_or(0.0));
    let evidence = format!(
        "Behind {} by {} at the median, {} at p99 and {} at most; {} ({}) were more than {} late.",
        replay.log,
        at(50.0),
        at(99.0),
        duration(lateness.max().unwrap_or_default().get() as f64),
        counted(late, "I/O"),
        percent(late_share),
        duration(LATE.get() as f64),
    );
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}
