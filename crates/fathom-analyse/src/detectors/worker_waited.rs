//! WORKER_WAITED: a worker was runnable but had no CPU.

use fathom_model::{Finding, Nanos, Weight};

use super::{EntryContext, RunContext};
use crate::entry::percent_of;
use crate::figures::{duration, percent};

/// Every wake-up waits some microseconds, which at high rates adds up to several percent on an idle
/// host too.
const LIMIT_PERCENT: f64 = 20.0;
/// Shorter waits are ignored.
const LEAST: Nanos = Nanos::from_millis(100);
const ADVICE: &str =
    "Leave a CPU for each worker: fewer jobs, fewer other programs, or cpus_allowed=.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(waited)
}

fn waited(entry: &EntryContext) -> Option<Finding> {
    // Engines that only use CPU time have no latencies.
    let member = entry
        .members
        .iter()
        .filter(|m| m.job.engine.kind.does_io())
        .max_by_key(|m| m.seen.usage.waited)?;
    let (waited, share) = (
        member.seen.usage.waited,
        percent_of(member.seen.usage.waited, member.cpu_time()),
    );
    if waited < LEAST || share < LIMIT_PERCENT {
        return None;
    }
    let evidence = format!(
        "Worker {} was runnable but waited {} for a CPU ({} of its time); latencies include that.",
        member.job.number,
        duration(waited.get() as f64),
        percent(share),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}
