//! Everything found out about a target, as plain data.
//!
//! A field that could not be read says so ([`Option`] or [`Exclusive::Unknown`]). It is never
//! filled with a guess.

use crate::signature::{Signature, signatures};
use fathom_model::Bytes;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::PathBuf;

/// A device number, as in `stat(2)` `st_rdev` and sysfs `dev`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevNo {
    /// Major number: the driver.
    pub major: u32,
    /// Minor number: the device within the driver.
    pub minor: u32,
}

impl fmt::Display for DevNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A name and what it refers to. Every decision depends on `target`; the names are only for
/// display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// As typed.
    pub named: PathBuf,
    /// The path with symbolic links resolved.
    pub resolved: PathBuf,
    /// Whether the last component of `named` is a symbolic link.
    pub symlink: bool,
    /// What exists at that path.
    pub target: Target,
}

/// The identity of a target. Names with the same id share one open target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetId {
    /// A block device.
    Block(DevNo),
    /// A character device.
    Char(DevNo),
    /// A file, by the device of its file system and its inode number.
    File(DevNo, u64),
    /// A file that does not exist yet, or something that cannot be a target.
    Path(PathBuf),
}

impl TargetFacts {
    /// The id of this target, whatever its name.
    #[must_use]
    pub fn id(&self) -> TargetId {
        match &self.target {
            Target::Block(block) => TargetId::Block(block.devno),
            Target::Char(devno) => TargetId::Char(*devno),
            Target::File(file) => TargetId::File(file.dev, file.inode),
            Target::NewFile(_) | Target::Other(_) => TargetId::Path(self.resolved.clone()),
        }
    }
}

/// The kind of thing a name refers to.
#[allow(
    clippy::large_enum_variant,
    reason = "one value for each target, never moved in a loop"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing exists yet; a file can be created at `DeviceLocation`.
    NewFile(DeviceLocation),
    /// A regular file.
    File(FileFacts),
    /// A block device.
    Block(Box<BlockFacts>),
    /// A character device.
    Char(DevNo),
    /// Something that cannot be measured.
    Other(NotATarget),
}

/// Kinds that cannot be a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotATarget {
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A symbolic link to nothing.
    DanglingLink,
    /// Anything else `stat(2)` may report.
    Unknown,
}

/// A directory on a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLocation {
    /// The directory.
    pub directory: PathBuf,
    /// File system type, as in `/proc/self/mountinfo`.
    pub fs_type: String,
    /// Why this location belongs to the kernel (procfs, sysfs, below /dev), if it does.
    pub kernel_owned: Option<String>,
    /// The file system is mounted read-only.
    pub read_only: bool,
    /// Bytes an unprivileged user may still allocate.
    pub free: Bytes,
    /// Size of the file system; zero if it does not report one.
    pub total: Bytes,
}

/// What a regular file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Size zero.
    Empty,
    /// A size, but no data in it: `lseek(2)` `SEEK_DATA` finds none.
    Hole,
    /// Data.
    Data,
}

/// Who owns a file's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Has fathom's mark and is unchanged since.
    Ours,
    /// Has fathom's mark, but was modified since.
    Changed,
    /// Has the mark of a run that wrote it and never closed it, because it was killed. Whatever was
    /// written since that run last recorded the file's state, it or another program wrote.
    Unfinished,
    /// Has no mark.
    Foreign,
}

/// A file that `--destroy-all-in` may apply to: the user owns it, it has one name, and everything that
/// was read of it is what fio and fathom fill files with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkFile {
    /// The directory that holds it.
    pub directory: PathBuf,
    /// Device and inode number of that directory.
    pub directory_inode: (DevNo, u64),
    /// The user.
    pub user: u32,
}

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Device of the file system.
    pub dev: DevNo,
    /// Inode number.
    pub inode: u64,
    /// `st_size`.
    pub size: Bytes,
    /// Allocated bytes.
    pub allocated: Bytes,
    /// Last modification, nanoseconds since 1970. Programs can set it.
    pub mtime_ns: i128,
    /// Last change of contents or metadata, nanoseconds since 1970. Programs cannot set it.
    pub ctime_ns: i128,
    /// What it holds.
    pub content: Content,
    /// Who owns it.
    pub owner: Owner,
    /// Where it is.
    pub location: DeviceLocation,
    /// It is active swap space (`/proc/swaps`).
    pub swap: bool,
    /// Loop devices that it backs, such as `loop3`.
    pub loop_devices: Vec<String>,
    /// A run of fathom that has not ended has locked it. Looked up for [`Owner::Unfinished`] only.
    pub locked: bool,
    /// Whether `--destroy-all-in` may apply. Looked up together with the samples only.
    pub benchmark: Option<BenchmarkFile>,
    /// First and last MiB, if readable.
    pub ends: Option<Ends>,
}

/// Contents of the first and last MiB, and samples of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// SHA-256 over both windows.
    pub sha256: [u8; 32],
    /// SHA-256 over the samples; `None` if none were read, because nothing is to be overwritten.
    pub samples: Option<[u8; 32]>,
    /// Every byte of both is zero.
    pub blank: bool,
    /// Known structures.
    pub signatures: Vec<Signature>,
}

impl Ends {
    /// Examines the first and last bytes of a target of `size` bytes; `tail` ends at `size`.
    #[must_use]
    pub fn of(head: &[u8], tail: &[u8], size: Bytes) -> Self {
        let blank = head.iter().chain(tail).all(|&byte| byte == 0);
        let sha256 = Sha256::new()
            .chain_update(head)
            .chain_update(tail)
            .finalize()
            .into();
        Self {
            sha256,
            samples: None,
            blank,
            signatures: signatures(head, tail, size),
        }
    }
}

/// The result of opening the block device with `O_EXCL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// Granted: at that moment no mount namespace had claimed it.
    Free,
    /// `EBUSY`: someone has claimed it, visible from here or not.
    Busy,
    /// Not tried, or failed for another reason.
    Unknown(String),
}

/// Another device that this one is related to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedDevice {
    /// Kernel name, such as `sda1`.
    pub name: String,
    /// Its number.
    pub devno: DevNo,
}

/// How the device that is in use relates to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// It is the target.
    Itself,
    /// It is a partition of the target.
    PartitionOf,
    /// It is the whole disk the target is a partition of.
    WholeOf,
    /// It is built on the target (device mapper, RAID, or on one of its partitions).
    BuiltOn,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedAt {
    /// Mount point.
    pub at: PathBuf,
    /// File system type.
    pub fs_type: String,
    /// Read-only mount. Writing below is not safer: journal replay or a remount may follow.
    pub read_only: bool,
    /// A process in the mount namespace that has it, if that is not ours.
    pub namespace_of: Option<u32>,
}

/// How a device is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// A file system is mounted from it.
    Mounted(MountedAt),
    /// Active swap space.
    Swap,
    /// Member of a mounted btrfs; mountinfo lists such a file system under another device number.
    BtrfsMember {
        /// File system's UUID.
        uuid: String,
    },
}

/// One use of the target or of a related device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The device in use.
    pub device: RelatedDevice,
    /// How it relates to the target.
    pub relation: Relation,
    /// The kind of use.
    pub kind: UseKind,
}

/// The file behind a loop device, according to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackingInode {
    /// Device of its file system.
    pub dev: DevNo,
    /// Inode number.
    pub inode: u64,
    /// Birth time, nanoseconds since 1970, if its file system keeps one.
    pub born_ns: Option<i64>,
    /// Where the device starts in it, bytes.
    pub offset: u64,
}

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFacts {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Its number.
    pub devno: DevNo,
    /// Capacity (`BLKGETSIZE64`).
    pub size: Bytes,
    /// Smallest unit it can address, bytes (`BLKSSZGET`).
    pub logical_block: u32,
    /// Smallest unit it writes without read-modify-write, bytes (`BLKPBSZGET`).
    pub physical_block: u32,
    /// `BLKROGET`. The kernel still allows opening it for writing.
    pub read_only: bool,
    /// Vendor and model; for a partition, those of the whole disk.
    pub model: Option<String>,
    /// Serial number; for a partition, that of the whole disk.
    pub serial: Option<String>,
    /// World-wide identifier (EUI-64, NAA, UUID); for a partition, that of the whole disk.
    pub wwid: Option<String>,
    /// Sequence number that the kernel gave this attachment; not reused until reboot (Linux 5.15).
    pub diskseq: Option<u64>,
    /// The whole disk, if this is a partition.
    pub whole: Option<RelatedDevice>,
    /// Start on the whole disk, if this is a partition.
    pub starts_at: Option<Bytes>,
    /// Partitions that the kernel has read.
    pub partitions: Vec<RelatedDevice>,
    /// What is built on it (`holders` in sysfs).
    pub holders: Vec<RelatedDevice>,
    /// What it is built on (`slaves` in sysfs).
    pub slaves: Vec<RelatedDevice>,
    /// Backing file, if this is a loop device.
    pub backing_file: Option<PathBuf>,
    /// The inode of that file; for a partition, that of the whole disk.
    pub backing: Option<BackingInode>,
    /// Every use found of it and its related devices.
    pub uses: Vec<Use>,
    /// It holds the root file system of the running system.
    pub system: bool,
    /// Whether it could be claimed.
    pub exclusive: Exclusive,
    /// First and last MiB, if readable.
    pub ends: Option<Ends>,
}
