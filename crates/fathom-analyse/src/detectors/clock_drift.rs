//! CLOCK_DRIFT: the clock used disagrees with the kernel.

use fathom_model::{Finding, Weight};

use super::RunContext;
use super::context::of_run;

/// The largest rate correction by time services, adjtimex(2): MAXFREQ.
const LIMIT_PPM: f64 = 500.0;
const ADVICE: &str = "Times and rates are wrong by about this share; use another clock source.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let clock = &run.recording.clock;
    if clock.drift_ppm.abs() <= LIMIT_PPM {
        return Vec::new();
    }
    let evidence = format!(
        "The {} clock drifted {:.0} ppm from CLOCK_MONOTONIC during the run (limit {LIMIT_PPM:.0}).",
        clock.source,
        clock.drift_ppm.abs()
    );
    vec![of_run(Weight::Degrades, evidence, ADVICE)]
}
