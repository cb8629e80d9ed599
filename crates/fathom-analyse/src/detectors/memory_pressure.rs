//! MEMORY_PRESSURE: all programs on this machine waited for memory.

use fathom_model::{Finding, Weight};

use super::RunContext;
use super::context::{of_run, timed};
use crate::figures::{duration, percent};

/// Above this share of the run, tail latencies are caused by reclaim and swapping.
const LIMIT_PERCENT: f64 = 1.0;
const ADVICE: &str = "Free memory or run on a larger machine: reclaim and swapping use the same devices and CPUs as the load.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let samples = &run.recording.conditions.telemetry.samples;
    let lost =
        |s: &fathom_model::Sample| s.memory_pressure.unwrap_or(0.0) * s.length.get() as f64 / 100.0;
    let (lost, whole) = (
        samples.iter().map(lost).sum::<f64>(),
        samples.iter().map(|s| s.length.get()).sum::<u64>(),
    );
    let share = lost * 100.0 / (whole as f64).max(1.0);
    if share < LIMIT_PERCENT {
        return Vec::new();
    }
    let evidence = format!(
        "All tasks of this machine waited for memory for {} of the run ({}).",
        duration(lost),
        percent(share)
    );
    let when = run.sampled(|sample| {
        sample
            .memory_pressure
            .is_some_and(|share| share >= LIMIT_PERCENT)
    });
    vec![timed(
        of_run(Weight::Degrades, evidence, ADVICE),
        when,
        run.recording.elapsed,
    )]
}
