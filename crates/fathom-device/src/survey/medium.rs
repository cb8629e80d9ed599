//! The storage medium, and whether a hypervisor provides the device.

use fathom_model::{Identity, Medium, Transport};

use super::sysfs_dir::SysfsDir;

/// Strings that identify the disks of hypervisors and clouds.
const VIRTUAL_DISK_NAMES: [&str; 11] = [
    "QEMU",
    "VMware",
    "VBOX",
    "Msft",
    "Microsoft NVMe",
    "Google",
    "PersistentDisk",
    "nvme_card",
    "Amazon Elastic",
    "Virtual disk",
    "Virtual_disk",
];

/// The medium, and the rotation rate in rpm if the disk reports it.
pub(super) fn medium(
    dir: &SysfsDir<'_>,
    transport: Transport,
    identity: &Identity,
    rotational: Option<bool>,
) -> (Medium, Option<u32>) {
    use Transport as T;
    let plain = |medium| (medium, None);
    match transport {
        T::Loop | T::DeviceMapper | T::Md | T::Bcache | T::Drbd => plain(Medium::Below),
        T::RamDisk | T::Zram => plain(Medium::Memory),
        T::Virtio | T::Xen | T::HyperV | T::Nbd | T::Rbd | T::Ublk | T::NullBlk | T::ScsiDebug => {
            plain(Medium::Virtual)
        }
        _ if is_virtual(identity) => plain(Medium::Virtual),
        T::Floppy => plain(Medium::Disk),
        T::Mmc | T::Pmem | T::Ufs => plain(Medium::Flash),
        _ if dir.name().starts_with("sr") => plain(Medium::Optical),
        _ => rotational_medium(dir, transport, rotational),
    }
}

fn is_virtual(identity: &Identity) -> bool {
    let words = [&identity.vendor, &identity.model];
    words.iter().filter_map(|word| word.as_deref()).any(|word| {
        VIRTUAL_DISK_NAMES
            .iter()
            .any(|is_virtual| word.contains(is_virtual))
    })
}

/// The rotation rate that SCSI reports (SBC-4, 6.6.2, VPD page 0xB1), otherwise the kernel's flag.
/// The kernel assumes that a SCSI disk is rotational until the disk says otherwise, so behind a
/// bridge the flag means nothing when set.
fn rotational_medium(
    dir: &SysfsDir<'_>,
    transport: Transport,
    rotational: Option<bool>,
) -> (Medium, Option<u32>) {
    let page = dir.bytes("device/vpd_pgb1");
    let rate = page
        .as_deref()
        .and_then(|page| Some(u16::from_be_bytes([*page.get(4)?, *page.get(5)?])));
    let translated = matches!(
        transport,
        Transport::Usb | Transport::RaidController | Transport::Iscsi | Transport::FibreChannel
    );
    match (rate, rotational) {
        (Some(1), _) => (Medium::Flash, None),
        (Some(rpm @ 0x401..=0xFFFE), _) => (Medium::Disk, Some(u32::from(rpm))),
        (_, Some(false)) => (Medium::Flash, None),
        (_, Some(true)) if !translated => (Medium::Disk, None),
        _ => (Medium::Unknown, None),
    }
}

/// Who provides a virtual disk, as named by the machine's firmware.
pub(super) fn hypervisor(dir: &SysfsDir<'_>, medium: Medium) -> Option<String> {
    let cpu = dir.at("/proc").bytes("cpuinfo").unwrap_or_default();
    let virtual_cpu = String::from_utf8_lossy(&cpu).lines().any(|line| {
        line.split_once(':').is_some_and(|(name, flags)| {
            name.trim() == "flags" && flags.split(' ').any(|f| f == "hypervisor")
        })
    });
    if medium != Medium::Virtual || !virtual_cpu {
        return None;
    }
    let named = dir
        .at("/sys/class/dmi/id")
        .text("sys_vendor")
        .or_else(|| dir.at("/sys/hypervisor").text("type"));
    Some(named.unwrap_or_else(|| "an unnamed hypervisor".to_owned()))
}
