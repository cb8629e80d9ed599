//! LITTLE_DISAGREES: rate and latency contradict the queue depth. See J. D. C. Little, Operations
//! Research 9, 1961.

use fathom_model::{Finding, Little, Nanos, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{duration, percent, rate};
use crate::job_summary::is_open_loop;
use crate::members::Member;

/// Rounding of run times does not explain more in flight than this factor of the possible number.
const ABOVE: f64 = 1.05;
/// Below this share of the depth, the time between I/Os reduces the rate.
const BELOW: f64 = 0.8;
/// Below this share DEPTH_NOT_REACHED reports another depth.
const FAR_BELOW: f64 = 0.5;
/// Run times are in milliseconds, so short runs are not judged.
const LEAST: Nanos = Nanos::from_secs(1);
const TOO_MANY: &str =
    "Either the rate or the latency is wrong: report it as a bug in fathom, with the job file.";
const TOO_FEW: &str =
    "The target could do more with the same latency: use more jobs or a cheaper engine.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    run.each(|entry| {
        (long_enough(entry)
            && entry
                .members
                .iter()
                .all(|m| keeps_busy(m) && !has_lost_ios(m)))
        .then(|| judged(entry))
        .flatten()
    })
}

fn judged(entry: &EntryContext) -> Option<Finding> {
    let little = &entry.figures.little;
    let possible = entry
        .members
        .iter()
        .map(|m| f64::from(depth(m)))
        .sum::<f64>();
    let reached = little.in_flight / possible;
    if reached > ABOVE + carried_over(entry) {
        let evidence = format!(
            "{} in flight by Little's law, but at most {possible} are possible.",
            product(little)
        );
        return Some(entry.finding(Weight::Invalidates, evidence, TOO_MANY));
    }
    let between = (FAR_BELOW..BELOW).contains(&reached)
        || (possible < 1.5 && reached < BELOW && reached > 0.0);
    let evidence = || {
        let idle = percent((1.0 - reached) * 100.0);
        format!(
            "{} in flight, of {possible} possible: {idle} of the time passed between I/Os, in this program.",
            product(little)
        )
    };
    between.then(|| entry.finding(Weight::Note, evidence(), TOO_FEW))
}

/// I/Os that were in flight when the measurement began, after a ramp, count with their whole latency: the product can be above the
/// depth by at most the longest latency as a share of the measured time.
fn carried_over(entry: &EntryContext) -> f64 {
    let longest_ns = entry
        .latencies(|direction| &direction.clat)
        .max()
        .unwrap_or_default();
    let shares = entry
        .members
        .iter()
        .filter(|m| m.seen.measured_from > m.seen.launched)
        .map(|m| {
            let run_time_ns = m.run_time().get().max(1);
            longest_ns.get() as f64 / run_time_ns as f64
        });
    shares.fold(0.0, f64::max)
}

fn product(little: &Little) -> String {
    format!(
        "{} I/Os per second x {} = {:.2}",
        rate(little.iops),
        duration(little.mean_ns),
        little.in_flight
    )
}

/// A synchronous engine has one I/O in flight, whatever iodepth says.
fn depth(member: &Member) -> u32 {
    if member.job.engine.is_synchronous() {
        1
    } else {
        member.job.queue.depth
    }
}

/// All members ran long enough, and at the same time.
fn long_enough(entry: &EntryContext) -> bool {
    let (from, to) = entry.span();
    let whole = to.saturating_sub(from).get() as f64;
    entry
        .members
        .iter()
        .all(|m| m.run_time() >= LEAST && m.run_time().get() as f64 >= 0.9 * whole)
}

/// Whether an I/O never completed. It was in flight all the time, but has no latency, so that the law cannot be applied.
fn has_lost_ios(member: &Member) -> bool {
    let mut directions = member.seen.directions.iter();
    directions.any(|(_, direction)| direction.counts.timed_out > 0)
}

/// A closed loop without pauses, flushes and verification, with recorded latencies.
fn keeps_busy(member: &Member) -> bool {
    let job = member.job;
    let flushes = job.sync.syncs_between_writes();
    let full = job.queue.low * 2 >= job.queue.depth
        && job.queue.batch_complete_min * 2 <= job.queue.depth.max(2);
    let kept = job.accounting.clat && !job.accounting.reduced;
    let paced = is_open_loop(&job.pace) || job.pace.think.is_some();
    !member.is_null()
        && !member.is_observed()
        && full
        && kept
        && !paced
        && !flushes
        && job.verify.is_none()
}
