//! Short measurements of the load at other queue depths, after the run: whether the depth or the target was the limit.
//!
//! A run at one depth does not tell (see `fathom_analyse`, module `diagnosis`). The probes take at most a twentieth of the time of the
//! run and three seconds, are recorded apart, and are no part of its figures. One that is refused or fails is left out.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use fathom_linux::interrupts;
use fathom_model::{DepthProbe, Direction, Job, Logs, Nanos, Plan, Recording, RunEnd};

use crate::guard;
use crate::measure;
use crate::session::Session;

/// Share of the time of the run that all probes take together.
const MAX_SHARE_OF_RUN: f64 = 0.05;
/// Time of all probes together.
const MAX_TOTAL_TIME: Nanos = Nanos::from_secs(3);
/// A shorter probe measures little but its own start.
const MIN_PROBE_TIME: Nanos = Nanos::from_millis(50);
/// The shallow depth, half and twice the depth of the run.
const PROBES: u64 = 3;

/// Measures the load of `recording` at depth 1, at half and at twice its depth, where that is meaningful and harmless.
pub fn measure_depths(
    session: &Session,
    recording: &Recording,
    auxiliary: &Path,
) -> Vec<DepthProbe> {
    let plan = &recording.plan;
    let Some(depth) = probed_depth(recording) else {
        return Vec::new();
    };
    let time = recording.elapsed.get() as f64 * MAX_SHARE_OF_RUN;
    let time = Nanos::new((time as u64).min(MAX_TOTAL_TIME.get()) / PROBES);
    if time < MIN_PROBE_TIME {
        return Vec::new();
    }
    let mut depths = vec![1, depth / 2, depth * 2];
    depths.retain(|probed| *probed > 0 && *probed != depth);
    depths.dedup();
    let mut probes = Vec::new();
    for depth in depths {
        if interrupts().load(Relaxed) != 0 {
            break;
        }
        probes.extend(measure_depth(
            session,
            probe_plan(plan, depth, time),
            auxiliary,
        ));
    }
    probes
}

/// The depth of each job, where other depths of the load can be measured: one section in a closed loop whose engine keeps several
/// I/Os in flight, which ended by its plan. Writes are repeated only where the plan repeats them itself and checks nothing.
fn probed_depth(recording: &Recording) -> Option<u32> {
    let jobs = &recording.plan.jobs;
    let first = jobs.first()?;
    let is_closed = |job: &Job| {
        let pace = &job.pace;
        pace.rate.iter().all(|(_, rate)| rate.is_none())
            && pace.think.is_none()
            && pace.flow.is_none()
            && pace.replay.is_none()
            && pace.latency.is_none()
    };
    let is_harmless = |job: &Job| {
        let changes = [Direction::Write, Direction::Trim];
        let reads_only = !changes.iter().any(|way| job.pattern.traffic.uses(*way));
        // What the run left in the page cache would make a buffered probe faster.
        job.files.direct
            && job.verify.is_none()
            && job.limits.ios.is_none()
            && job.start.command_before.is_none()
            && job.start.command_after.is_none()
            && !job.files.layout.unlink
            && !job.files.layout.create_only
            && (reads_only || job.limits.time_based)
    };
    let can_be_probed = jobs.iter().all(|job| {
        job.section == first.section
            && job.engine.kind.moves_data()
            && !job.engine.is_synchronous()
            && is_closed(job)
            && is_harmless(job)
    });
    let succeeded =
        recording.end == RunEnd::Completed && recording.jobs.iter().all(|job| job.error.is_none());
    (can_be_probed && succeeded).then_some(first.queue.depth)
}

/// The plan with another depth and time, without logs.
fn probe_plan(plan: &Plan, depth: u32, time: Nanos) -> Plan {
    let mut plan = plan.clone();
    for job in &mut plan.jobs {
        let queue = &mut job.queue;
        queue.depth = depth;
        queue.low = depth;
        queue.batch_submit = queue.batch_submit.min(depth);
        queue.batch_complete_min = queue.batch_complete_min.min(depth);
        queue.batch_complete_max = queue.batch_complete_max.min(depth);
        job.limits.runtime = Some(time);
        job.limits.time_based = true;
        job.limits.ramp = Nanos::ZERO;
        job.limits.steady = None;
        job.start.delay = (Nanos::ZERO, Nanos::ZERO);
        job.accounting.logs = Logs::default();
        job.accounting.blame = false;
    }
    plan
}

/// One probe; `None` if the guard or the target refuses it.
///
/// Nothing is confirmed for it: a target that needs the user's code is not written a second time.
fn measure_depth(session: &Session, plan: Plan, auxiliary: &Path) -> Option<DepthProbe> {
    let depth: u32 = plan.jobs.iter().map(|job| job.queue.depth).sum();
    let (load, _) = guard::open_targets(
        session,
        &plan,
        &guard::Confirmed::default(),
        &mut guard::Backups::new(auxiliary),
    )
    .ok()?;
    let (recording, _) = measure::measure(load, plan).ok()?;
    let failed = recording.jobs.iter().any(|job| job.error.is_some());
    if failed || recording.end != RunEnd::Completed {
        return None;
    }
    let findings = fathom_analyse::findings(&recording);
    let entry = findings.entries.first()?;
    let ios = Direction::ALL
        .into_iter()
        .map(|direction| entry.directions[direction].ios)
        .sum();
    Some(DepthProbe {
        depth,
        ios,
        iops: entry.little.iops,
        mean_ns: entry.little.mean_ns,
    })
}
