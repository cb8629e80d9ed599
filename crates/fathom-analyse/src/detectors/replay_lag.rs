//! REPLAY_LAG: the I/Os of a log were submitted later than recorded.

use fathom_model::{Finding, Nanos, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{counted, duration, percent, share};

/// Ten timer ticks of a kernel with HZ=1000: later than any healthy wake-up.
const LATE: Nanos = Nanos::from_millis(10);
/// From this share on, p99 of the arrivals is not the log's.
const LATE_PERCENT: f64 = 1.0;
const ADVICE: &str = "Response times include the wait and remain correct. To keep the arrivals of the log raise iodepth, use an \
                      asynchronous engine, or slow the log down with replay_time_scale.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(behind)
}

fn behind(entry: &EntryContext) -> Option<Finding> {
    let replay = entry.replay()?;
    let lateness = entry.latencies(|d| &d.lateness);
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
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}
