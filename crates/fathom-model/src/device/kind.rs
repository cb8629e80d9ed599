//! Storage media, and how a device is connected to the host.

/// Storage medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Medium {
    /// Rotating disk.
    Disk,
    /// Flash or another non-volatile memory without moving parts.
    Flash,
    /// Optical disc.
    Optical,
    /// Memory of this host; gone with the power.
    Memory,
    /// Provided by a hypervisor or another program; the medium behind it is not visible.
    Virtual,
    /// That of the devices or the file it is built on.
    Below,
    /// Not known.
    #[default]
    Unknown,
}

impl Medium {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Medium::Disk => "disk",
            Medium::Flash => "flash",
            Medium::Optical => "optical",
            Medium::Memory => "RAM",
            Medium::Virtual => "virtual",
            Medium::Below => "below",
            Medium::Unknown => "unknown",
        }
    }
}

/// How a device is connected to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "each is the name of a bus, protocol or driver; name() spells it"
)]
pub enum Transport {
    Nvme,
    NvmeFabrics,
    Sata,
    Pata,
    Sas,
    Scsi,
    FibreChannel,
    Iscsi,
    Srp,
    /// A logical drive that a RAID controller makes.
    RaidController,
    Usb,
    FireWire,
    Mmc,
    Ufs,
    Virtio,
    Xen,
    HyperV,
    Loop,
    DeviceMapper,
    Md,
    Bcache,
    Zvol,
    Drbd,
    RamDisk,
    Zram,
    Pmem,
    Nbd,
    Rbd,
    Ublk,
    Floppy,
    NullBlk,
    /// A debugging device of the kernel's SCSI layer.
    ScsiDebug,
    #[default]
    Unknown,
}

impl Transport {
    /// Its usual spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Nvme => "NVMe",
            Transport::NvmeFabrics => "NVMe over fabrics",
            Transport::Sata => "SATA",
            Transport::Pata => "PATA",
            Transport::Sas => "SAS",
            Transport::Scsi => "SCSI",
            Transport::FibreChannel => "Fibre Channel",
            Transport::Iscsi => "iSCSI",
            Transport::Srp => "SRP",
            Transport::RaidController => "RAID controller",
            Transport::Usb => "USB",
            Transport::FireWire => "FireWire",
            Transport::Mmc => "MMC",
            Transport::Ufs => "UFS",
            Transport::Virtio => "virtio",
            Transport::Xen => "Xen",
            Transport::HyperV => "Hyper-V",
            Transport::Loop => "loop",
            Transport::DeviceMapper => "dm",
            Transport::Md => "md",
            Transport::Bcache => "bcache",
            Transport::Zvol => "zvol",
            Transport::Drbd => "DRBD",
            Transport::RamDisk => "RAM disk",
            Transport::Zram => "zram",
            Transport::Pmem => "pmem",
            Transport::Nbd => "NBD",
            Transport::Rbd => "RBD",
            Transport::Ublk => "ublk",
            Transport::Floppy => "floppy",
            Transport::NullBlk => "null_blk",
            Transport::ScsiDebug => "scsi_debug",
            Transport::Unknown => "unknown",
        }
    }

    /// The data is on another host.
    #[must_use]
    pub const fn is_network(self) -> bool {
        matches!(
            self,
            Transport::NvmeFabrics
                | Transport::Iscsi
                | Transport::Srp
                | Transport::Nbd
                | Transport::Rbd
                | Transport::Drbd
        )
    }
}
