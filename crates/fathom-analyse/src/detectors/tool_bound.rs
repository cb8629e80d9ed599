//! TOOL_BOUND: a worker used a whole CPU.

use fathom_model::{Finding, Nanos, Weight};

use super::{Detector, Scene, Seat};
use crate::entry::percent_of;
use crate::figures::{percent, rate};
use crate::members::Member;
use crate::words::is_open_loop;

const CODE: &str = "TOOL_BOUND";
pub(super) const DETECTOR: Detector = Detector { code: CODE, look };

/// A worker that waits for its target has idle time; one above this has none to speak of.
const FULL_PERCENT: f64 = 95.0;
/// CPU clocks tick in milliseconds: shorter runs cannot be judged.
const LEAST: Nanos = Nanos::from_millis(500);
const ADVICE: &str =
    "Treat the figures as a lower bound of the target: use more jobs, larger blocks, or a cheaper engine.";

fn look(scene: &Scene) -> Vec<Finding> {
    scene.each(bound)
}

fn bound(seat: &Seat) -> Option<Finding> {
    let (member, busy) = seat
        .members
        .iter()
        .filter(|m| m.run_time() >= LEAST && waits_asleep(m))
        .map(|m| (m, percent_of(m.seen.usage.user + m.seen.usage.system, m.cpu_time())))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, busy)| *busy >= FULL_PERCENT)?;
    let evidence = format!(
        "Worker {} used {} of a CPU at {} I/Os per second: the tool or this host, not the target, may be the limit.",
        member.job.number,
        percent(busy),
        rate(seat.entry.little.iops),
    );
    let weight = if member.is_null() { Weight::Note } else { Weight::Degrades };
    Some(seat.finding(CODE, weight, evidence, ADVICE))
}

/// Polled completions, busy pauses and open-loop timing burn CPU by design; checking data costs CPU by nature.
fn waits_asleep(member: &Member) -> bool {
    let (job, settings) = (member.job, &member.job.engine.settings);
    let spins = job.pace.think.is_some_and(|t| !t.spin.is_zero());
    !settings.high_priority && !settings.userspace_reap && !spins && job.verify.is_none() && !is_open_loop(&job.pace)
}
