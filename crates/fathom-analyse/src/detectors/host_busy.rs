//! HOST_BUSY: other programs used the CPUs.

use fathom_model::{Finding, Sample, Weight};

use super::RunContext;
use super::context::{machine_cpus, of_run, timed};
use crate::entry::percent_of;
use crate::figures::{duration, percent};
use crate::members::Member;
use crate::witnessed::program_name;

/// From here on a runnable thread often has to wait.
const BUSY_PERCENT: f64 = 90.0;
/// Kernel threads that serve the run's own I/O stay below this share of all CPUs.
const FOREIGN_PERCENT: f64 = 20.0;
/// A worker that waited for a CPU for at least this share of its time was delayed by the other programs. Wake-ups alone stay
/// below it at the rates at which a busy host is found.
const WAITED_PERCENT: f64 = 5.0;
const ADVICE: &str = "Stop the other programs, or read the result as a lower bound.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let host = &run.recording.host;
    let Some(busy) = host.busy_percent.filter(|busy| *busy >= BUSY_PERCENT) else {
        return Vec::new();
    };
    let foreign = busy - ours(run);
    if foreign < FOREIGN_PERCENT {
        return Vec::new();
    }
    let effect = match delayed(run.members()) {
        // How long processes of a command waited for a CPU is not counted when they end.
        _ if run.witnessed().is_some() => ".".to_owned(),
        Some(member) => format!(
            ", and worker {} waited {} for a CPU ({} of its time): the host, not the device, may be the limit.",
            member.job.number,
            duration(member.seen.usage.waited.get() as f64),
            percent(waited_share(member)),
        ),
        None => format!(
            ". The workers waited for a CPU for at most {} of their time, so that this does not show the host as the limit.",
            percent(run.members().map(waited_share).fold(0.0, f64::max)),
        ),
    };
    let evidence = format!(
        "The CPUs of this host were {} busy, {} not by {}{effect}",
        percent(busy),
        percent(foreign),
        run.witnessed().map_or("the workers", program_name),
    );
    let when = run.sampled(|sample| mean_busy(sample) >= BUSY_PERCENT);
    vec![timed(
        of_run(Weight::Degrades, evidence, ADVICE),
        when,
        run.recording.elapsed,
    )]
}

/// The worker that waited for a CPU for the largest share of its time, if that is long enough to have limited the load.
pub(crate) fn delayed<'a, 'b: 'a>(
    members: impl Iterator<Item = &'a Member<'b>>,
) -> Option<&'a Member<'b>> {
    members
        .filter(|member| waited_share(member) >= WAITED_PERCENT)
        .max_by(|a, b| waited_share(a).total_cmp(&waited_share(b)))
}

pub(crate) fn waited_share(member: &Member) -> f64 {
    percent_of(member.seen.usage.waited, member.cpu_time())
}

fn mean_busy(sample: &Sample) -> f64 {
    sample.cpus.iter().map(|cpu| cpu.busy).sum::<f64>() / sample.cpus.len().max(1) as f64
}

/// CPU of the workers as a share of all CPUs.
fn ours(run: &RunContext) -> f64 {
    let used: f64 = run
        .members()
        .map(|m| (m.seen.usage.user + m.seen.usage.system).as_secs_f64())
        .sum();
    let all = run.recording.elapsed.as_secs_f64() * f64::from(machine_cpus(run));
    if all > 0.0 { used * 100.0 / all } else { 0.0 }
}
