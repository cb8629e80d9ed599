//! WORKER_DIED: a worker ended without submitting its results.

use fathom_model::{EventKind, Finding, TimeSpan, Weight};

use super::{EntryContext, RunContext};
use crate::figures::duration;

const ADVICE: &str = "Run again; if it happens again, report it with the job file.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(died)
}

fn died(entry: &EntryContext) -> Option<Finding> {
    entry.members.iter().find_map(|m| {
        m.seen.events.iter().find_map(|event| match &event.kind {
            EventKind::WorkerDied { reason } => {
                let at = duration(event.at.get() as f64);
                let evidence = format!(
                    "Worker {} died at {at} of the run: {reason}. Its I/O is missing.",
                    m.job.number
                );
                let missing = TimeSpan {
                    from: event.at,
                    to: event.at.max(entry.span().1),
                };
                Some(
                    entry
                        .finding(Weight::Invalidates, evidence, ADVICE)
                        .with_times([missing]),
                )
            }
            _ => None,
        })
    })
}
