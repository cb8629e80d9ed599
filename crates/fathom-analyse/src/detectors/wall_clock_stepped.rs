//! WALL_CLOCK_STEPPED: the time of day was set during the run.

use fathom_model::{Finding, Sample, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::duration;

/// Time services steer by at most 500 ppm (adjtimex(2)); more than this in one sample is a step.
const STEP_NS: u64 = 50_000_000;
const ADVICE: &str = "Latencies, rates and intervals are not affected: they use a clock that cannot be set. Do not correlate the times of day of this run with other logs.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let samples = &run.recording.conditions.telemetry.samples;
    let stepped = samples
        .iter()
        .max_by_key(|s| s.wall_step_ns.unsigned_abs())
        .filter(|s| is_step(s));
    let finding = |s: &Sample| {
        let sign = if s.wall_step_ns < 0 { "-" } else { "+" };
        let evidence = format!(
            "The wall clock stepped by {sign}{} within the {} before {} of the run.",
            duration(s.wall_step_ns.unsigned_abs() as f64),
            duration(s.length.get() as f64),
            duration((s.start + s.length).get() as f64),
        );
        of_run(Weight::Note, evidence, ADVICE).with_times(run.sampled(is_step))
    };
    stepped.map(finding).into_iter().collect()
}

fn is_step(sample: &Sample) -> bool {
    sample.wall_step_ns.unsigned_abs() > STEP_NS + sample.length.get() / 1000
}
