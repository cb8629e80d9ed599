//! INTERRUPTED: the run ended before its plan was complete.

use fathom_model::{Finding, ProgramEnd, RunEnd, TimeSpan, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::duration;
use crate::witnessed::{program_name, signal_name};

const ADVICE: &str = "The figures cover the time up to the end; run again for the whole plan.";

const COMMAND: &str = "The figures cover the time until then.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let end = TimeSpan {
        from: run.recording.elapsed,
        to: run.recording.elapsed,
    };
    let at = duration(end.to.get() as f64);
    if let Some(witnessed) = run.witnessed() {
        let ProgramEnd::Signal(signal) = witnessed.ended else {
            return Vec::new();
        };
        let evidence = format!(
            "{} was killed by {} after {at}.",
            program_name(witnessed),
            signal_name(signal)
        );
        return vec![of_run(Weight::Degrades, evidence, COMMAND).with_times([end])];
    }
    match run.recording.end {
        RunEnd::Completed => Vec::new(),
        RunEnd::Interrupted => {
            let evidence =
                format!("The run was interrupted at {at}; I/O in flight was waited for.");
            vec![of_run(Weight::Degrades, evidence, ADVICE).with_times([end])]
        }
        RunEnd::Aborted => {
            let evidence =
                format!("The run was stopped at {at} without waiting for I/O in flight.");
            vec![of_run(Weight::Invalidates, evidence, ADVICE).with_times([end])]
        }
    }
}
