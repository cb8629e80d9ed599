//! DEPTH_NOT_REACHED: fewer I/Os were in flight than requested.

use fathom_model::{Finding, Personality, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{duration, rate};
use crate::job_summary::is_open_loop;
use crate::members::Member;

/// Below half of the requested depth the figures are those of another queue depth; refills and
/// batches cost less than that.
const REACHED: f64 = 0.5;
/// The run must have completed so many times the depth; otherwise filling and draining the queue
/// have too much weight.
const ROUNDS: u64 = 20;
const ADVICE: &str = "The kernel, file system or driver ran these one by one (common with buffered files and some FUSE \
                      or network file systems): use direct=1, another engine, or more jobs.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| shallow(run, entry))
}

/// An engine whose submission takes this share of the latency or more serves the I/Os within the
/// call.
const SERVED_IN_SUBMISSION: f64 = 0.25;

/// A worker that spends this share of its time in the calls of submission runs I/Os one by one there.
const ALWAYS_SUBMITTING: f64 = 0.75;
/// Such a worker fills its queue with I/Os that are complete already, and collects them when it is full: on average half of
/// the queue, one slot more for the I/O that is served, waits to be collected. At small depths that slot counts.
const HALF_FILLED: f64 = 0.6;

/// The mean number of I/Os that are within the call of submission.
fn submitting(entry: &EntryContext) -> f64 {
    let directions = entry.figures.directions.0.iter();
    directions.map(|d| d.iops * d.slat.mean / 1e9).sum()
}

/// The mean number of I/Os that an engine serves within the call of submission. In `fathom run`
/// clat begins before that call, so that it is never shorter than the device's time; such an engine
/// would seem to have half of the depth in flight.
fn in_submission(run: &RunContext, entry: &EntryContext) -> f64 {
    if run.recording.plan.personality == Personality::Fio {
        return 0.0;
    }
    let submitting = submitting(entry);
    if submitting >= entry.figures.little.in_flight * SERVED_IN_SUBMISSION {
        submitting
    } else {
        0.0
    }
}

fn shallow(run: &RunContext, entry: &EntryContext) -> Option<Finding> {
    let little = &entry.figures.little;
    let achieved = little.in_flight - in_submission(run, entry);
    let done = entry.figures.counts.ok
        >= u64::from(entry.members[0].job.queue.depth) * entry.members.len() as u64 * ROUNDS;
    let reached = if submitting(entry) >= entry.members.len() as f64 * ALWAYS_SUBMITTING {
        HALF_FILLED
    } else {
        REACHED
    };
    if !done || !entry.members.iter().all(keeps_full) || achieved >= little.queue_depth * reached {
        return None;
    }
    let evidence = format!(
        "Requested depth {}, achieved {achieved:.1} (Little's law: {} I/Os per second x {} mean latency).",
        little.queue_depth,
        rate(little.iops),
        duration(achieved / little.iops * 1e9),
    );
    Some(entry.finding(Weight::Degrades, evidence, ADVICE))
}

/// Whether the job keeps its queue full: a closed loop without pauses and low-water marks, on an
/// engine that can have more than one I/O in flight.
fn keeps_full(member: &Member) -> bool {
    let job = member.job;
    let (queue, kind) = (&job.queue, job.engine.kind);
    queue.depth > 1
        && queue.low * 2 >= queue.depth
        && queue.batch_complete_min * 2 <= queue.depth
        && !kind.is_synchronous()
        && !matches!(
            kind,
            fathom_model::EngineKind::Null | fathom_model::EngineKind::Vsync
        )
        && !is_open_loop(&job.pace)
        && !job.pace.replay.as_ref().is_some_and(waits_for_others)
        && job.pace.think.is_none()
        && job.verify.is_none()
        && !job.sync.syncs_between_writes()
        && job.accounting.clat
        && !job.accounting.reduced
}

/// A replay by dependencies has as many I/Os in flight as its log.
fn waits_for_others(replay: &fathom_model::Replay) -> bool {
    replay.reading.timing == fathom_model::ReplayTiming::ByDependency
}
