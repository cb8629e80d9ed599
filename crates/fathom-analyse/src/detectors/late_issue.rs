//! LATE_ISSUE: an open loop submitted I/Os late although the generator was not stopped.

use fathom_model::{Finding, Nanos, Weight};

use super::generator_stall::delayed_by_stalls;
use super::{EntryContext, RunContext};
use crate::figures::{counted, duration, percent, share};

/// Ten timer ticks of a kernel with HZ=1000: later than any healthy wake-up.
const LATE: Nanos = Nanos::from_millis(10);
/// From this share on, p99 of the arrivals is not the planned one.
const LATE_PERCENT: f64 = 1.0;
const ADVICE: &str = "Response times include the wait and remain correct. To keep the planned arrivals raise iodepth, lower the rate, or use more jobs.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| late(entry, run))
}

fn late(entry: &EntryContext, run: &RunContext) -> Option<Finding> {
    let lateness = entry.latencies(|d| &d.lateness);
    let late = lateness.count_above(LATE);
    let late_share = share(late, lateness.count());
    // REPLAY_LAG reports this for a replay, GENERATOR_STALL for a stopped generator.
    if late_share < LATE_PERCENT || entry.replay().is_some() || delayed_by_stalls(entry, run) {
        return None;
    }
    let evidence = format!(
        "{} ({}) were submitted more than {} after their due time, up to {}; the queue depth of {} was exhausted or this host was too slow.",
        counted(late, "I/O"),
        percent(late_share),
        duration(LATE.get() as f64),
        duration(lateness.max().unwrap_or_default().get() as f64),
        entry.figures.depth,
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}
