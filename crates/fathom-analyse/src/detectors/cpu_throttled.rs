//! CPU_THROTTLED: a CPU quota stopped this process.

use fathom_model::{Finding, Weight};

use super::context::{of_run, timed};
use super::{Detector, RunContext};
use crate::figures::counted;

const CODE: &str = "CPU_THROTTLED";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Raise or remove the CPU quota of the container or cgroup (cpu.max).";

fn detect(scene: &RunContext) -> Vec<Finding> {
    let throttles = scene.recording.host.cpu_throttles.filter(|n| *n > 0);
    let evidence = |n| {
        format!(
            "This host, not the device, limited the run: {} by the CPU quota.",
            counted(n, "throttle")
        )
    };
    let when = || scene.sampled(|sample| sample.throttles.is_some_and(|n| n > 0));
    throttles
        .map(|n| {
            timed(
                of_run(CODE, Weight::Degrades, evidence(n), ADVICE),
                when(),
                scene.recording.elapsed,
            )
        })
        .into_iter()
        .collect()
}
