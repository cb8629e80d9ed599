//! SETTINGS_CHANGED: a queue setting of a device changed during the run.

use fathom_model::{DeviceRecording, Finding, Weight};

use super::RunContext;
use super::context::of_run;

/// Settings that the kernel changes by itself.
const KERNEL_SETTINGS: [&str; 2] = ["wbt_lat_usec", "io_poll_delay"];
/// Limit of listed changes.
const MAX_LISTED: usize = 3;
const ADVICE: &str = "The first part of the run had different settings from the last: find what changes them and run again.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let changes: Vec<String> = run.devices().into_iter().flat_map(changes).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let evidence = format!(
        "{} changed during the run: {}.",
        amount(changes.len()),
        listed(&changes)
    );
    vec![of_run(Weight::Degrades, evidence, ADVICE)]
}

fn amount(n: usize) -> String {
    if n == 1 {
        "1 queue setting".to_owned()
    } else {
        format!("{n} queue settings")
    }
}

fn listed(changes: &[String]) -> String {
    let more = changes.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    changes[..changes.len() - more].join("; ") + &rest
}

/// `max_sectors_kb of loop0 from 1280 to 128`.
fn changes(device: &DeviceRecording) -> Vec<String> {
    let Some(after) = &device.after else {
        return Vec::new();
    };
    let changed = |(name, value): &(String, String)| {
        let now = after
            .queue
            .setting(name)
            .filter(|now| now != value && !KERNEL_SETTINGS.contains(&name.as_str()))?;
        Some(format!(
            "{name} of {} from {value} to {now}",
            device.before.name
        ))
    };
    device
        .before
        .queue
        .settings
        .iter()
        .filter_map(changed)
        .collect()
}
