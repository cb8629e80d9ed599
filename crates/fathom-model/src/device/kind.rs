//! Storage media, and how a device is connected to the host.

use crate::names::named;

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

named!(Medium {
    Disk => "disk",
    Flash => "flash",
    Optical => "optical",
    Memory => "RAM",
    Virtual => "virtual",
    Below => "below",
    Unknown => "unknown",
});

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

named!(Transport {
    Nvme => "NVMe",
    NvmeFabrics => "NVMe over fabrics",
    Sata => "SATA",
    Pata => "PATA",
    Sas => "SAS",
    Scsi => "SCSI",
    FibreChannel => "Fibre Channel",
    Iscsi => "iSCSI",
    Srp => "SRP",
    RaidController => "RAID controller",
    Usb => "USB",
    FireWire => "FireWire",
    Mmc => "MMC",
    Ufs => "UFS",
    Virtio => "virtio",
    Xen => "Xen",
    HyperV => "Hyper-V",
    Loop => "loop",
    DeviceMapper => "dm",
    Md => "md",
    Bcache => "bcache",
    Zvol => "zvol",
    Drbd => "DRBD",
    RamDisk => "RAM disk",
    Zram => "zram",
    Pmem => "pmem",
    Nbd => "NBD",
    Rbd => "RBD",
    Ublk => "ublk",
    Floppy => "floppy",
    NullBlk => "null_blk",
    ScsiDebug => "scsi_debug",
    Unknown => "unknown",
});

impl Transport {
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
