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

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Kind.
    pub kind: LinkKind,
    /// The kernel's name of its lower end, such as `0000:03:00.0` or `ata1`.
    pub at: String,
    /// As it runs.
    pub now: LinkSpeed,
    /// What the slower of its two ends could do; `None` where it does not say.
    pub best: Option<LinkSpeed>,
}

impl Link {
    /// It runs slower than both of its ends can.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.best.is_some_and(|best| self.now.bytes_per_s < best.bytes_per_s)
    }
}
