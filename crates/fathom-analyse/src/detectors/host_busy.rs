//! HOST_BUSY: other programs used the CPUs.

use fathom_model::{Finding, Sample, Weight};

use super::RunContext;
use super::context::{machine_cpus, of_run, timed};
use crate::figures::percent;

/// From here on a runnable thread often has to wait.
const BUSY_PERCENT: f64 = 90.0;
/// Kernel threads that serve the run's own I/O stay below this share of all CPUs.
const FOREIGN_PERCENT: f64 = 20.0;
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
    let evidence = format!(
        "The CPUs of this host were {} busy, {} not by the workers: the host, not the device, may be the limit.",
        percent(busy),
        percent(foreign),
    );
    let when = run.sampled(|sample| mean_busy(sample) >= BUSY_PERCENT);
    vec![timed(
        of_run(Weight::Degrades, evidence, ADVICE),
        when,
        run.recording.elapsed,
    )]
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
