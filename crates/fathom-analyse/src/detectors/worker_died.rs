//! WORKER_DIED: a worker ended without handing over what it recorded.

use fathom_model::{EventKind, Finding, TimeSpan, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::duration;

const CODE: &str = "WORKER_DIED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Run again; if it happens again, report it with the job file.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    scene.each(died)
}

fn died(seat: &EntryContext) -> Option<Finding> {
    seat.members.iter().find_map(|m| {
        m.seen.events.iter().find_map(|event| match &event.what {
            EventKind::WorkerDied { why } => {
                let at = duration(event.at.get() as f64);
                let evidence = format!(
                    "Worker {} died at {at} of the run: {why}. Its I/O is missing.",
                    m.job.number
                );
                let missing = TimeSpan {
                    from: event.at,
                    to: event.at.max(seat.span().1),
                };
                Some(
                    seat.finding(CODE, Weight::Invalidates, evidence, ADVICE)
                        .seen([missing]),
                )
            }
            _ => None,
        })
    })
}
