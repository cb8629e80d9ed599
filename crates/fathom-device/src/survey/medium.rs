//! What the data lies on, and whether a hypervisor makes the device.

use fathom_model::{Identity, Medium, Transport};

use super::sysfs::Folder;

/// Words by which hypervisors and clouds name the disks they make.
const MADE: [&str; 11] = [
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

/// Medium, and turns per minute of a disk that tells.
pub(super) fn medium(
    folder: &Folder<'_>,
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
        _ if made(identity) => plain(Medium::Virtual),
        T::Floppy => plain(Medium::Disk),
        T::Mmc | T::Pmem | T::Ufs => plain(Medium::Flash),
        _ if folder.name().starts_with("sr") => plain(Medium::Optical),
        _ => turning(folder, transport, rotational),
    }
}

fn made(identity: &Identity) -> bool {
    let words = [&identity.vendor, &identity.model];
    words
        .iter()
        .filter_map(|word| word.as_deref())
        .any(|word| MADE.iter().any(|made| word.contains(made)))
}

/// The rotation rate of SCSI (SBC-4, 6.6.2, VPD page 0xB1) where it is told, else the kernel's flag. The kernel takes
/// every SCSI disk for a turning one until it hears otherwise, so behind translators its "yes" says nothing.
fn turning(
    folder: &Folder<'_>,
    transport: Transport,
    rotational: Option<bool>,
) -> (Medium, Option<u32>) {
    let page = folder.bytes("device/vpd_pgb1");
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

/// Who makes a virtual disk, as the firmware of the machine names him.
pub(super) fn hypervisor(folder: &Folder<'_>, medium: Medium) -> Option<String> {
    let cpu = folder.at("/proc").bytes("cpuinfo").unwrap_or_default();
    let virtual_cpu = String::from_utf8_lossy(&cpu).lines().any(|line| {
        line.split_once(':').is_some_and(|(name, flags)| {
            name.trim() == "flags" && flags.split(' ').any(|f| f == "hypervisor")
        })
    });
    if medium != Medium::Virtual || !virtual_cpu {
        return None;
    }
    let named = folder
        .at("/sys/class/dmi/id")
        .text("sys_vendor")
        .or_else(|| folder.at("/sys/hypervisor").text("type"));
    Some(named.unwrap_or_else(|| "an unnamed hypervisor".to_owned()))
}
