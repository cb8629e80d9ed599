//! Both views of the write cache in sysfs: the queue's, and what the device reported to the driver.

use fathom_model::{CacheFacts, KernelCache, Transport};

use super::sysfs_dir::SysfsDir;

pub(super) fn cache(dir: &SysfsDir<'_>, transport: Transport) -> CacheFacts {
    let mut facts = CacheFacts {
        kernel: dir.text("queue/write_cache").and_then(|text| kernel(&text)),
        kernel_fua: dir.flag("queue/fua"),
        ..CacheFacts::default()
    };
    match scsi_disk(dir) {
        Some(disk) => from_scsi(&disk, &mut facts),
        None if transport == Transport::Virtio => from_virtio(dir, &mut facts),
        None => {}
    }
    facts
}

fn kernel(text: &str) -> Option<KernelCache> {
    match text {
        "write back" => Some(KernelCache::WriteBack),
        "write through" => Some(KernelCache::WriteThrough),
        _ => None,
    }
}

fn scsi_disk<'a>(dir: &SysfsDir<'a>) -> Option<SysfsDir<'a>> {
    let name = dir.names("device/scsi_disk").into_iter().next()?;
    Some(dir.at(&format!("device/scsi_disk/{name}")))
}

/// `cache_type` is mode page 8 as the sd driver read it. See
/// Documentation/ABI/testing/sysfs-class-scsi_disk.
fn from_scsi(disk: &SysfsDir<'_>, facts: &mut CacheFacts) {
    let Some(kind) = disk.text("cache_type") else {
        return;
    };
    let on = kind.starts_with("write back");
    facts.device_on = Some(on);
    facts.device_has = on.then_some(true);
    facts.device_fua = disk.flag("FUA");
    facts.source = Some("scsi_disk");
}

/// The virtio configuration space holds the host's setting (virtio 1.2, 5.2.4, `writeback`).
fn from_virtio(dir: &SysfsDir<'_>, facts: &mut CacheFacts) {
    let Some(kind) = dir.text("cache_type") else {
        return;
    };
    facts.device_on = Some(kind == "write back");
    facts.device_has = facts.device_on.filter(|on| *on);
    facts.source = Some("virtio");
}
