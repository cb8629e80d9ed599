//! CACHE_SETTING_DISAGREES: the kernel treats a volatile cache as safe and sends no flushes.

use fathom_model::{DeviceFacts, DeviceRecording, Direction, Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::counted;

const ADVICE: &str = "Write \"write back\" to queue/write_cache, or turn the device's own cache off (hdparm -W0, nvme \
                      set-feature 6); until then fsync protects nothing.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    let writes: u64 = run
        .members()
        .filter(|m| !m.is_null())
        .map(|m| m.seen.directions[Direction::Write].counts.ok)
        .sum();
    let devices = run.devices().into_iter().filter(|_| writes > 0);
    let loops = devices.filter_map(|device| finding(&device.before, writes));
    let withheld = run
        .devices()
        .into_iter()
        .filter(|device| writes > 0 && device.before.cache.flushes_withheld());
    withheld
        .map(|device| of_device(device, writes))
        .chain(loops)
        .take(1)
        .collect()
}

/// The device itself reports an enabled volatile cache.
fn of_device(device: &DeviceRecording, writes: u64) -> Finding {
    let evidence = format!(
        "The kernel treats {} as having no volatile cache, but the device reports ({}) one that is enabled: {} went to it without a flush.",
        device.before.name,
        device.before.cache.source.unwrap_or("its own report"),
        counted(writes, "write"),
    );
    of_run(Weight::Degrades, evidence, ADVICE)
}

/// A loop device over a file is always volatile: the kernel sets "write back" when it is created,
/// because only an fsync of the file makes writes durable (drivers/block/loop.c).
fn finding(device: &DeviceFacts, writes: u64) -> Option<Finding> {
    let file = device.backing.as_ref()?;
    let setting = device.queue.setting("write_cache")?;
    (setting == "write through").then(|| {
        let evidence = format!(
            "The kernel treats {} as having no volatile cache ({setting}), but the file below it, {}, has one: {} went to it without a flush.",
            device.name,
            file.path.display(),
            counted(writes, "write"),
        );
        of_run(Weight::Degrades, evidence, ADVICE)
    })
}
