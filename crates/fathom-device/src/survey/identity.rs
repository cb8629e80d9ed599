//! Model, serial number, firmware and world-wide identifier.

use fathom_model::Identity;

use super::sysfs_dir::{SysfsDir, clean};

pub(super) fn identity(dir: &SysfsDir<'_>) -> Identity {
    let first = |files: &[&str]| files.iter().find_map(|file| dir.text(file));
    // NVMe namespaces shared by several controllers are below their subsystem, which has the
    // attributes.
    let subsystem = |file: &str| {
        dir.path
            .contains("/nvme-subsystem/")
            .then(|| dir.at("..").text(file))
            .flatten()
    };
    Identity {
        vendor: vendor(dir),
        model: first(&["device/model", "device/name"]).or_else(|| subsystem("model")),
        serial: first(&["device/serial", "serial"])
            .or_else(|| unit_serial(dir))
            .or_else(|| subsystem("serial")),
        firmware: first(&["device/firmware_rev", "device/rev", "device/fwrev"])
            .or_else(|| subsystem("firmware_rev")),
        wwid: first(&["wwid", "device/wwid", "dm/uuid", "md/uuid", "device/cid"]),
    }
}

/// PCI and virtio drivers report a number, SCSI a name, and disks behind ATA translation the word
/// "ATA".
fn vendor(dir: &SysfsDir<'_>) -> Option<String> {
    dir.text("device/vendor")
        .filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA")
}

/// SCSI vital product data page 0x80 (SPC-4, 7.8.15): a four-byte header, then the serial number.
fn unit_serial(dir: &SysfsDir<'_>) -> Option<String> {
    let page = dir.bytes("device/vpd_pg80")?;
    Some(clean(page.get(4..)?)).filter(|serial| !serial.is_empty())
}
