//! SOFT_PAYLOAD: written data that can be compressed or deduplicated.

use fathom_model::{Direction, Fill, Finding, Payload, Weight};

use super::{EntryContext, RunContext};

const ADVICE: &str = "Devices and file systems that compress or deduplicate are faster with such data: use fresh \
                      random data (refill_buffers, or scramble_buffers as by default) for figures of the medium.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(compressible)
}

fn compressible(entry: &EntryContext) -> Option<Finding> {
    let writers = entry
        .members
        .iter()
        .filter(|m| m.seen.directions[Direction::Write].counts.ok > 0 && !m.is_null());
    let what = writers.map(|m| &m.job.payload).find_map(kind)?;
    Some(entry.finding(
        Weight::Note,
        format!("The data written was {what}."),
        ADVICE,
    ))
}

fn kind(payload: &Payload) -> Option<String> {
    match &payload.fill {
        Fill::Zeroes => Some("zeros".to_owned()),
        Fill::Pattern(_) => Some("one repeated pattern".to_owned()),
        Fill::Compressible { percent, .. } if *percent > 0 => {
            Some(format!("{percent} % compressible"))
        }
        _ if payload.dedupe_percent > 0 => Some(format!(
            "{} % repeats of earlier blocks",
            payload.dedupe_percent
        )),
        Fill::Random if !payload.refill && !payload.scramble => {
            Some("the same block repeated".to_owned())
        }
        _ => None,
    }
}
