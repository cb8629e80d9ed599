//! REPLAY_CUT: the run ended before the log did.

use fathom_model::{Finding, RunEnd, Weight};

use super::{EntryContext, RunContext};
use crate::figures::count;
use crate::members::Member;

const ADVICE: &str =
    "The figures cover the first part of the log; remove runtime to replay all of it.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if run.recording.end != RunEnd::Completed {
        return Vec::new();
    }
    run.each(cut)
}

fn cut(entry: &EntryContext) -> Option<Finding> {
    let replay = entry.replay()?;
    let whole = |m: &&Member| {
        m.seen.error.is_none() && !m.seen.skipped && !m.died() && m.job.pace.replay.is_some()
    };
    let members = || entry.members.iter().filter(whole);
    let held: u64 = members()
        .flat_map(|m| &m.job.pace.replay)
        .map(|replay| replay.ios.0.iter().sum::<u64>())
        .sum();
    let done: u64 = members().map(submitted).sum();
    if done >= held {
        return None;
    }
    let evidence = format!(
        "{} of the {} I/Os of {} were submitted before the end.",
        count(done),
        count(held),
        replay.log
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}

/// Measured or not.
fn submitted(member: &Member) -> u64 {
    let measured = member.seen.directions.iter().map(|(_, d)| &d.counts);
    measured
        .chain(&member.seen.warmup.0)
        .map(|counts| counts.planned - counts.not_sent)
        .sum()
}
