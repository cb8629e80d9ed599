//! TARGET_GONE: the file of the target was removed or replaced during the run.

use fathom_model::{Finding, TargetConditions, TimeSpan, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, duration};

const ADVICE: &str =
    "Find what removes or replaces the file; the path no longer refers to the measured file.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let gone = |target: &TargetConditions| {
        let gone = target.gone?;
        let at = duration(gone.get() as f64);
        let evidence = format!(
            "{} ({}) was removed or replaced {at} into the run; the load continued on a file that can no longer be opened.",
            target.path.display(),
            bytes(target.size.get())
        );
        let since = TimeSpan {
            from: gone,
            to: gone.max(run.recording.elapsed),
        };
        Some(of_run(Weight::Degrades, evidence, ADVICE).with_times([since]))
    };
    run.recording
        .conditions
        .targets
        .iter()
        .filter_map(gone)
        .collect()
}
