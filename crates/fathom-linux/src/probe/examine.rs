//! Opens a name without side effects and gathers facts by descriptor.

use super::ends::{EndBytes, sample};
use super::error::ProbeError;
use super::kernel::{capacity, devno, disk_sequence, read_only};
use super::location::location;
use super::loops;
use super::owner::{Inode, ctime_ns, mtime_ns, owner, path_of, proc_path, unsigned};
use super::sysfs::Node;
use super::system::{MountScope, System};
use fathom_device::{
    BenchmarkFile, BlockFacts, Content, DevNo, Ends, Exclusive, FileFacts, NotATarget, Owner,
    Target, TargetFacts,
};
use fathom_model::Bytes;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A name opened with `O_PATH` only, and the facts found about it.
#[derive(Debug)]
pub struct Examined {
    pub(super) facts: TargetFacts,
    pub(super) handle: Handle,
}

impl Examined {
    /// The facts.
    #[must_use]
    pub const fn facts(&self) -> &TargetFacts {
        &self.facts
    }
}

/// What [`hold`](super::hold::hold) will open.
#[derive(Debug)]
pub(super) enum Handle {
    /// An existing inode, even if its name changes.
    Existing(OwnedFd),
    /// A name in a directory, to be created.
    Missing { directory: OwnedFd, name: OsString },
}

/// How much of a target's contents is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// Nothing.
    Unread,
    /// The first and last MiB, and the mark of a file.
    Ends,
    /// Also the samples that its code covers.
    Samples,
}

/// The depth of an examination.
#[derive(Clone, Copy)]
pub(super) struct ExamineMode<'a> {
    pub(super) contents: Contents,
    /// The descriptor that already holds the target; without it, a claim is tried and released.
    pub(super) held: Option<BorrowedFd<'a>>,
}

impl ExamineMode<'_> {
    fn system(self) -> System {
        System::now(if self.held.is_some() {
            MountScope::OwnNamespace
        } else {
            MountScope::AllNamespaces
        })
    }
}

pub(super) const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Examines `path` with all that its code covers. Nothing is written, and only regular files and
/// block devices are opened for reading: opening a tape or a watchdog has side effects.
///
/// # Errors
/// If the directory does not exist, or the kernel refuses.
pub fn examine(path: &Path) -> Result<Examined, ProbeError> {
    examine_with(path, Contents::Samples)
}

/// As [`examine`], without the samples that its code covers, which take a disk several seconds: for
/// targets that need no code. Without them the guard permits nothing that needs one.
///
/// # Errors
/// As [`examine`].
pub fn examine_without_samples(path: &Path) -> Result<Examined, ProbeError> {
    examine_with(path, Contents::Ends)
}

/// As [`examine`], without reading contents or trying a claim.
pub(super) fn examine_identity(path: &Path) -> Result<Examined, ProbeError> {
    examine_with(path, Contents::Unread)
}

fn examine_with(path: &Path, contents: Contents) -> Result<Examined, ProbeError> {
    if !has_proc() {
        let error = std::io::Error::new(std::io::ErrorKind::Unsupported, NO_PROC);
        return Err(ProbeError::new("examine", path, error));
    }
    match rustix::fs::open(path, PATH_ONLY, Mode::empty()) {
        Ok(fd) => {
            let facts = facts(
                path,
                fd.as_fd(),
                ExamineMode {
                    contents,
                    held: None,
                },
            )?;
            Ok(Examined {
                facts,
                handle: Handle::Existing(fd),
            })
        }
        Err(Errno::NOENT) => missing(path),
        Err(error) => Err(ProbeError::new("open", path, error)),
    }
}

/// Without /proc nothing shows what is mounted, and no descriptor can be opened again.
const NO_PROC: &str = "/proc is not mounted, so that it cannot be seen whether the target is in use; mount it: mount -t proc proc /proc";

fn has_proc() -> bool {
    const PROC_SUPER_MAGIC: u64 = 0x9FA0;
    rustix::fs::statfs("/proc").is_ok_and(|found| found.f_type as u64 == PROC_SUPER_MAGIC)
}

/// Facts of the target behind `fd`, `named` by the user.
pub(super) fn facts(
    named: &Path,
    fd: BorrowedFd<'_>,
    mode: ExamineMode<'_>,
) -> Result<TargetFacts, ProbeError> {
    let stat = rustix::fs::fstat(fd).map_err(|error| ProbeError::new("inspect", named, error))?;
    let resolved = path_of(fd);
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Target::File(file_facts(fd, &stat, &resolved, mode)?),
        FileType::BlockDevice => Target::Block(Box::new(block_facts(
            fd,
            devno(stat.st_rdev),
            mode,
            &mode.system(),
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

/// The path does not exist: a broken link, or a file that could be created.
fn missing(path: &Path) -> Result<Examined, ProbeError> {
    let name = path
        .file_name()
        .ok_or_else(|| ProbeError::new("create", path, Errno::NOENT))?;
    let above = path
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let directory = rustix::fs::open(above, PATH_ONLY | OFlags::DIRECTORY, Mode::empty())
        .map_err(|error| ProbeError::new("open the directory of", path, error))?;
    let real = path_of(directory.as_fd());
    let resolved = real.join(name);
    let symlink = is_symlink(path);
    let target = if symlink {
        Target::Other(NotATarget::DanglingLink)
    } else {
        Target::NewFile(location(directory.as_fd(), &real, &resolved)?)
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
            directory,
            name: name.to_owned(),
        },
    })
}

fn file_facts(
    fd: BorrowedFd<'_>,
    stat: &Stat,
    resolved: &Path,
    mode: ExamineMode<'_>,
) -> Result<FileFacts, ProbeError> {
    let fail = |error| ProbeError::new("inspect", resolved, error);
    let directory = resolved.parent().map_or_else(PathBuf::new, Path::to_owned);
    let location = location(fd, &directory, resolved)?;
    let system = System::now(MountScope::OwnNamespace);
    let inode = Inode::of(fd).map_err(fail)?;
    let size = Bytes::new(unsigned(stat.st_size));
    let mut found = FileFacts {
        dev: inode.key().0,
        inode: inode.key().1,
        size,
        allocated: Bytes::new(unsigned(stat.st_blocks).saturating_mul(512)),
        mtime_ns: mtime_ns(stat),
        ctime_ns: ctime_ns(stat),
        content: if size.is_zero() {
            Content::Empty
        } else {
            Content::Data
        },
        owner: Owner::Foreign,
        swap: system.is_swap_file(inode.key()),
        loop_devices: system.loops_on(inode.key()),
        locked: false,
        benchmark: None,
        ends: None,
        location,
    };
    // Reading some kernel files consumes data of another reader.
    if mode.contents != Contents::Unread && found.location.kernel_owned.is_none() {
        read_file(fd, mode, &inode, &mut found);
        // A directory may hold other people's files, and a second name other people's data.
        let own = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_nlink == 1;
        if !own {
            found.benchmark = None;
        }
    }
    Ok(found)
}

/// Adds the facts that need an open file; if it cannot be read, the cautious defaults stay.
fn read_file(fd: BorrowedFd<'_>, mode: ExamineMode<'_>, inode: &Inode, found: &mut FileFacts) {
    let opened = mode.held.map_or_else(
        || reopen(fd, READ),
        |held| held.try_clone_to_owned().map_err(to_errno),
    );
    let Ok(file) = opened else { return };
    found.owner = owner(file.as_fd(), inode);
    found.locked = found.owner == Owner::Unfinished && mode.held.is_none() && is_locked(&file);
    if found.content == Content::Data
        && rustix::fs::seek(&file, SeekFrom::Data(0)) == Err(Errno::NXIO)
    {
        found.content = Content::Hole;
    }
    let (ends, benchmark) = ends(file.as_fd(), found.size, mode.contents).unzip();
    found.ends = ends;
    if benchmark == Some(true) {
        found.benchmark = benchmark_file(&found.location.directory);
    }
}

fn benchmark_file(directory: &Path) -> Option<BenchmarkFile> {
    let stat = rustix::fs::stat(directory).ok()?;
    Some(BenchmarkFile {
        directory: directory.to_owned(),
        directory_inode: (devno(stat.st_dev), stat.st_ino),
        user: rustix::process::geteuid().as_raw(),
    })
}

/// What the code covers, as far as it is to be read; `None` if the ends cannot be read. And whether
/// everything the code covers was read, and is what fio and fathom fill files with.
fn ends(fd: BorrowedFd<'_>, size: Bytes, contents: Contents) -> Option<(Ends, bool)> {
    let bytes = EndBytes::read(fd, size).ok()?;
    let sampled = (contents == Contents::Samples).then(|| sample(fd, size));
    let benchmark = sampled.is_some_and(|(_, benchmark)| benchmark) && bytes.is_benchmark_fill();
    let samples = sampled.map(|(digest, _)| digest);
    let ends = Ends {
        samples,
        ..bytes.ends()
    };
    Some((ends, benchmark))
}

/// Whether another process has locked the file. The lock that this takes to find out ends with
/// `file`.
fn is_locked(file: &OwnedFd) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

fn to_errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Opens the target of `fd` again, independent of its name.
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
    mode: ExamineMode<'_>,
    system: &System,
) -> BlockFacts {
    let mut found = empty_facts(number);
    let node = Node::of(number);
    if let Some(node) = &node {
        from_sysfs(node, system, &mut found);
    }
    let own = if mode.held.is_none() {
        reopen(fd, READ).ok()
    } else {
        None
    };
    if let Some(device) = mode.held.or(own.as_ref().map(AsFd::as_fd)) {
        from_device(device, mode.contents, &mut found);
        let disk = node.map(|node| node.whole().unwrap_or(node));
        found.backing = disk
            .and_then(|disk| disk.backing_file())
            .and_then(|path| loops::backing(device, &path));
    }
    found.exclusive = match mode.held {
        Some(_) => Exclusive::Free,
        None if mode.contents != Contents::Unread => claim(fd),
        None => Exclusive::Unknown("not tried".into()),
    };
    found
}

fn empty_facts(devno: DevNo) -> BlockFacts {
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
        backing: None,
        uses: Vec::new(),
        system: false,
        exclusive: Exclusive::Unknown("not tried".into()),
        ends: None,
    }
}

/// The facts available without opening the device.
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

/// The facts reported by the open device. Where they differ from sysfs, the device is right.
fn from_device(device: BorrowedFd<'_>, contents: Contents, found: &mut BlockFacts) {
    found.size = capacity(device).unwrap_or(found.size);
    found.read_only |= read_only(device).unwrap_or(false);
    found.diskseq = disk_sequence(device).ok().or(found.diskseq);
    found.logical_block = rustix::fs::ioctl_blksszget(device).unwrap_or(found.logical_block);
    found.physical_block = rustix::fs::ioctl_blkpbszget(device).unwrap_or(found.physical_block);
    if contents != Contents::Unread {
        found.ends = ends(device, found.size, contents).map(|(ends, _)| ends);
    }
}

/// Claims the device read-only and releases it at once. See `O_EXCL` on block devices in `open(2)`.
fn claim(fd: BorrowedFd<'_>) -> Exclusive {
    match reopen(fd, READ | OFlags::EXCL) {
        Ok(_) => Exclusive::Free,
        Err(Errno::BUSY) => Exclusive::Busy,
        Err(error) => Exclusive::Unknown(std::io::Error::from(error).to_string()),
    }
}

pub(super) fn unopened(number: DevNo) -> BlockFacts {
    empty_facts(number)
}
