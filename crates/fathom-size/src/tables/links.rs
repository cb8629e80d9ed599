//! Links: usable rates, and drives until a link is full.

use fathom_model::DerivedCell::{Calculated, Given};
use fathom_model::{Derivation, DerivationInput, DerivedAnswer, HostLink};

use super::{answer, table};
use crate::derive::{calculate, from, input, text};
use crate::drive::{Medium, built_in_drives};

/// Bytes of payload and of overhead of a frame or packet.
struct Framing {
    name: &'static str,
    payload: f64,
    overhead: f64,
    source: &'static str,
}

/// The protocols that storage uses on a link.
fn framings(link: HostLink) -> &'static [Framing] {
    const PCIE: Framing = Framing {
        name: "NVMe",
        payload: 256.0,
        overhead: 24.0,
        source: "PCI Express Base Specification: 4 bytes framing, 16 header, 4 LCRC for each packet of 256 bytes",
    };
    const FLIT: Framing = Framing {
        name: "NVMe",
        payload: 256.0,
        overhead: 16.0,
        source: "PCI Express Base Specification 6.0: 16 bytes header for each packet of 256 bytes",
    };
    const SATA: Framing = Framing {
        name: "SATA",
        payload: 8192.0,
        overhead: 16.0,
        source: "Serial ATA: 4 bytes header, 4 CRC, 8 primitives for each data FIS of 8192 bytes",
    };
    const SAS: Framing = Framing {
        name: "SSP",
        payload: 1024.0,
        overhead: 36.0,
        source: "Serial Attached SCSI: 24 bytes header, 4 CRC, 8 primitives for each frame of 1024 bytes",
    };
    const FC: Framing = Framing {
        name: "FCP",
        payload: 2048.0,
        overhead: 60.0,
        source: "Fibre Channel FC-FS: 24 bytes header, 4 CRC, 8 delimiters, 24 idle for each frame of 2048 bytes",
    };
    const ETHERNET: [Framing; 4] = [
        Framing {
            name: "iSCSI",
            payload: 1448.0,
            overhead: 98.5,
            source: "IEEE 802.3: 38 bytes; IPv4 20, TCP with time stamps 32; iSCSI 48 for each 8 KiB; frames of 1500 bytes",
        },
        Framing {
            name: "iSCSI, jumbo",
            payload: 8948.0,
            overhead: 142.4,
            source: "IEEE 802.3: 38 bytes; IPv4 20, TCP with time stamps 32; iSCSI 48 for each 8 KiB; frames of 9000 bytes",
        },
        Framing {
            name: "NVMe/TCP, jumbo",
            payload: 8948.0,
            overhead: 116.2,
            source: "IEEE 802.3: 38 bytes; IPv4 20, TCP with time stamps 32; NVMe/TCP 24 for each 8 KiB; frames of 9000 bytes",
        },
        Framing {
            name: "NVMe/RDMA",
            payload: 4096.0,
            overhead: 98.0,
            source: "RoCE v2: 38 bytes of Ethernet, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4 for each packet of 4096 bytes",
        },
    ];
    match link {
        HostLink::Pcie(6, _) => &[FLIT],
        HostLink::Pcie(..) => &[PCIE],
        HostLink::Sata(_) => &[SATA],
        HostLink::Sas(_) => &[SAS],
        HostLink::FibreChannel(_) => &[FC],
        HostLink::Ethernet(_) => &ETHERNET,
        HostLink::Usb(_) | HostLink::Thunderbolt(_) => &[],
    }
}

fn after_coding(link: HostLink) -> DerivationInput {
    let source = format!(
        "{} Gbit/s on the line, coded {}",
        link.line_gbit(),
        link.coding()
    );
    input("coded_mb_s", link.usable() / 1e6, "MB/s", source)
}

fn usable(link: HostLink, framing: &Framing) -> Derivation {
    calculate(
        "usable_mb_s",
        "MB/s",
        "coded_mb_s * payload / (payload + overhead)",
        vec![
            after_coding(link),
            input("payload", framing.payload, "bytes", framing.source),
            input("overhead", framing.overhead, "bytes", framing.source),
        ],
    )
}

/// The payload rate of a link with its most usual protocol, MB/s.
#[must_use]
pub(crate) fn link_rate(link: HostLink) -> Derivation {
    match framings(link).first() {
        Some(framing) => usable(link, framing),
        None => calculate(
            "usable_mb_s",
            "MB/s",
            "coded_mb_s",
            vec![after_coding(link)],
        ),
    }
}

/// All links of storage.
pub(super) fn links() -> DerivedAnswer {
    let mut made = table(
        "Rates of links, one direction",
        &[
            "link",
            "protocol",
            "line, Gbit/s",
            "coding",
            "after coding, MB/s",
            "payload, MB/s",
            "4 KiB I/Os per second",
        ],
    );
    for link in HostLink::all() {
        for framing in framings(*link) {
            let rate = usable(*link, framing);
            let ios = calculate(
                "ios",
                "1/s",
                "usable_mb_s * 1000000 / 4096",
                vec![from(&rate)],
            );
            made.rows.push(vec![
                text(link.name()),
                text(framing.name),
                Given(input(
                    "line_gbit",
                    link.line_gbit(),
                    "Gbit/s",
                    "the standard of the link",
                )),
                text(link.coding()),
                Given(after_coding(*link)),
                Calculated(rate),
                Calculated(ios),
            ]);
        }
    }
    answer(
        vec![made],
        &[
            "The rate on the line is not the data rate: SATA at 6 Gbit/s carries 600 MB/s after 8b/10b, not 6,000 / 8 = 750 MB/s (715 MiB/s).",
            "Commands cost time too: SATA SSDs end at 74,000 to 98,000 reads of 4 KiB per second (303 to 400 MB/s), whatever their flash.",
        ],
    )
}

/// Drives until a shared link is full.
pub(super) fn drives_per_link() -> DerivedAnswer {
    let links: Vec<HostLink> = [
        "sas12", "pcie3x8", "pcie4x16", "fc16", "fc32", "25gbe", "100gbe",
    ]
    .iter()
    .map(|name| name.parse().expect("a link"))
    .collect();
    let names: Vec<String> = links.iter().map(|link| link.name()).collect();
    let mut columns = vec!["drive", "reads, MB/s"];
    columns.extend(names.iter().map(String::as_str));
    let mut made = table("Drives whose sequential reads fill a shared link", &columns);
    for drive in built_in_drives() {
        let own = link_rate(drive.link);
        let key = match drive.medium {
            Medium::Disk => "outer_mb_s",
            Medium::Flash => "read_mb_s",
        };
        let own = DerivationInput {
            name: "own_link_mb_s".to_owned(),
            ..from(&own)
        };
        let rate = calculate(
            "drive_mb_s",
            "MB/s",
            &format!("min({key}, own_link_mb_s)"),
            vec![drive.given(key), own],
        );
        let mut row = vec![text(drive.id.clone()), Calculated(rate.clone())];
        row.extend(links.iter().map(|link| {
            Calculated(calculate(
                "drives",
                "",
                "ceil(usable_mb_s / drive_mb_s)",
                vec![from(&link_rate(*link)), from(&rate)],
            ))
        }));
        made.rows.push(row);
    }
    let mut socket = table(
        "PCIe 4.0 x4 SSDs of 7 GB/s on one socket with 128 lanes and 50 GiB/s of memory bandwidth for I/O",
        &[
            "drives",
            "lanes",
            "drives, GB/s",
            "links, GB/s",
            "memory, GB/s",
            "limit, GB/s",
            "bound by",
        ],
    );
    let link: HostLink = "pcie4x4".parse().expect("a link");
    for drives in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
        let count = input("drives", drives, "", "this table");
        let lanes = calculate("lanes", "", "4 * drives", vec![count.clone()]);
        let flash = calculate("flash", "GB/s", "drives * 7", vec![count.clone()]);
        let links = calculate(
            "links",
            "GB/s",
            "drives * usable_mb_s / 1000",
            vec![count, from(&link_rate(link))],
        );
        let memory = calculate("memory", "GB/s", "50 * 1.073741824", vec![]);
        let limit = calculate(
            "limit",
            "GB/s",
            "min(flash, links, memory)",
            vec![from(&flash), from(&links), from(&memory)],
        );
        let bound = if limit.value == memory.value {
            "memory"
        } else if limit.value == flash.value {
            "drives"
        } else {
            "links"
        };
        socket.rows.push(vec![
            text(format!("{drives}")),
            Calculated(lanes),
            Calculated(flash),
            Calculated(links),
            Calculated(memory),
            Calculated(limit),
            text(bound),
        ]);
    }
    answer(
        vec![made, socket],
        &[
            "Disks: the rate of the outer tracks. The last drive of a number fills the link.",
            "Memory bandwidth for I/O depends on the machine; 50 GiB/s is the assumption of this table.",
        ],
    )
}
