//! How a device is joined to the host: read off the place sysfs gives it among buses and drivers.

use fathom_model::{Identity, Transport};

use super::sysfs::Folder;

/// Drivers whose disks are made by the controller from others, by `proc_name` of their host.
const RAID_DRIVERS: [&str; 14] = [
    "megaraid_sas",
    "megaraid_legacy",
    "hpsa",
    "cciss",
    "aacraid",
    "smartpqi",
    "arcmsr",
    "3w-sas",
    "3w-9xxx",
    "3w-xxxx",
    "ips",
    "gdth",
    "mvumi",
    "pmcraid",
];
/// Block drivers that are known by the name they give.
const BY_NAME: [(&str, Transport); 15] = [
    ("loop", Transport::Loop),
    ("dm-", Transport::DeviceMapper),
    ("md", Transport::Md),
    ("zram", Transport::Zram),
    ("ram", Transport::RamDisk),
    ("pmem", Transport::Pmem),
    ("bcache", Transport::Bcache),
    ("nbd", Transport::Nbd),
    ("rbd", Transport::Rbd),
    ("zd", Transport::Zvol),
    ("drbd", Transport::Drbd),
    ("ublkb", Transport::Ublk),
    ("nullb", Transport::NullBlk),
    ("fd", Transport::Floppy),
    ("mmcblk", Transport::Mmc),
];

/// The first of these that fits: name of the block driver, bus components of the path, driver of the SCSI host.
pub(super) fn transport(folder: &Folder<'_>, name: &str, identity: &Identity) -> Transport {
    let by_name = BY_NAME
        .iter()
        .find(|(prefix, _)| numbered(name, prefix))
        .map(|(_, transport)| *transport);
    by_name
        .or_else(|| nvme(folder, name))
        .or_else(|| paravirtual(folder))
        .unwrap_or_else(|| scsi(folder, identity))
}

fn numbered(name: &str, prefix: &str) -> bool {
    // `md_d0` and `md127`, but not `mdx`.
    let rest = name
        .strip_prefix(prefix)
        .map(|rest| rest.strip_prefix("_d").unwrap_or(rest));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn nvme(folder: &Folder<'_>, name: &str) -> Option<Transport> {
    if !numbered(name, "nvme") {
        return None;
    }
    let controllers = controllers(folder);
    let word = controllers
        .iter()
        .find_map(|controller| controller.text("transport"));
    Some(match word.as_deref() {
        Some("pcie") | None => Transport::Nvme,
        Some(_) => Transport::NvmeFabrics,
    })
}

/// Controllers of an NVMe namespace: its parent, or all of its subsystem's.
pub(super) fn controllers<'a>(folder: &Folder<'a>) -> Vec<Folder<'a>> {
    if !folder.path.contains("/nvme-subsystem/") {
        return if folder.exists("device/transport") {
            vec![folder.at("device")]
        } else {
            Vec::new()
        };
    }
    let subsystem = folder.at("..");
    let names = subsystem.names("");
    let controllers = names
        .iter()
        .filter(|name| numbered(name, "nvme") && subsystem.exists(&format!("{name}/transport")));
    controllers.map(|name| subsystem.at(name)).collect()
}

fn paravirtual(folder: &Folder<'_>) -> Option<Transport> {
    let path = &folder.path;
    let has = |part: &str| path.split('/').any(|component| numbered(component, part));
    match () {
        () if has("virtio") => Some(Transport::Virtio),
        () if path.contains("/vbd-") => Some(Transport::Xen),
        () if path.contains("/VMBUS") || path.to_ascii_lowercase().contains("/vmbus") => {
            Some(Transport::HyperV)
        }
        () if path.contains("/rbd/") => Some(Transport::Rbd),
        () => None,
    }
}

/// Where the path of a SCSI disk leads, and who drives its host.
fn scsi(folder: &Folder<'_>, identity: &Identity) -> Transport {
    let has = |part: &str| {
        folder
            .path
            .split('/')
            .any(|component| numbered(component, part))
    };
    let driver = host_driver(folder);
    let driver = driver.as_deref().unwrap_or_default();
    let ata_disk = folder
        .text("device/vendor")
        .is_some_and(|vendor| vendor == "ATA")
        || folder.exists("device/vpd_pg89");
    match () {
        () if has("ata") && !folder.exists("device/sas_address") => ata(folder),
        () if has("usb") => Transport::Usb,
        () if has("session") => Transport::Iscsi,
        () if folder.path.contains("/rport-") => fibre_or_srp(folder),
        () if driver.starts_with("ufshcd") => Transport::Ufs,
        () if driver == "scsi_debug" || folder.path.contains("/pseudo") => Transport::ScsiDebug,
        () if RAID_DRIVERS.contains(&driver)
            || folder.exists("device/raid_level")
            || logical(identity) =>
        {
            Transport::RaidController
        }
        () if folder.path.contains("/end_device-") || driver.starts_with("mpt") => {
            if ata_disk {
                Transport::Sata
            } else {
                Transport::Sas
            }
        }
        () if has("fw") => Transport::FireWire,
        () if ata_disk => Transport::Sata,
        () if folder.exists("device/scsi_level") => Transport::Scsi,
        () => Transport::Unknown,
    }
}

fn logical(identity: &Identity) -> bool {
    identity
        .model
        .as_deref()
        .is_some_and(|model| model.to_ascii_uppercase().starts_with("LOGICAL VOLUME"))
}

/// A parallel ATA link has no speed of a serial one.
fn ata(folder: &Folder<'_>) -> Transport {
    let speed = ata_link(folder).and_then(|link| link.text("sata_spd"));
    if speed.is_some_and(|speed| speed.contains("unknown")) && !sata_driver(folder) {
        Transport::Pata
    } else {
        Transport::Sata
    }
}

fn sata_driver(folder: &Folder<'_>) -> bool {
    host_driver(folder)
        .is_some_and(|driver| driver.starts_with("ahci") || driver.starts_with("sata"))
}

/// The ATA port's first link, such as `.../ata1/link1/ata_link/link1`.
pub(super) fn ata_link<'a>(folder: &Folder<'a>) -> Option<Folder<'a>> {
    let port = ancestor(folder, |part| numbered(part, "ata"))?;
    let number = port.name().trim_start_matches("ata").to_owned();
    let link = format!("link{number}/ata_link/link{number}");
    port.exists(&link).then(|| port.at(&link))
}

fn fibre_or_srp(folder: &Folder<'_>) -> Transport {
    let host = scsi_host(folder);
    let fibre = host.is_some_and(|host| !host.names("fc_host").is_empty());
    if fibre {
        Transport::FibreChannel
    } else {
        Transport::Srp
    }
}

/// The nearest folder above whose name fits.
pub(super) fn ancestor<'a>(folder: &Folder<'a>, fits: impl Fn(&str) -> bool) -> Option<Folder<'a>> {
    let mut end = folder.path.len();
    while let Some(slash) = folder.path[..end].rfind('/') {
        if fits(&folder.path[slash + 1..end]) {
            return Some(folder.at(&folder.path[..end]));
        }
        end = slash;
    }
    None
}

/// `.../host3`.
pub(super) fn scsi_host<'a>(folder: &Folder<'a>) -> Option<Folder<'a>> {
    ancestor(folder, |part| numbered(part, "host"))
}

fn host_driver(folder: &Folder<'_>) -> Option<String> {
    let host = scsi_host(folder)?;
    let name = host.name().to_owned();
    host.text(&format!("scsi_host/{name}/proc_name"))
        .filter(|name| name != "<NULL>")
}

/// Driver of the SCSI host, of the NVMe controller, or of the nearest device above that has one.
pub(super) fn driver(folder: &Folder<'_>) -> Option<String> {
    if let Some(driver) = host_driver(folder) {
        return Some(driver);
    }
    let start = controllers(folder)
        .into_iter()
        .next()
        .unwrap_or_else(|| folder.at(&folder.path));
    let with = ancestor(&start, |_| true).into_iter().chain(above(&start));
    with.into_iter().find_map(|up| {
        up.exists("driver")
            .then(|| up.at("driver").name().to_owned())
    })
}

/// Every folder above, nearest first, down to `/sys/devices`.
pub(super) fn above<'a>(folder: &Folder<'a>) -> Vec<Folder<'a>> {
    let mut all = Vec::new();
    let mut path = folder.path.as_str();
    while let Some((up, _)) = path
        .rsplit_once('/')
        .filter(|(up, _)| up.len() > "/sys/devices".len())
    {
        all.push(folder.at(up));
        path = up;
    }
    all
}

/// `-1` says that the machine has one memory node or does not know.
pub(super) fn numa_node(folder: &Folder<'_>) -> Option<u32> {
    let start = controllers(folder)
        .into_iter()
        .next()
        .unwrap_or_else(|| folder.at(&folder.path));
    let all = [start.at(&start.path)].into_iter().chain(above(&start));
    all.into_iter()
        .find_map(|up| up.text("numa_node"))
        .and_then(|text| text.parse().ok())
}
