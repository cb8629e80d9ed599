//! SUMMARY_DISAGREES: intervals and totals of a job do not add up.

use fathom_model::{Direction, Finding, Histogram, Weight};

use super::{EntryContext, RunContext};
use crate::figures::count;
use crate::members::Member;

const ADVICE: &str =
    "This is a bug in fathom: report it with the job file, and do not use the figures.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| {
        entry
            .members
            .iter()
            .filter(|m| !m.died())
            .find_map(|m| disagreement(entry, m))
    })
}

fn disagreement(entry: &EntryContext, member: &Member) -> Option<Finding> {
    let evidence = Direction::ALL
        .into_iter()
        .find_map(|d| differs(member, d))?;
    Some(entry.finding(Weight::Invalidates, evidence, ADVICE))
}

fn differs(member: &Member, direction: Direction) -> Option<String> {
    let total = &member.seen.directions[direction];
    let parts = || {
        member
            .seen
            .intervals
            .iter()
            .map(|i| &i.directions[direction])
    };
    let ios: u64 = parts().map(|p| p.ios).sum();
    let bytes: u64 = parts().map(|p| p.bytes).sum();
    let mut clat = Histogram::new();
    parts().for_each(|p| p.clat.add_to(&mut clat));
    let (c, word) = (&total.counts, direction.name());
    let kept = member.job.accounting.clat && !member.job.accounting.reduced;
    let latencies = kept && clat.count() > 0 && clat != total.clat;
    (ios != c.ok || bytes != c.bytes_ok || latencies).then(|| {
        format!(
            "The intervals of job {} hold {} {word}s, {} bytes and {} latencies; its totals {}, {} and {}.",
            member.job.number,
            count(ios),
            count(bytes),
            count(clat.count()),
            count(c.ok),
            count(c.bytes_ok),
            count(total.clat.count()),
        )
    })
}
