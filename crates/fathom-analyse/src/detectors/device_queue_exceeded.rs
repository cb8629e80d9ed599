//! DEVICE_QUEUE_EXCEEDED: more I/Os may be in flight than the device accepts.

use fathom_model::{Finding, Weight};

use super::{EntryContext, RunContext};
use crate::figures::{counted, duration};

const ADVICE: &str = "Their wait in the kernel is part of the latency. To measure the device itself, use at most its own queue depth.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    // With several targets the number in flight at one of them is not known.
    if run.recording.targets.len() != 1 {
        return Vec::new();
    }
    let accepted = run
        .devices()
        .into_iter()
        .filter_map(|device| {
            Some((
                device.before.queue.device_depth?,
                device.before.name.as_str(),
            ))
        })
        .min();
    let Some((accepted, name)) = accepted else {
        return Vec::new();
    };
    run.each(|entry| exceeded(entry, accepted, name))
}

/// The number in flight is known by Little's law; what is above the device's own depth waits before it.
fn exceeded(entry: &EntryContext, accepted: u32, device: &str) -> Option<Finding> {
    let direct = entry
        .members
        .iter()
        .all(|m| m.job.files.direct && !m.is_null());
    let requested = entry.figures.depth * entry.figures.members;
    let in_flight = entry.figures.little.in_flight;
    if !direct || requested <= accepted || in_flight <= f64::from(accepted) {
        return None;
    }
    let waiting = in_flight - f64::from(accepted);
    let wait = waiting / entry.figures.little.iops * 1e9;
    let evidence = format!(
        "{in_flight:.1} of {requested} requested I/Os were in flight on average; {device} accepts {} at once, so {waiting:.1} waited in \
         the kernel, {} each.",
        counted(u64::from(accepted), "command"),
        duration(wait),
    );
    Some(entry.finding(Weight::Note, evidence, ADVICE))
}
