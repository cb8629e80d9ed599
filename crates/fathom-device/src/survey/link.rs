//! Links between a device and the host, and what they carry after line coding.

use fathom_model::{Link, LinkKind, LinkSpeed};

use super::sysfs::Folder;
use super::transport::{ancestor, ata_link, controllers, scsi_host};

/// From the device upward. Every rate is that of one direction.
pub(super) fn links(folder: &Folder<'_>) -> Vec<Link> {
    let near = sata(folder)
        .into_iter()
        .chain(sas(folder))
        .chain(fibre(folder))
        .chain(usb(folder));
    let start = controllers(folder)
        .into_iter()
        .next()
        .unwrap_or_else(|| folder.at(&folder.path));
    near.chain(pcie(&start)).collect()
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
    functions
        .chunks_exact(2)
        .filter_map(|pair| pcie_link(&pair[0], &pair[1]))
        .collect()
}

/// `0000:03:00.0`.
fn is_pci_address(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() >= 12
        && bytes.len() <= 16
        && part.matches(':').count() == 2
        && part.contains('.')
        && bytes
            .iter()
            .all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
}

fn pcie_link(lower: &Folder<'_>, upper: &Folder<'_>) -> Option<Link> {
    let end = |folder: &Folder<'_>, which: &str| {
        let rate = megatransfers(&folder.text(&format!("{which}_link_speed"))?)?;
        let lanes = folder
            .small(&format!("{which}_link_width"))
            .filter(|lanes| (1..=32).contains(lanes))?;
        Some((rate, lanes))
    };
    let (rate, lanes) = end(lower, "current")?;
    let best = end(lower, "max").map(|(rate, lanes)| match end(upper, "max") {
        Some((upper_rate, upper_lanes)) => {
            LinkSpeed::pcie(rate.min(upper_rate), lanes.min(upper_lanes))
        }
        None => LinkSpeed::pcie(rate, lanes),
    });
    Some(Link {
        kind: LinkKind::Pcie,
        at: lower.name().to_owned(),
        now: LinkSpeed::pcie(rate, lanes),
        best,
    })
}

fn sata(folder: &Folder<'_>) -> Option<Link> {
    let link = ata_link(folder)?;
    let now = LinkSpeed::sata(megatransfers(&link.text("sata_spd")?)?);
    let port = ancestor(folder, |part| {
        part.starts_with("ata") && part[3..].starts_with(|c: char| c.is_ascii_digit())
    })?;
    Some(Link {
        kind: LinkKind::Sata,
        at: port.name().to_owned(),
        now,
        best: None,
    })
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
    let names: Vec<String> = port
        .names("")
        .into_iter()
        .filter(|name| name.starts_with("phy-"))
        .collect();
    let rates = |file: &str| -> Option<(u32, u32)> {
        let rate =
            |name: &String| megatransfers(&port.text(&format!("{name}/sas_phy/{name}/{file}"))?);
        let all: Vec<u32> = names.iter().filter_map(rate).collect();
        Some((*all.iter().min()?, u32::try_from(all.len()).ok()?))
    };
    let (rate, lanes) = rates("negotiated_linkrate")?;
    let best = rates("maximum_linkrate").map(|(rate, lanes)| LinkSpeed::sas(rate, lanes));
    Some(Link {
        kind: LinkKind::Sas,
        at: port.name().to_owned(),
        now: LinkSpeed::sas(rate, lanes),
        best,
    })
}

/// Fibre Channel carries 100 MB/s for each nominal Gbit/s (FC-PI-6, table of 100-MB/s classes).
fn fibre(folder: &Folder<'_>) -> Option<Link> {
    let host = scsi_host(folder)?;
    let name = host.name().to_owned();
    let nominal = megatransfers(&host.text(&format!("fc_host/{name}/speed"))?)?;
    let now = LinkSpeed {
        generation: None,
        lanes: 1,
        megatransfers: nominal,
        bytes_per_s: u64::from(nominal) * 100_000,
    };
    Some(Link {
        kind: LinkKind::FibreChannel,
        at: name,
        now,
        best: None,
    })
}

/// The USB device nearest to the disk. 5 Gbit/s send 8 bits as 10, faster ones 128 as 132 (USB 3.2, 6.3).
fn usb(folder: &Folder<'_>) -> Option<Link> {
    let is_device = |part: &str| {
        let plain = !part.contains(':') && part.contains('-');
        plain
            && part
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'))
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
    let now = LinkSpeed::coded(Some(generation), lanes, rate, useful, sent);
    Some(Link {
        kind: LinkKind::Usb,
        at: device.name().to_owned(),
        now,
        best: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usable rates that the standards' own tables give, in MB/s.
    #[test]
    fn line_coding_is_taken_off() {
        let pcie = |rate, lanes| LinkSpeed::pcie(rate, lanes).bytes_per_s / 1_000_000;
        assert_eq!((pcie(2_500, 1), pcie(5_000, 4)), (250, 2_000));
        assert_eq!(
            (pcie(8_000, 4), pcie(16_000, 4), pcie(32_000, 4)),
            (3_938, 7_876, 15_753)
        );
        assert_eq!(pcie(64_000, 4), 29_500);
        assert_eq!(
            [1_500, 3_000, 6_000].map(|rate| LinkSpeed::sata(rate).bytes_per_s / 1_000_000),
            [150, 300, 600]
        );
        assert_eq!(
            [3_000, 6_000, 12_000, 22_500]
                .map(|rate| LinkSpeed::sas(rate, 1).bytes_per_s / 1_000_000),
            [300, 600, 1_200, 2_400]
        );
        assert_eq!(LinkSpeed::sas(12_000, 4).bytes_per_s, 4_800_000_000);
        assert_eq!(
            LinkSpeed::pcie(7, 4).bytes_per_s,
            0,
            "a rate of no standard is no ceiling"
        );
    }

    #[test]
    fn addresses_are_told_from_other_parts() {
        assert!(is_pci_address("0000:03:00.0") && is_pci_address("10000:e1:00.0"));
        assert!(
            !is_pci_address("pci0000:00")
                && !is_pci_address("0:0:0:0")
                && !is_pci_address("target0:0:0")
        );
    }

    #[test]
    fn unknown_speeds_are_none() {
        assert_eq!(
            (
                megatransfers("8.0 GT/s PCIe"),
                megatransfers("<unknown>"),
                megatransfers("Unknown")
            ),
            (Some(8_000), None, None)
        );
        assert_eq!((megatransfers("-1 Gbps"), megatransfers("")), (None, None));
    }
}
