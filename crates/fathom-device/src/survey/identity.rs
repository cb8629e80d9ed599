//! Model, serial number, firmware and world-wide identity.

use fathom_model::Identity;

use super::sysfs::{Folder, clean};

pub(super) fn identity(folder: &Folder<'_>) -> Identity {
    let first = |files: &[&str]| files.iter().find_map(|file| folder.text(file));
    // NVMe namespaces that several controllers share hang below their subsystem, which has the names.
    let subsystem = |file: &str| {
        folder
            .path
            .contains("/nvme-subsystem/")
            .then(|| folder.at("..").text(file))
            .flatten()
    };
    Identity {
        vendor: vendor(folder),
        model: first(&["device/model", "device/name"]).or_else(|| subsystem("model")),
        serial: first(&["device/serial", "serial"])
            .or_else(|| unit_serial(folder))
            .or_else(|| subsystem("serial")),
        firmware: first(&["device/firmware_rev", "device/rev", "device/fwrev"])
            .or_else(|| subsystem("firmware_rev")),
        wwid: first(&["wwid", "device/wwid", "dm/uuid", "md/uuid", "device/cid"]),
    }
}

/// PCI and virtio drivers put a number there, SCSI a name; disks behind ATA translation the word itself.
fn vendor(folder: &Folder<'_>) -> Option<String> {
    folder
        .text("device/vendor")
        .filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA")
}

/// SCSI vital product data page 0x80 (SPC-4, 7.8.15): four bytes of header, then the number.
fn unit_serial(folder: &Folder<'_>) -> Option<String> {
    let page = folder.bytes("device/vpd_pg80")?;
    Some(clean(page.get(4..)?)).filter(|serial| !serial.is_empty())
}
