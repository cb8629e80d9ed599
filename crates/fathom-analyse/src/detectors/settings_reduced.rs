//! SETTINGS_REDUCED: a queue setting, perhaps from an earlier test, limits the device.

use fathom_model::{DeviceFacts, Direction, Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::bytes;

/// The kernel's default if the device supports more (BLK_DEF_MAX_SECTORS of 2.6.39 to 6.12), KiB.
const DEFAULT_KIB: u64 = 1280;
const ADVICE: &str = "Settings outlive tests, and even the removal of a loop device: restore them in /sys/block/*/queue, or keep and report them.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let devices = run.devices().into_iter().map(|device| &device.before);
    devices
        .filter_map(|device| reduced(run, device).or_else(|| iostats_off(device)))
        .take(1)
        .collect()
}

fn reduced(run: &RunContext, device: &DeviceFacts) -> Option<Finding> {
    let kib = |name| device.queue.setting(name)?.parse::<u64>().ok();
    let (now, could) = (
        kib("max_sectors_kb")?,
        kib("max_hw_sectors_kb")?.min(DEFAULT_KIB),
    );
    let largest = run
        .members()
        .filter(|m| !m.is_null())
        .map(|m| largest_block(m.job))
        .max()?;
    if now >= could || largest <= now * 1024 {
        return None;
    }
    let evidence = format!(
        "max_sectors_kb of {} is {now} where {could} is usual: each I/O of {} is split into {} requests.",
        device.name,
        bytes(largest),
        largest.div_ceil(now.max(1) * 1024),
    );
    Some(of_run(Weight::Note, evidence, ADVICE))
}

fn largest_block(job: &fathom_model::Job) -> u64 {
    let used = Direction::ALL
        .into_iter()
        .filter(|d| job.pattern.traffic.uses(*d));
    used.map(|d| u64::from(job.pattern.block_size[d].max()))
        .max()
        .unwrap_or(0)
}

/// Without counters several detectors do not work.
fn iostats_off(device: &DeviceFacts) -> Option<Finding> {
    (device.queue.setting("iostats") == Some("0")).then(|| {
        let name = &device.name;
        let evidence = format!("iostats of {name} is 0: the device's I/O is not counted, and 3 checks (page cache, foreign I/O, split requests) cannot work.");
        of_run(Weight::Note, evidence, ADVICE)
    })
}
