//! STEAL: the hypervisor gave CPU time of this machine to other guests.

use fathom_model::{Finding, Sample, Weight};

use super::RunContext;
use super::context::{machine_cpus, of_run, timed};
use crate::figures::percent;
use crate::job_summary::is_open_loop;
use crate::members::Member;
use crate::witnessed::program_name;

/// Above half a percent, steal visibly affects the tail latencies of fast devices.
const LIMIT_PERCENT: f64 = 0.5;
/// The kernel counts steal in clock ticks. Fewer than this many can be rounding.
const LEAST_TICKS: f64 = 3.0;
/// Ticks per second and CPU in /proc/stat: USER_HZ, 100 on every architecture that Linux still supports (proc(5)).
const TICKS_PER_SECOND: f64 = 100.0;
/// It changes the figures shown when it can have delayed more I/Os than lie above p99.9.
const DELAYED_PERCENT: f64 = 0.1;
const ADVICE: &str =
    "Compare only with runs of similar steal, or use a machine with dedicated CPUs.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let stolen = run
        .recording
        .host
        .steal_percent
        .filter(|steal| *steal > LIMIT_PERCENT)
        .filter(|steal| ticks(run, *steal) >= LEAST_TICKS);
    // CPU time is stolen from an I/O only while a worker needs the CPU for it.
    let delayed = |steal: f64| steal * cpu_share(run);
    let evidence = |steal| {
        let effect = if delayed(steal) < DELAYED_PERCENT {
            format!(
                " {} used {} of a CPU, so that it can have delayed {} of the I/Os.",
                run.witnessed().map_or("The workers", program_name),
                percent(100.0 * cpu_share(run)),
                percent(delayed(steal))
            )
        } else {
            String::new()
        };
        format!(
            "Steal {} of CPU time during the run (limit {}).{effect}",
            percent(steal),
            percent(LIMIT_PERCENT)
        )
    };
    let weight = |steal| {
        if delayed(steal) < DELAYED_PERCENT {
            Weight::Note
        } else {
            Weight::Degrades
        }
    };
    let when = || run.sampled(|sample| mean_stolen(sample) > LIMIT_PERCENT);
    stolen
        .map(|steal| {
            timed(
                of_run(weight(steal), evidence(steal), ADVICE),
                when(),
                run.recording.elapsed,
            )
        })
        .into_iter()
        .collect()
}

/// The highest share of its time that a worker used a CPU. In an open loop all of its time counts: a worker that wakes up late
/// submits late.
fn cpu_share(run: &RunContext) -> f64 {
    let share = |member: &Member| {
        if is_open_loop(&member.job.pace) {
            1.0
        } else {
            member.cpu_share()
        }
    };
    run.members().map(share).fold(0.0, f64::max).min(1.0)
}

/// How many clock ticks `steal`, in percent of all CPUs, is in this run.
fn ticks(run: &RunContext, steal: f64) -> f64 {
    let available =
        run.recording.elapsed.as_secs_f64() * f64::from(machine_cpus(run)) * TICKS_PER_SECOND;
    // The share was calculated from whole ticks: round what the division lost.
    (available * steal / 100.0).round()
}

fn mean_stolen(sample: &Sample) -> f64 {
    sample.cpus.iter().map(|cpu| cpu.stolen).sum::<f64>() / sample.cpus.len().max(1) as f64
}
