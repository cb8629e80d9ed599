//! STEAL: the hypervisor gave CPU time of this machine to others.

use fathom_model::{Finding, Sample, Weight};

use super::RunContext;
use super::context::{of_run, timed};
use crate::figures::percent;

/// Above half a percent, tails of microsecond devices are visibly the neighbours'.
const LIMIT_PERCENT: f64 = 0.5;
const ADVICE: &str =
    "Compare only with runs of similar steal, or use a machine with dedicated CPUs.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let stolen = run
        .recording
        .host
        .steal_percent
        .filter(|steal| *steal > LIMIT_PERCENT);
    let evidence = |steal| {
        format!(
            "Steal {} of CPU time during the run (limit {}).",
            percent(steal),
            percent(LIMIT_PERCENT)
        )
    };
    let when = || run.sampled(|sample| mean_stolen(sample) > LIMIT_PERCENT);
    stolen
        .map(|steal| {
            timed(
                of_run(Weight::Degrades, evidence(steal), ADVICE),
                when(),
                run.recording.elapsed,
            )
        })
        .into_iter()
        .collect()
}

fn mean_stolen(sample: &Sample) -> f64 {
    sample.cpus.iter().map(|cpu| cpu.stolen).sum::<f64>() / sample.cpus.len().max(1) as f64
}
