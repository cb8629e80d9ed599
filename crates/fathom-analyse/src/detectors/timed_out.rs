//! TIMED_OUT: I/Os that never completed.

use fathom_model::{EventKind, Finding, Nanos, TimeSpan, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{count, duration};

const ADVICE: &str = "The target hung: check the kernel log; the slowest I/Os of this run are missing from the latencies.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(hung)
}

fn hung(entry: &EntryContext) -> Option<Finding> {
    let given_up: Vec<(u32, Nanos, Nanos)> = entry
        .events()
        .filter_map(|e| match e.kind {
            EventKind::GaveUp { in_flight, waited } => Some((in_flight, waited, e.at)),
            _ => None,
        })
        .collect();
    let lost = entry
        .figures
        .counts
        .timed_out
        .max(given_up.iter().map(|g| u64::from(g.0)).sum());
    if lost == 0 {
        return None;
    }
    let waited = given_up.iter().map(|g| g.1).max();
    let waited = waited.map_or_else(String::new, |w| {
        format!("; the wait for them was {}", duration(w.get() as f64))
    });
    let evidence = format!(
        "{} of {} I/Os never completed{waited}.",
        count(lost),
        count(entry.figures.counts.planned)
    );
    let when = given_up.iter().map(|(_, waited, at)| TimeSpan {
        from: at.saturating_sub(*waited),
        to: *at,
    });
    Some(
        entry
            .finding(Weight::Invalidates, evidence, ADVICE)
            .with_times(when),
    )
}
