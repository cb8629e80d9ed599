//! ENGINE_FALLBACK: another engine replaced the planned one.

use fathom_model::{Finding, Weight};

use super::{EntryContext, RunContext};

const ADVICE: &str = "Name the engine (ioengine=) to fail instead of falling back.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(fallback)
}

fn fallback(entry: &EntryContext) -> Option<Finding> {
    entry.members.iter().find_map(|m| {
        let why = m.seen.fallback.as_ref()?;
        let evidence = format!(
            "{} replaced {}: {why}.",
            m.seen.engine,
            m.job.engine.kind.name()
        );
        Some(entry.finding(Weight::Note, evidence, ADVICE))
    })
}
