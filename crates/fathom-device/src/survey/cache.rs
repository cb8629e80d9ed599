//! Both views of the write cache that sysfs has: the queue's, and what the driver was told by the device.

use fathom_model::{CacheFacts, KernelCache, Transport};

use super::sysfs::Folder;

pub(super) fn cache(folder: &Folder<'_>, transport: Transport) -> CacheFacts {
    let mut facts = CacheFacts {
        kernel: folder
            .text("queue/write_cache")
            .and_then(|text| kernel(&text)),
        kernel_fua: folder.flag("queue/fua"),
        ..CacheFacts::default()
    };
    match scsi_disk(folder) {
        Some(disk) => told_by_scsi(&disk, &mut facts),
        None if transport == Transport::Virtio => told_by_virtio(folder, &mut facts),
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

fn scsi_disk<'a>(folder: &Folder<'a>) -> Option<Folder<'a>> {
    let name = folder.names("device/scsi_disk").into_iter().next()?;
    Some(folder.at(&format!("device/scsi_disk/{name}")))
}

/// `cache_type` is mode page 8 as the sd driver read it from the device. See Documentation/ABI/testing/sysfs-class-scsi_disk.
fn told_by_scsi(disk: &Folder<'_>, facts: &mut CacheFacts) {
    let Some(kind) = disk.text("cache_type") else {
        return;
    };
    let on = kind.starts_with("write back");
    facts.device_on = Some(on);
    facts.device_has = on.then_some(true);
    facts.device_fua = disk.flag("FUA");
    facts.asked = Some("scsi_disk");
}

/// The virtio configuration space holds the host's answer (virtio 1.2, 5.2.4, `writeback`).
fn told_by_virtio(folder: &Folder<'_>, facts: &mut CacheFacts) {
    let Some(kind) = folder.text("cache_type") else {
        return;
    };
    facts.device_on = Some(kind == "write back");
    facts.device_has = facts.device_on.filter(|on| *on);
    facts.asked = Some("virtio");
}
