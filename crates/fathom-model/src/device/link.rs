//! A link between a device and the host, and what it can carry.

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "names of buses")]
pub enum LinkKind {
    Pcie,
    Sata,
    Sas,
    FibreChannel,
    Usb,
}

/// How fast a link runs. Rates of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSpeed {
    /// Generation, as its standard counts (PCIe 4, SATA 3, SAS 4).
    pub generation: Option<u32>,
    /// Lanes.
    pub lanes: u32,
    /// Transfers a second and lane, millions.
    pub megatransfers: u32,
    /// Bytes a second after line coding, all lanes together. Packet headers still take their share of this.
    pub bytes_per_s: u64,
}

impl LinkSpeed {
    /// PCI Express. Up to 5 GT/s 8 bits travel as 10, up to 32 GT/s 128 as 130; from 64 GT/s on 236 of each 256 bytes of a flit
    /// are packets (PCI Express Base Specification 6.0, 4.2).
    #[must_use]
    pub const fn pcie(megatransfers: u32, lanes: u32) -> Self {
        let (generation, useful, sent) = match megatransfers {
            2_500 => (1, 8, 10),
            5_000 => (2, 8, 10),
            8_000 => (3, 128, 130),
            16_000 => (4, 128, 130),
            32_000 => (5, 128, 130),
            64_000 => (6, 236, 256),
            128_000 => (7, 236, 256),
            _ => {
                return Self {
                    generation: None,
                    lanes,
                    megatransfers,
                    bytes_per_s: 0,
                };
            }
        };
        Self::coded(Some(generation), lanes, megatransfers, useful, sent)
    }

    /// Serial ATA sends 8 bits as 10 (Serial ATA revision 3.5, 9.2.5).
    #[must_use]
    pub const fn sata(megatransfers: u32) -> Self {
        let generation = match megatransfers {
            1_500 => Some(1),
            3_000 => Some(2),
            6_000 => Some(3),
            _ => None,
        };
        Self::coded(generation, 1, megatransfers, 8, 10)
    }

    /// SAS sends 8 bits as 10 up to 12 Gbit/s and 128 as 150 at 22.5 (SPL-4, 5.3 and 5.6).
    #[must_use]
    pub const fn sas(megatransfers: u32, lanes: u32) -> Self {
        let (generation, useful, sent) = match megatransfers {
            1_500 | 3_000 => (1, 8, 10),
            6_000 => (2, 8, 10),
            12_000 => (3, 8, 10),
            22_500 => (4, 128, 150),
            _ => {
                return Self {
                    generation: None,
                    lanes,
                    megatransfers,
                    bytes_per_s: 0,
                };
            }
        };
        Self::coded(Some(generation), lanes, megatransfers, useful, sent)
    }

    /// Any line coding: of `sent` bits `useful` are data.
    #[must_use]
    pub const fn coded(
        generation: Option<u32>,
        lanes: u32,
        megatransfers: u32,
        useful: u64,
        sent: u64,
    ) -> Self {
        let raw = megatransfers as u64 * 1_000_000 * lanes as u64;
        Self {
            generation,
            lanes,
            megatransfers,
            bytes_per_s: raw / 8 * useful / sent,
        }
    }
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Kind.
    pub kind: LinkKind,
    /// The kernel's name of its lower end, such as `0000:03:00.0` or `ata1`.
    pub at: String,
    /// As it runs.
    pub now: LinkSpeed,
    /// What the slower of its two ends supports; `None` where unknown.
    pub best: Option<LinkSpeed>,
}

impl Link {
    /// It runs slower than both of its ends can.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.best
            .is_some_and(|best| self.now.bytes_per_s < best.bytes_per_s)
    }
}
