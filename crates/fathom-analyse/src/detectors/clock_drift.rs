//! CLOCK_DRIFT: the clock used disagrees with the kernel.

use fathom_model::{Finding, Weight};

use super::context::of_run;
use super::{Detector, RunContext};

const CODE: &str = "CLOCK_DRIFT";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

/// The most by which time services steer the kernel's clock, adjtimex(2): MAXFREQ.
const LIMIT_PPM: f64 = 500.0;
const ADVICE: &str = "Times and rates are wrong by about this share; use another clock source.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    let clock = &scene.recording.clock;
    if clock.drift_ppm.abs() <= LIMIT_PPM {
        return Vec::new();
    }
    let evidence = format!(
        "The {} clock drifted {:.0} ppm from CLOCK_MONOTONIC during the run (limit {LIMIT_PPM:.0}).",
        clock.source,
        clock.drift_ppm.abs()
    );
    vec![of_run(CODE, Weight::Degrades, evidence, ADVICE)]
}
