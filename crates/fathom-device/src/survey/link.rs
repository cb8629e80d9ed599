//! Links between a device and the host, and what they carry after line coding.

use fathom_model::{Link, LinkKind, LinkSpeed};

use super::sysfs::Folder;
use super::transport::{ancestor, ata_link, controllers, scsi_host};

/// From the device upward. Every rate is that of one direction.
pub(super) fn links(folder: &Folder<'_>) -> Vec<Link> {
    let near = sata(folder).into_iter().chain(sas(folder)).chain(fibre(folder)).chain(usb(folder));
    let start = controllers(folder).into_iter().next().unwrap_or_else(|| folder.at(&folder.path));
    near.chain(pcie(&start)).collect()
}

/// Speed of a PCI Express link. Up to 5 GT/s 8 bits travel as 10, up to 32 GT/s 128 as 130; from 64 GT/s on 236 of
/// each 256 bytes of a flit are packets (PCI Express Base Specification 6.0, 4.2).
#[must_use]
pub(super) fn pcie_speed(megatransfers: u32, lanes: u32) -> LinkSpeed {
    let (generation, useful, sent) = match megatransfers {
        2_500 => (1, 8, 10),
        5_000 => (2, 8, 10),
        8_000 => (3, 128, 130),
        16_000 => (4, 128, 130),
        32_000 => (5, 128, 130),
        64_000 => (6, 236, 256),
        128_000 => (7, 236, 256),
        _ => return LinkSpeed { megatransfers, lanes, ..LinkSpeed::default() },
    };
    coded(Some(generation), lanes, megatransfers, useful, sent)
}

fn coded(generation: Option<u32>, lanes: u32, megatransfers: u32, useful: u64, sent: u64) -> LinkSpeed {
    let raw = u64::from(megatransfers) * 1_000_000 * u64::from(lanes);
    LinkSpeed { generation, lanes, megatransfers, bytes_per_s: raw / 8 * useful / sent }
}

/// Serial ATA sends 8 bits as 10 (Serial ATA revision 3.5, 9.2.5).
#[must_use]
pub fn sata_speed(megatransfers: u32) -> LinkSpeed {
    let generation = match megatransfers {
        1_500 => Some(1),
        3_000 => Some(2),
        6_000 => Some(3),
        _ => None,
    };
    coded(generation, 1, megatransfers, 8, 10)
}

/// SAS sends 8 bits as 10 up to 12 Gbit/s and 128 as 150 at 22.5 (SPL-4, 5.3 and 5.6).
fn sas_speed(megatransfers: u32, lanes: u32) -> LinkSpeed {
    let (generation, useful, sent) = match megatransfers {
        1_500 | 3_000 => (Some(1), 8, 10),
        6_000 => (Some(2), 8, 10),
        12_000 => (Some(3), 8, 10),
        22_500 => (Some(4), 128, 150),
        _ => return LinkSpeed { megatransfers, lanes, ..LinkSpeed::default() },
    };
    coded(generation, lanes, megatransfers, useful, sent)
}

/// `8.0 GT/s PCIe`, `6.0 Gbps`, `12.0 Gbit`: the number in millions of transfers a second.
fn megatransfers(text: &str) -> Option<u32> {
    let giga: f64 = text.split_whitespace().next()?.parse().ok()?;
    (giga > 0.0 && giga < 1000.0).then(|| (giga * 1000.0).round() as u32)
}

/// Each second PCI function on the way up is the lower end of a link: the device itself, then a switch's upper port.
fn pcie(device: &Folder<'_>) -> Vec<Link> {
    let mut functions: Vec<Folder<'_>> = Vec::new();
    let mut end = 0;
    for part in device.path.split('/') {
        end += part.len() + 1;
        if is_pci_address(part) {
            functions.push(device.at(&device.path[..end - 1]));
        }
    }
    functions.reverse();
    functions.chunks_exact(2).filter_map(|pair| pcie_link(&pair[0], &pair[1])).collect()
}

/// `0000:03:00.0`.
fn is_pci_address(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() >= 12
        && bytes.len() <= 16
        && part.matches(':').count() == 2
        && part.contains('.')
        && bytes.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
}

fn pcie_link(lower: &Folder<'_>, upper: &Folder<'_>) -> Option<Link> {
    let end = |folder: &Folder<'_>, which: &str| {
        let rate = megatransfers(&folder.text(&format!("{which}_link_speed"))?)?;
        let lanes = folder.small(&format!("{which}_link_width")).filter(|lanes| (1..=32).contains(lanes))?;
        Some((rate, lanes))
    };
    let (rate, lanes) = end(lower, "current")?;
    let best = end(lower, "max").map(|(rate, lanes)| match end(upper, "max") {
        Some((upper_rate, upper_lanes)) => pcie_speed(rate.min(upper_rate), lanes.min(upper_lanes)),
        None => pcie_speed(rate, lanes),
    });
    Some(Link { kind: LinkKind::Pcie, at: lower.name().to_owned(), now: pcie_speed(rate, lanes), best })
}

fn sata(folder: &Folder<'_>) -> Option<Link> {
    let link = ata_link(folder)?;
    let now = sata_speed(megatransfers(&link.text("sata_spd")?)?);
    let port = ancestor(folder, |part| part.starts_with("ata") && part[3..].starts_with(|c: char| c.is_ascii_digit()))?;
    Some(Link { kind: LinkKind::Sata, at: port.name().to_owned(), now, best: None })
}

/// Every port between the disk and its host: the disk's own, then those of expanders. A port is as wide as its phys.
fn sas(folder: &Folder<'_>) -> Vec<Link> {
    let mut links = Vec::new();
    let mut end = folder.path.len();
    while let Some(slash) = folder.path[..end].rfind('/') {
        if folder.path[slash + 1..end].starts_with("port-") {
            links.extend(sas_port(&folder.at(&folder.path[..end])));
        }
        end = slash;
    }
    links
}

fn sas_port(port: &Folder<'_>) -> Option<Link> {
    let names: Vec<String> = port.names("").into_iter().filter(|name| name.starts_with("phy-")).collect();
    let rates = |file: &str| -> Option<(u32, u32)> {
        let rate = |name: &String| megatransfers(&port.text(&format!("{name}/sas_phy/{name}/{file}"))?);
        let all: Vec<u32> = names.iter().filter_map(rate).collect();
        Some((*all.iter().min()?, u32::try_from(all.len()).ok()?))
    };
    let (rate, lanes) = rates("negotiated_linkrate")?;
    let best = rates("maximum_linkrate").map(|(rate, lanes)| sas_speed(rate, lanes));
    Some(Link { kind: LinkKind::Sas, at: port.name().to_owned(), now: sas_speed(rate, lanes), best })
}

/// Fibre Channel carries 100 MB/s for each nominal Gbit/s (FC-PI-6, table of 100-MB/s classes).
fn fibre(folder: &Folder<'_>) -> Option<Link> {
    let host = scsi_host(folder)?;
    let name = host.name().to_owned();
    let nominal = megatransfers(&host.text(&format!("fc_host/{name}/speed"))?)?;
    let now =
        LinkSpeed { generation: None, lanes: 1, megatransfers: nominal, bytes_per_s: u64::from(nominal) * 100_000 };
    Some(Link { kind: LinkKind::FibreChannel, at: name, now, best: None })
}

/// The USB device nearest to the disk. 5 Gbit/s send 8 bits as 10, faster ones 128 as 132 (USB 3.2, 6.3).
fn usb(folder: &Folder<'_>) -> Option<Link> {
    let is_device = |part: &str| {
        let plain = !part.contains(':') && part.contains('-');
        plain && part.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'))
    };
    let device = ancestor(folder, is_device)?;
    let megabits = device.small("speed")?;
    let (generation, lanes, rate, useful, sent) = match megabits {
        12 => (1, 1, 12, 1, 1),
        480 => (2, 1, 480, 1, 1),
        5_000 => (3, 1, 5_000, 8, 10),
        10_000 => (3, 1, 10_000, 128, 132),
        20_000 => (3, 2, 10_000, 128, 132),
        _ => return None,
    };
    let now = coded(Some(generation), lanes, rate, useful, sent);
    Some(Link { kind: LinkKind::Usb, at: device.name().to_owned(), now, best: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usable rates that the standards' own tables give, in MB/s.
    #[test]
    fn line_coding_is_taken_off() {
        let pcie = |rate, lanes| pcie_speed(rate, lanes).bytes_per_s / 1_000_000;
        assert_eq!((pcie(2_500, 1), pcie(5_000, 4)), (250, 2_000));
        assert_eq!((pcie(8_000, 4), pcie(16_000, 4), pcie(32_000, 4)), (3_938, 7_876, 15_753));
        assert_eq!(pcie(64_000, 4), 29_500);
        assert_eq!([1_500, 3_000, 6_000].map(|rate| sata_speed(rate).bytes_per_s / 1_000_000), [150, 300, 600]);
        assert_eq!(
            [3_000, 6_000, 12_000, 22_500].map(|rate| sas_speed(rate, 1).bytes_per_s / 1_000_000),
            [300, 600, 1_200, 2_400]
        );
        assert_eq!(sas_speed(12_000, 4).bytes_per_s, 4_800_000_000);
        assert_eq!(pcie_speed(7, 4).bytes_per_s, 0, "a rate of no standard is no ceiling");
    }

    #[test]
    fn addresses_are_told_from_other_parts() {
        assert!(is_pci_address("0000:03:00.0") && is_pci_address("10000:e1:00.0"));
        assert!(!is_pci_address("pci0000:00") && !is_pci_address("0:0:0:0") && !is_pci_address("target0:0:0"));
    }

    #[test]
    fn unknown_speeds_are_none() {
        assert_eq!(
            (megatransfers("8.0 GT/s PCIe"), megatransfers("<unknown>"), megatransfers("Unknown")),
            (Some(8_000), None, None)
        );
        assert_eq!((megatransfers("-1 Gbps"), megatransfers("")), (None, None));
    }
}
