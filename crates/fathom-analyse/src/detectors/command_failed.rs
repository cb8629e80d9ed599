//! COMMAND_FAILED: the watched command ended with an error.

use fathom_model::{Finding, ProgramEnd, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::duration;
use crate::witnessed::program_name;

const ADVICE: &str =
    "Read the output of the command: what it did until then may be only a part of its work.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let failed = run.witnessed().and_then(|witnessed| match witnessed.ended {
        ProgramEnd::Code(0) | ProgramEnd::Signal(_) => None,
        ProgramEnd::Code(code) => Some((witnessed, code)),
    });
    let evidence = |(witnessed, code)| {
        format!(
            "{} ended with exit code {code} after {}.",
            program_name(witnessed),
            duration(run.recording.elapsed.get() as f64)
        )
    };
    failed
        .map(|failed| of_run(Weight::Degrades, evidence(failed), ADVICE))
        .into_iter()
        .collect()
}
