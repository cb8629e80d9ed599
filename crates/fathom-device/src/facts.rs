//! Everything that was found out about a target, as plain data.
//!
//! A field that could not be read says so ([`Option`] or [`Exclusive::Unknown`]); it is never filled with a guess.

use crate::signature::{Signature, signatures};
use fathom_model::Bytes;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::PathBuf;

/// A device number, as in `stat(2)` `st_rdev` and sysfs `dev`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevNo {
    /// Driver's number.
    pub major: u32,
    /// Number within the driver.
    pub minor: u32,
}

impl fmt::Display for DevNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A name and what it led to. All decisions rest on `target`; the names are only for the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// As typed.
    pub named: PathBuf,
    /// Where it led, links followed.
    pub resolved: PathBuf,
    /// Whether the last component of `named` is a symbolic link.
    pub symlink: bool,
    /// What is there.
    pub target: Target,
}

/// What makes two names one target, so that several jobs can share one hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetId {
    /// A block device.
    Block(DevNo),
    /// A character device.
    Char(DevNo),
    /// A file, by the device of its file system and its inode number.
    File(DevNo, u64),
    /// A file that is not there yet, or something that is no target.
    Path(PathBuf),
}

impl TargetFacts {
    /// Which target this is, whatever it was called.
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

/// What kind of thing a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing is there yet; a file can be created in `DeviceLocation`.
    NewFile(DeviceLocation),
    /// A regular file.
    File(FileFacts),
    /// A block device.
    Block(Box<BlockFacts>),
    /// A character device.
    Char(DevNo),
    /// Something nobody benchmarks.
    Other(NotATarget),
}

/// Kinds that are never a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotATarget {
    /// A folder.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A symbolic link that leads nowhere.
    DanglingLink,
    /// Anything else `stat(2)` may report.
    Unknown,
}

/// A folder on a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLocation {
    /// The folder.
    pub folder: PathBuf,
    /// File system type, as in `/proc/self/mountinfo`.
    pub fs_type: String,
    /// Why this place belongs to the kernel and not to files (procfs, sysfs, below /dev), if it does.
    pub kernel_owned: Option<String>,
    /// The file system is mounted read-only.
    pub read_only: bool,
    /// Bytes an ordinary user may still take.
    pub free: Bytes,
    /// Size of the file system; zero where it does not say.
    pub total: Bytes,
}

/// What a regular file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// No bytes.
    Empty,
    /// A size, but no data in it: `lseek(2)` `SEEK_DATA` finds none.
    Hole,
    /// Data.
    Data,
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Carries our mark, and is as we left it.
    Ours,
    /// Carries our mark, but someone else wrote to it since.
    Changed,
    /// Not ours.
    Foreign,
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
    /// Bytes that have blocks behind them.
    pub allocated: Bytes,
    /// Last modification, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// What is in it.
    pub content: Content,
    /// Whose it is.
    pub owner: Owner,
    /// Where it is.
    pub place: DeviceLocation,
    /// It is active swap space (`/proc/swaps`).
    pub swap: bool,
    /// Loop devices it is attached to, such as `loop3`.
    pub backs: Vec<String>,
    /// First and last MiB, where they could be read.
    pub ends: Option<Ends>,
}

/// What the first and last MiB hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// SHA-256 over both windows.
    pub sha256: [u8; 32],
    /// Every byte of both is zero.
    pub blank: bool,
    /// Known structures.
    pub signatures: Vec<Signature>,
}

impl Ends {
    /// Looks at the first and last bytes of a target of `size` bytes; `tail` ends at `size`.
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
            blank,
            signatures: signatures(head, tail, size),
        }
    }
}

/// What an `O_EXCL` open of the block device answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// Granted, so at that moment nobody in any namespace had claimed it.
    Free,
    /// `EBUSY`: someone holds it, whether or not we can see who.
    Busy,
    /// Not tried, or it failed for another reason.
    Unknown(String),
}

/// Another device that this one is joined to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative {
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
    /// Read-only mount; replay of a journal or a remount makes this no less dangerous.
    pub read_only: bool,
    /// A process whose mount namespace has it, when it is not ours.
    pub namespace_of: Option<u32>,
}

/// How a device is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// A file system is mounted from it.
    Mounted(MountedAt),
    /// Active swap space.
    Swap,
    /// Member of a mounted btrfs; mountinfo shows such a file system under another number.
    BtrfsMember {
        /// File system's UUID.
        uuid: String,
    },
}

/// One use of the target or of a relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The device in use.
    pub device: Relative,
    /// How it relates to the target.
    pub relation: Relation,
    /// In what way.
    pub kind: UseKind,
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
    /// `BLKROGET`: opening for writing would succeed nevertheless.
    pub read_only: bool,
    /// Vendor and model; of the whole disk for a partition.
    pub model: Option<String>,
    /// Serial number; of the whole disk for a partition.
    pub serial: Option<String>,
    /// World-wide identity (EUI-64, NAA, UUID); of the whole disk for a partition.
    pub wwid: Option<String>,
    /// Sequence number the kernel gave this attachment; never reused while the host is up (Linux 5.15).
    pub diskseq: Option<u64>,
    /// The whole disk, when this is a partition.
    pub whole: Option<Relative>,
    /// Where it starts on the whole disk, when this is a partition.
    pub starts_at: Option<Bytes>,
    /// Partitions the kernel knows.
    pub partitions: Vec<Relative>,
    /// What is built on it (`holders` in sysfs).
    pub holders: Vec<Relative>,
    /// What it is built on (`slaves` in sysfs).
    pub slaves: Vec<Relative>,
    /// File behind it, when it is a loop device.
    pub backing_file: Option<PathBuf>,
    /// Every use of it and of its relatives that was found.
    pub uses: Vec<Use>,
    /// The running system's root file system rests on it.
    pub system: bool,
    /// Whether it could be claimed.
    pub exclusive: Exclusive,
    /// First and last MiB, where they could be read.
    pub ends: Option<Ends>,
}
