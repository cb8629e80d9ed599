//! Links between a device and the host, and their bandwidth after line coding.

use fathom_model::{Link, LinkKind, LinkSpeed};

use super::sysfs_dir::SysfsDir;
use super::transport::{ancestor, ata_link, controllers, scsi_host};

/// From the device upward. Rates are for one direction.
pub(super) fn links(dir: &SysfsDir<'_>) -> Vec<Link> {
    let near = sata(dir)
        .into_iter()
        .chain(sas(dir))
        .chain(fibre(dir))
        .chain(usb(dir));
    let start = controllers(dir)
        .into_iter()
        .next()
        .unwrap_or_else(|| dir.at(&dir.path));
    near.chain(pcie(&start)).collect()
}

/// `8.0 GT/s PCIe`, `6.0 Gbps`, `12.0 Gbit`: in millions of transfers per second.
fn megatransfers(text: &str) -> Option<u32> {
    let giga: f64 = text.split_whitespace().next()?.parse().ok()?;
    (giga > 0.0 && giga < 1000.0).then(|| (giga * 1000.0).round() as u32)
}

/// Every second PCI function on the way up is the lower end of a link: the device itself, then a
/// switch's upstream port.
fn pcie(device: &SysfsDir<'_>) -> Vec<Link> {
    let mut functions: Vec<SysfsDir<'_>> = Vec::new();
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

fn pcie_link(lower: &SysfsDir<'_>, upper: &SysfsDir<'_>) -> Option<Link> {
    let end = |dir: &SysfsDir<'_>, which: &str| {
        let rate = megatransfers(&dir.text(&format!("{which}_link_speed"))?)?;
        let lanes = dir
            .number_u32(&format!("{which}_link_width"))
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

fn sata(dir: &SysfsDir<'_>) -> Option<Link> {
    let link = ata_link(dir)?;
    let now = LinkSpeed::sata(megatransfers(&link.text("sata_spd")?)?);
    let port = ancestor(dir, |part| {
        part.starts_with("ata") && part[3..].starts_with(|c: char| c.is_ascii_digit())
    })?;
    Some(Link {
        kind: LinkKind::Sata,
        at: port.name().to_owned(),
        now,
        best: None,
    })
}

/// Every port between the disk and its host: the disk's own, then those of expanders. The width of
/// a port is its number of phys.
fn sas(dir: &SysfsDir<'_>) -> Vec<Link> {
    let mut links = Vec::new();
    let mut end = dir.path.len();
    while let Some(slash) = dir.path[..end].rfind('/') {
        if dir.path[slash + 1..end].starts_with("port-") {
            links.extend(sas_port(&dir.at(&dir.path[..end])));
        }
        end = slash;
    }
    links
}

fn sas_port(port: &SysfsDir<'_>) -> Option<Link> {
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
fn fibre(dir: &SysfsDir<'_>) -> Option<Link> {
    let host = scsi_host(dir)?;
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

/// The USB device nearest to the disk. 5 Gbit/s use 8b/10b coding, faster ones 128b/132b (USB 3.2,
/// 6.3).
fn usb(dir: &SysfsDir<'_>) -> Option<Link> {
    let is_device = |part: &str| {
        let plain = !part.contains(':') && part.contains('-');
        plain
            && part
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'))
    };
    let device = ancestor(dir, is_device)?;
    let megabits = device.number_u32("speed")?;
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

    /// The usable rates in the tables of the standards, in MB/s.
    #[test]
    fn line_coding_is_subtracted() {
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
            "a non-standard rate gives no ceiling"
        );
    }

    #[test]
    fn pci_addresses_are_recognised() {
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
