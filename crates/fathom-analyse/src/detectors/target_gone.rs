//! TARGET_GONE: the target's name led elsewhere while the run went on.

use fathom_model::{Finding, TargetConditions, TimeSpan, Weight};

use super::context::of_run;
use super::{Detector, RunContext};
use crate::figures::{bytes, duration};

const CODE: &str = "TARGET_GONE";
pub(super) const DETECTOR: Detector = Detector { code: CODE, detect };

const ADVICE: &str = "Find what removes or replaces the file; what is there under its name now is not what was measured.";

fn detect(scene: &RunContext) -> Vec<Finding> {
    let gone = |target: &TargetConditions| {
        let gone = target.gone?;
        let at = duration(gone.get() as f64);
        let evidence = format!(
            "{} ({}) lost its name {at} into the run; the load went on with a file that nobody can open any more.",
            target.path.display(),
            bytes(target.size.get())
        );
        let since = TimeSpan {
            from: gone,
            to: gone.max(scene.recording.elapsed),
        };
        Some(of_run(CODE, Weight::Degrades, evidence, ADVICE).seen([since]))
    };
    scene
        .recording
        .conditions
        .targets
        .iter()
        .filter_map(gone)
        .collect()
}
