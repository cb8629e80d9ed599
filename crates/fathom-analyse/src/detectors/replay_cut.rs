//! REPLAY_CUT: the run ended before the log did.

use fathom_model::{Finding, RunEnd, Weight};

use super::{Detector, EntryContext, RunContext};
use crate::figures::count;
use crate::members::Member;

const CODE: &str = "REPLAY_CUT";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str =
    "The figures hold for the first part of the log; leave runtime out to replay all of it.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    if scene.recording.end != RunEnd::Completed {
        return Vec::new();
    }
    scene.each(cut)
}

fn cut(seat: &EntryContext) -> Option<Finding> {
    let replay = seat.replay()?;
    let whole = |m: &&Member| {
        m.seen.error.is_none() && !m.seen.skipped && !m.died() && m.job.pace.replay.is_some()
    };
    let members = || seat.members.iter().filter(whole);
    let held: u64 = members()
        .flat_map(|m| &m.job.pace.replay)
        .map(|replay| replay.ios.0.iter().sum::<u64>())
        .sum();
    let done: u64 = members().map(handed_over).sum();
    if done >= held {
        return None;
    }
    let evidence = format!(
        "{} of the {} I/Os of {} were handed over before the end.",
        count(done),
        count(held),
        replay.log
    );
    Some(seat.finding(CODE, Weight::Degrades, evidence, ADVICE))
}

/// Measured or not.
fn handed_over(member: &Member) -> u64 {
    let measured = member.seen.directions.iter().map(|(_, d)| &d.counts);
    measured
        .chain(&member.seen.warmup.0)
        .map(|counts| counts.planned - counts.not_sent)
        .sum()
}
