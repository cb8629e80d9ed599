//! CPU_SLOWED: the CPUs ran slower at the end than at the start.

use fathom_model::{Finding, Sample, TimeSpan, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::percent;

/// A larger fall is more than governors cause between samples.
const FALL: f64 = 0.2;
/// Minimum number of samples.
const LEAST: usize = 8;
const ADVICE: &str = "Set the performance governor and check for heat or a power limit; latencies of microseconds depend on the CPU clock.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let known: Vec<&Sample> = run
        .recording
        .conditions
        .telemetry
        .samples
        .iter()
        .filter(|s| s.cpu_mhz.is_some())
        .collect();
    let mhz: Vec<f64> = known.iter().filter_map(|s| s.cpu_mhz).collect();
    if mhz.len() < LEAST {
        return Vec::new();
    }
    let quarter = mhz.len() / 4;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&mhz[..quarter]), mean(&mhz[mhz.len() - quarter..]));
    let fall = 1.0 - last / first.max(1.0);
    if fall < FALL {
        return Vec::new();
    }
    let evidence = format!(
        "The CPUs ran at {first:.0} MHz in the first quarter and at {last:.0} MHz in the last, {} slower.",
        percent(fall * 100.0)
    );
    let slow = known[known.len() - quarter..]
        .iter()
        .map(|s| TimeSpan::of_length(s.start, s.length));
    vec![of_run(Weight::Degrades, evidence, ADVICE).with_times(slow)]
}
