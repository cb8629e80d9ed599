//! Opens a name without acting on it, and gathers facts by descriptor.

use super::ends::EndBytes;
use super::error::ProbeError;
use super::kernel::{capacity, devno, disk_sequence, read_only};
use super::owner::{Inode, mtime_ns, owner, path_of, proc_path, unsigned};
use super::place::place;
use super::sysfs::Node;
use super::system::{Reach, System};
use fathom_device::{
    BlockFacts, Content, DevNo, Exclusive, FileFacts, NotATarget, Owner, Target, TargetFacts,
};
use fathom_model::Bytes;
use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A name, opened with `O_PATH` only, and everything found out about it.
#[derive(Debug)]
pub struct Examined {
    pub(super) facts: TargetFacts,
    pub(super) handle: Handle,
}

impl Examined {
    /// What was found.
    #[must_use]
    pub const fn facts(&self) -> &TargetFacts {
        &self.facts
    }
}

/// What will be opened for real later.
#[derive(Debug)]
pub(super) enum Handle {
    /// An inode, whatever its name leads to by then.
    There(OwnedFd),
    /// A name in a folder, to be created.
    Missing { folder: OwnedFd, name: OsString },
}

/// How closely to look.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    /// Read the ends and the mark.
    pub(super) contents: bool,
    /// The descriptor that already holds the target; without it, a claim is tried and dropped again.
    pub(super) held: Option<BorrowedFd<'a>>,
}

impl Look<'_> {
    fn system(self) -> System {
        System::now(if self.held.is_some() {
            Reach::Here
        } else {
            Reach::Everywhere
        })
    }
}

pub(super) const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Looks at `path`. Nothing is written, and nothing but regular files and block devices is opened for reading:
/// merely opening a tape or a watchdog acts.
///
/// # Errors
/// When the folder does not exist, or the kernel does not let us look.
pub fn examine(path: &Path) -> Result<Examined, ProbeError> {
    look_at(path, true)
}

/// The same, without reading contents or trying a claim.
pub(super) fn glance(path: &Path) -> Result<Examined, ProbeError> {
    look_at(path, false)
}

fn look_at(path: &Path, contents: bool) -> Result<Examined, ProbeError> {
    match rustix::fs::open(path, PATH_ONLY, Mode::empty()) {
        Ok(fd) => {
            let facts = facts(
                path,
                fd.as_fd(),
                Look {
                    contents,
                    held: None,
                },
            )?;
            Ok(Examined {
                facts,
                handle: Handle::There(fd),
            })
        }
        Err(Errno::NOENT) => missing(path),
        Err(error) => Err(ProbeError::new("open", path, error)),
    }
}

/// Facts of what `fd` refers to, `named` as the person did.
pub(super) fn facts(
    named: &Path,
    fd: BorrowedFd<'_>,
    look: Look<'_>,
) -> Result<TargetFacts, ProbeError> {
    let stat = rustix::fs::fstat(fd).map_err(|error| ProbeError::new("look at", named, error))?;
    let resolved = path_of(fd);
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Target::File(file_facts(fd, &stat, &resolved, look)?),
        FileType::BlockDevice => Target::Block(Box::new(block_facts(
            fd,
            devno(stat.st_rdev),
            look,
            &look.system(),
        ))),
        FileType::CharacterDevice => Target::Char(devno(stat.st_rdev)),
        FileType::Directory => Target::Other(NotATarget::Directory),
        FileType::Fifo => Target::Other(NotATarget::Fifo),
        FileType::Socket => Target::Other(NotATarget::Socket),
        _ => Target::Other(NotATarget::Unknown),
    };
    Ok(TargetFacts {
        named: named.to_owned(),
        resolved,
        symlink: is_symlink(named),
        target,
    })
}

fn is_symlink(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Nothing is there: a broken link, or a file that could be created.
fn missing(path: &Path) -> Result<Examined, ProbeError> {
    let name = path
        .file_name()
        .ok_or_else(|| ProbeError::new("create", path, Errno::NOENT))?;
    let above = path
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let folder = rustix::fs::open(above, PATH_ONLY | OFlags::DIRECTORY, Mode::empty())
        .map_err(|error| ProbeError::new("open the folder of", path, error))?;
    let real = path_of(folder.as_fd());
    let resolved = real.join(name);
    let symlink = is_symlink(path);
    let target = if symlink {
        Target::Other(NotATarget::DanglingLink)
    } else {
        Target::NewFile(place(folder.as_fd(), &real, &resolved)?)
    };
    let facts = TargetFacts {
        named: path.to_owned(),
        resolved,
        symlink,
        target,
    };
    Ok(Examined {
        facts,
        handle: Handle::Missing {
            folder,
            name: name.to_owned(),
        },
    })
}

fn file_facts(
    fd: BorrowedFd<'_>,
    stat: &Stat,
    resolved: &Path,
    look: Look<'_>,
) -> Result<FileFacts, ProbeError> {
    let fail = |error| ProbeError::new("look at", resolved, error);
    let folder = resolved.parent().map_or_else(PathBuf::new, Path::to_owned);
    let place = place(fd, &folder, resolved)?;
    let system = System::now(Reach::Here);
    let inode = Inode::of(fd).map_err(fail)?;
    let size = Bytes::new(unsigned(stat.st_size));
    let mut found = FileFacts {
        dev: inode.key().0,
        inode: inode.key().1,
        size,
        allocated: Bytes::new(unsigned(stat.st_blocks).saturating_mul(512)),
        mtime_ns: mtime_ns(stat),
        content: if size.is_zero() {
            Content::Empty
        } else {
            Content::Data
        },
        owner: Owner::Foreign,
        swap: system.is_swap_file(inode.key()),
        backs: system.loops_on(inode.key()),
        ends: None,
        place,
    };
    // Reading some of the kernel's own files takes something away from another reader.
    if look.contents && found.place.kernel_owned.is_none() {
        read_file(fd, look, &inode, &mut found);
    }
    Ok(found)
}

/// Fills in what needs the file open; where it may not be read, the cautious answers stay.
fn read_file(fd: BorrowedFd<'_>, look: Look<'_>, inode: &Inode, found: &mut FileFacts) {
    let opened = look.held.map_or_else(
        || reopen(fd, READ),
        |held| held.try_clone_to_owned().map_err(to_errno),
    );
    let Ok(file) = opened else { return };
    found.owner = owner(file.as_fd(), inode);
    if found.content == Content::Data
        && rustix::fs::seek(&file, SeekFrom::Data(0)) == Err(Errno::NXIO)
    {
        found.content = Content::Hole;
    }
    found.ends = EndBytes::read(file.as_fd(), found.size)
        .ok()
        .map(|bytes| bytes.ends());
}

fn to_errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Opens what `fd` refers to once more, whatever has become of its name.
pub(super) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(
        proc_path(fd),
        flags | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
}

/// Facts of the block device `fd` refers to.
pub(super) fn block_facts(
    fd: BorrowedFd<'_>,
    number: DevNo,
    look: Look<'_>,
    system: &System,
) -> BlockFacts {
    let mut found = bare(number);
    if let Some(node) = Node::of(number) {
        from_sysfs(&node, system, &mut found);
    }
    let own = if look.held.is_none() {
        reopen(fd, READ).ok()
    } else {
        None
    };
    if let Some(device) = look.held.or(own.as_ref().map(AsFd::as_fd)) {
        from_device(device, look.contents, &mut found);
    }
    found.exclusive = match look.held {
        Some(_) => Exclusive::Free,
        None if look.contents => claim(fd),
        None => Exclusive::Unknown("not tried".into()),
    };
    found
}

fn bare(devno: DevNo) -> BlockFacts {
    BlockFacts {
        name: devno.to_string(),
        devno,
        size: Bytes::ZERO,
        logical_block: 512,
        physical_block: 512,
        read_only: false,
        model: None,
        serial: None,
        wwid: None,
        diskseq: None,
        whole: None,
        starts_at: None,
        partitions: Vec::new(),
        holders: Vec::new(),
        slaves: Vec::new(),
        backing_file: None,
        uses: Vec::new(),
        system: false,
        exclusive: Exclusive::Unknown("not tried".into()),
        ends: None,
    }
}

/// What is known without opening the device.
pub(super) fn from_sysfs(node: &Node, system: &System, found: &mut BlockFacts) {
    let names = |nodes: Vec<Node>| nodes.into_iter().map(|node| node.relative).collect();
    found.name = node.relative.name.clone();
    found.size = node.size();
    (found.logical_block, found.physical_block) = node.blocks();
    found.read_only = node.read_only();
    [found.model, found.serial, found.wwid] = node.identity();
    found.diskseq = node
        .whole()
        .map_or_else(|| node.disk_sequence(), |whole| whole.disk_sequence());
    found.starts_at = node.starts_at();
    found.whole = node.whole().map(|whole| whole.relative);
    found.partitions = names(node.partitions());
    found.holders = names(node.holders());
    found.slaves = names(node.slaves());
    found.backing_file = node.backing_file();
    found.uses = system.uses(node);
    found.system = system.is_root(&found.uses);
}

/// What the open device says itself; it is right where sysfs differs.
fn from_device(device: BorrowedFd<'_>, contents: bool, found: &mut BlockFacts) {
    found.size = capacity(device).unwrap_or(found.size);
    found.read_only |= read_only(device).unwrap_or(false);
    found.diskseq = disk_sequence(device).ok().or(found.diskseq);
    found.logical_block = rustix::fs::ioctl_blksszget(device).unwrap_or(found.logical_block);
    found.physical_block = rustix::fs::ioctl_blkpbszget(device).unwrap_or(found.physical_block);
    if contents {
        found.ends = EndBytes::read(device, found.size)
            .ok()
            .map(|bytes| bytes.ends());
    }
}

/// Claims the device read-only and lets go at once. See `O_EXCL` on block devices in `open(2)`.
fn claim(fd: BorrowedFd<'_>) -> Exclusive {
    match reopen(fd, READ | OFlags::EXCL) {
        Ok(_) => Exclusive::Free,
        Err(Errno::BUSY) => Exclusive::Busy,
        Err(error) => Exclusive::Unknown(std::io::Error::from(error).to_string()),
    }
}

pub(super) fn unopened(number: DevNo) -> BlockFacts {
    bare(number)
}
