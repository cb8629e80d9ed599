//! How a device is attached to the host, from its path in sysfs and its drivers.

use fathom_model::{Identity, Transport};

use super::sysfs_dir::SysfsDir;

/// Drivers of RAID controllers that expose logical disks, by `proc_name` of their host.
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
/// Block drivers recognised by the names of their devices.
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

/// The first match of: name of the block driver, bus in the path, driver of the SCSI host.
pub(super) fn transport(dir: &SysfsDir<'_>, name: &str, identity: &Identity) -> Transport {
    let by_name = BY_NAME
        .iter()
        .find(|(prefix, _)| numbered(name, prefix))
        .map(|(_, transport)| *transport);
    by_name
        .or_else(|| nvme(dir, name))
        .or_else(|| paravirtual(dir))
        .unwrap_or_else(|| scsi(dir, identity))
}

fn numbered(name: &str, prefix: &str) -> bool {
    // `md_d0` and `md127`, but not `mdx`.
    let rest = name
        .strip_prefix(prefix)
        .map(|rest| rest.strip_prefix("_d").unwrap_or(rest));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn nvme(dir: &SysfsDir<'_>, name: &str) -> Option<Transport> {
    if !numbered(name, "nvme") {
        return None;
    }
    let controllers = controllers(dir);
    let word = controllers
        .iter()
        .find_map(|controller| controller.text("transport"));
    Some(match word.as_deref() {
        Some("pcie") | None => Transport::Nvme,
        Some(_) => Transport::NvmeFabrics,
    })
}

/// Controllers of an NVMe namespace: its parent, or all of its subsystem.
pub(super) fn controllers<'a>(dir: &SysfsDir<'a>) -> Vec<SysfsDir<'a>> {
    if !dir.path.contains("/nvme-subsystem/") {
        return if dir.exists("device/transport") {
            vec![dir.at("device")]
        } else {
            Vec::new()
        };
    }
    let subsystem = dir.at("..");
    let names = subsystem.names("");
    let controllers = names
        .iter()
        .filter(|name| numbered(name, "nvme") && subsystem.exists(&format!("{name}/transport")));
    controllers.map(|name| subsystem.at(name)).collect()
}

fn paravirtual(dir: &SysfsDir<'_>) -> Option<Transport> {
    let path = &dir.path;
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

/// From the path of a SCSI disk and the driver of its host.
fn scsi(dir: &SysfsDir<'_>, identity: &Identity) -> Transport {
    let has = |part: &str| {
        dir.path
            .split('/')
            .any(|component| numbered(component, part))
    };
    let driver = host_driver(dir);
    let driver = driver.as_deref().unwrap_or_default();
    let ata_disk = dir
        .text("device/vendor")
        .is_some_and(|vendor| vendor == "ATA")
        || dir.exists("device/vpd_pg89");
    match () {
        () if has("ata") && !dir.exists("device/sas_address") => ata(dir),
        () if has("usb") => Transport::Usb,
        () if has("session") => Transport::Iscsi,
        () if dir.path.contains("/rport-") => fibre_or_srp(dir),
        () if driver.starts_with("ufshcd") => Transport::Ufs,
        () if driver == "scsi_debug" || dir.path.contains("/pseudo") => Transport::ScsiDebug,
        () if RAID_DRIVERS.contains(&driver)
            || dir.exists("device/raid_level")
            || logical(identity) =>
        {
            Transport::RaidController
        }
        () if dir.path.contains("/end_device-") || driver.starts_with("mpt") => {
            if ata_disk {
                Transport::Sata
            } else {
                Transport::Sas
            }
        }
        () if has("fw") => Transport::FireWire,
        () if ata_disk => Transport::Sata,
        () if dir.exists("device/scsi_level") => Transport::Scsi,
        () => Transport::Unknown,
    }
}

fn logical(identity: &Identity) -> bool {
    identity
        .model
        .as_deref()
        .is_some_and(|model| model.to_ascii_uppercase().starts_with("LOGICAL VOLUME"))
}

/// A parallel ATA link has no serial link speed.
fn ata(dir: &SysfsDir<'_>) -> Transport {
    let speed = ata_link(dir).and_then(|link| link.text("sata_spd"));
    if speed.is_some_and(|speed| speed.contains("unknown")) && !sata_driver(dir) {
        Transport::Pata
    } else {
        Transport::Sata
    }
}

fn sata_driver(dir: &SysfsDir<'_>) -> bool {
    host_driver(dir).is_some_and(|driver| driver.starts_with("ahci") || driver.starts_with("sata"))
}

/// The ATA port's first link, such as `.../ata1/link1/ata_link/link1`.
pub(super) fn ata_link<'a>(dir: &SysfsDir<'a>) -> Option<SysfsDir<'a>> {
    let port = ancestor(dir, |part| numbered(part, "ata"))?;
    let number = port.name().trim_start_matches("ata").to_owned();
    let link = format!("link{number}/ata_link/link{number}");
    port.exists(&link).then(|| port.at(&link))
}

fn fibre_or_srp(dir: &SysfsDir<'_>) -> Transport {
    let host = scsi_host(dir);
    let fibre = host.is_some_and(|host| !host.names("fc_host").is_empty());
    if fibre {
        Transport::FibreChannel
    } else {
        Transport::Srp
    }
}

/// The nearest ancestor directory whose name matches.
pub(super) fn ancestor<'a>(
    dir: &SysfsDir<'a>,
    fits: impl Fn(&str) -> bool,
) -> Option<SysfsDir<'a>> {
    let mut end = dir.path.len();
    while let Some(slash) = dir.path[..end].rfind('/') {
        if fits(&dir.path[slash + 1..end]) {
            return Some(dir.at(&dir.path[..end]));
        }
        end = slash;
    }
    None
}

/// `.../host3`.
pub(super) fn scsi_host<'a>(dir: &SysfsDir<'a>) -> Option<SysfsDir<'a>> {
    ancestor(dir, |part| numbered(part, "host"))
}

fn host_driver(dir: &SysfsDir<'_>) -> Option<String> {
    let host = scsi_host(dir)?;
    let name = host.name().to_owned();
    host.text(&format!("scsi_host/{name}/proc_name"))
        .filter(|name| name != "<NULL>")
}

/// Driver of the SCSI host, of the NVMe controller, or of the nearest device above that has one.
pub(super) fn driver(dir: &SysfsDir<'_>) -> Option<String> {
    if let Some(driver) = host_driver(dir) {
        return Some(driver);
    }
    let start = controllers(dir)
        .into_iter()
        .next()
        .unwrap_or_else(|| dir.at(&dir.path));
    let with = ancestor(&start, |_| true).into_iter().chain(above(&start));
    with.into_iter().find_map(|up| {
        up.exists("driver")
            .then(|| up.at("driver").name().to_owned())
    })
}

/// All ancestor directories, nearest first, up to `/sys/devices`.
pub(super) fn above<'a>(dir: &SysfsDir<'a>) -> Vec<SysfsDir<'a>> {
    let mut all = Vec::new();
    let mut path = dir.path.as_str();
    while let Some((up, _)) = path
        .rsplit_once('/')
        .filter(|(up, _)| up.len() > "/sys/devices".len())
    {
        all.push(dir.at(up));
        path = up;
    }
    all
}

/// `-1` means one memory node or unknown.
pub(super) fn numa_node(dir: &SysfsDir<'_>) -> Option<u32> {
    let start = controllers(dir)
        .into_iter()
        .next()
        .unwrap_or_else(|| dir.at(&dir.path));
    let all = [start.at(&start.path)].into_iter().chain(above(&start));
    all.into_iter()
        .find_map(|up| up.text("numa_node"))
        .and_then(|text| text.parse().ok())
}
