//! TARGET_SHRANK: the target became smaller during the run.

use fathom_model::{EventKind, Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{bytes, duration};

const ADVICE: &str = "Find what truncates or replaces the target; reads past its end cost nothing and measure nothing.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(shrank)
}

fn shrank(entry: &EntryContext) -> Option<Finding> {
    entry.events().find_map(|event| match &event.kind {
        EventKind::TargetShrank { path, from, to } => {
            let at = duration(event.at.get() as f64);
            let evidence = format!(
                "{path} shrank from {} to {} at {at} of the run.",
                bytes(from.get()),
                bytes(to.get())
            );
            Some(entry.finding(Weight::Invalidates, evidence, ADVICE))
        }
        _ => None,
    })
}
