//! CPU_THROTTLED: a CPU quota stopped this process.

use fathom_model::{Finding, Weight};

use super::RunContext;
use super::context::{of_run, timed};
use crate::figures::counted;

const ADVICE: &str = "Raise or remove the CPU quota of the container or cgroup (cpu.max).";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let throttles = run.recording.host.cpu_throttles.filter(|n| *n > 0);
    let evidence = |n| {
        format!(
            "This host, not the device, limited the run: {} by the CPU quota.",
            counted(n, "throttle")
        )
    };
    let when = || run.sampled(|sample| sample.throttles.is_some_and(|n| n > 0));
    throttles
        .map(|n| {
            timed(
                of_run(Weight::Degrades, evidence(n), ADVICE),
                when(),
                run.recording.elapsed,
            )
        })
        .into_iter()
        .collect()
}
