//! Identity of a device, its connection to this host, its limits, and its health.
//!
//! Plain facts, read by `fathom-linux` and interpreted by `fathom-device`. What could not be read is `None` or `Unknown`,
//! never a guess; [`DeviceFacts::unread`] has the reason.

mod cache;
mod card;
mod file_system;
mod health;
mod kind;
mod link;
mod queue;
mod spec;

use std::path::PathBuf;

pub use self::cache::{CacheFacts, KernelCache};
pub use self::card::{DeviceSafety, TargetOverview, WritePermission};
pub use self::file_system::{
    DirectIoFacts, DirectIoProbe, FileSystemFacts, FileSystemLocation, ReportedDirectIo,
};
pub use self::health::{HealthFacts, HealthState};
pub use self::kind::{Medium, Transport};
pub use self::link::{Link, LinkKind, LinkSpeed};
pub use self::queue::QueueFacts;
pub use self::spec::{SpecLine, SpecReport};

use crate::Bytes;

/// A target and every device below it, before and after a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetRecording {
    /// Path in the job.
    pub path: PathBuf,
    /// How many more targets of the run are on the same file system or device; they are not listed again.
    pub others: u32,
    /// File system of a file or directory; `None` for a device.
    pub file_system: Option<FileSystemFacts>,
    /// The upper before the lower.
    pub devices: Vec<DeviceRecording>,
    /// Devices that could not be traced further down, and why.
    pub problems: Vec<String>,
}

/// One device below a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceRecording {
    /// Index in [`TargetRecording::devices`] of the device above it; `None` for the uppermost.
    pub parent: Option<usize>,
    /// The partition that is used, if any.
    pub partition: Option<PartitionFacts>,
    /// Before the load.
    pub before: DeviceFacts,
    /// After it: what can change while a load runs is read again. `None` when it was not queried or is gone.
    pub after: Option<DeviceFacts>,
}

/// A partition of a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionFacts {
    /// Kernel name, such as `sda1`.
    pub name: String,
    /// Where it begins on the disk.
    pub starts_at: Bytes,
    /// Its size.
    pub size: Bytes,
}

/// A whole block device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    /// Kernel name, such as `nvme0n1`.
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    /// Capacity.
    pub size: Bytes,
    /// The kernel refuses writes to it.
    pub read_only: bool,
    /// The medium can be taken out.
    pub removable: bool,
    /// Identity that it reports.
    pub identity: Identity,
    /// Storage medium.
    pub medium: Medium,
    /// Rotations per minute of a disk, where reported.
    pub rpm: Option<u32>,
    /// How it is connected to the host.
    pub transport: Transport,
    /// Kernel driver of the device or of its controller.
    pub driver: Option<String>,
    /// Links between it and the host, the nearest to the device first. The slowest is the ceiling.
    pub links: Vec<Link>,
    /// How the kernel queues for it.
    pub queue: QueueFacts,
    /// Its write cache.
    pub cache: CacheFacts,
    /// How it is built from others (RAID, device mapper).
    pub array: Option<ArrayFacts>,
    /// Its backing file (loop).
    pub backing: Option<BackingFacts>,
    /// Kernel names of the devices it is built on.
    pub built_on: Vec<String>,
    /// Nearest NUMA node; `None` on a machine with one node or without this information.
    pub numa_node: Option<u32>,
    /// Temperature, wear and errors.
    pub health: HealthFacts,
    /// The hypervisor that provides this device: its handling of flushes is not visible to the guest.
    pub hypervisor: Option<String>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

impl DeviceFacts {
    /// Whether it is a RAID of several members.
    #[must_use]
    pub fn is_raid(&self) -> bool {
        let array = self.array.as_ref();
        array.is_some_and(|array| array.kind.starts_with("raid"))
    }
}

/// Identity that a device reports. Texts have no control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Vendor, where the device reports it separately from the model.
    pub vendor: Option<String>,
    /// Model, or part number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// World-wide identity (EUI-64, NAA, UUID).
    pub wwid: Option<String>,
}

/// A device built on others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrayFacts {
    /// `raid5`, `linear`, `striped`, `crypt`, `multipath`, ... as the kernel names it.
    pub kind: String,
    /// Name given by its owner.
    pub name: Option<String>,
    /// Number of member devices.
    pub members: u32,
    /// Number of missing members.
    pub degraded: Option<u32>,
    /// Bytes written to one member before the next.
    pub chunk: Option<Bytes>,
    /// Data in one full stripe: a write that covers it needs no reading first.
    pub stripe: Option<Bytes>,
    /// `clean`, `active`, ... as the kernel names it.
    pub state: Option<String>,
    /// `resync`, `recover`, `check`, ... while one is running.
    pub sync: Option<String>,
}

/// The backing file of a loop device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackingFacts {
    /// Its path, as the owner of the loop device named it.
    pub path: PathBuf,
    /// Where in it the device begins.
    pub offset: Bytes,
    /// The loop driver bypasses the page cache.
    pub direct_io: Option<bool>,
    /// The file system it is on.
    pub file_system: Option<FileSystemFacts>,
}

impl DeviceFacts {
    /// The slowest link between the device and the host, where known.
    #[must_use]
    pub fn narrowest_link(&self) -> Option<&Link> {
        let known = self.links.iter().filter(|link| link.now.bytes_per_s > 0);
        known.min_by_key(|link| link.now.bytes_per_s)
    }
}
