//! Writes and reads fathom's mark on files, and removes only files that have it.
//!
//! The mark is an extended attribute of the inode (`xattr(7)`) or, if the file system has none, a
//! line of a manifest in the same directory. See `fathom_device::Mark` for its contents.

use super::error::ProbeError;
use super::kernel::devno;
use fathom_device::{DevNo, Manifest, ManifestEntry, Mark, MarkState, Origin, Owner, Seal};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Stat, StatxFlags, XattrFlags};
use rustix::io::{Errno, Result as KernelResult};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How often a mark is written until the file's times match what it records. The second attempt
/// matches unless the thread was interrupted in between.
const ATTEMPTS: usize = 8;

const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The state of one open file, as far as marks need it.
pub(super) struct Inode {
    stat: Stat,
    born_ns: Option<i128>,
}

impl Inode {
    pub(super) fn of(file: BorrowedFd<'_>) -> KernelResult<Self> {
        Ok(Self {
            stat: rustix::fs::fstat(file)?,
            born_ns: born(file),
        })
    }
    pub(super) fn key(&self) -> (DevNo, u64) {
        (devno(self.stat.st_dev), self.stat.st_ino)
    }
    fn seal(&self) -> Seal {
        Seal {
            size: unsigned(self.stat.st_size),
            mtime_ns: mtime_ns(&self.stat),
            ctime_ns: Some(ctime_ns(&self.stat)),
        }
    }
}

/// `stat(2)` uses signed numbers for sizes and blocks that are never negative.
pub(super) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// Modification time in nanoseconds since 1970.
pub(super) fn mtime_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

/// Time of the last change of contents or metadata, in nanoseconds since 1970.
pub(super) fn ctime_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec)
}

fn born(file: BorrowedFd<'_>) -> Option<i128> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| {
        i128::from(stat.stx_btime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_btime.tv_nsec)
    })
}

/// Who owns this file's contents.
///
/// # Errors
/// If the file cannot be inspected; a file without a mark is not an error.
pub fn file_owner(file: BorrowedFd<'_>) -> Result<Owner, ProbeError> {
    let path = path_of(file);
    let inode = Inode::of(file).map_err(|error| ProbeError::new("inspect", &path, error))?;
    Ok(owner(file, &inode))
}

pub(super) fn owner(file: BorrowedFd<'_>, inode: &Inode) -> Owner {
    match read_mark(file, inode) {
        Some(mark) if mark.matches(inode.stat.st_ino, inode.seal()) => Owner::Ours,
        Some(mark) if mark.inode == inode.stat.st_ino => match mark.state {
            MarkState::Open => Owner::Unfinished,
            MarkState::Closed => Owner::Changed,
        },
        _ => Owner::Foreign,
    }
}

/// Marks the file in its present state as ours and open for a run. A file that already is ours keeps
/// its origin.
///
/// # Errors
/// If neither the attribute nor the manifest can be written.
pub fn mark_owned(file: BorrowedFd<'_>, origin: Origin) -> Result<(), ProbeError> {
    let path = path_of(file);
    let marked = Inode::of(file)
        .map_err(std::io::Error::from)
        .and_then(|inode| {
            let old = read_mark(file, &inode)
                .filter(|mark| mark.matches(inode.stat.st_ino, inode.seal()));
            let origin = old.map_or(origin, |mark| mark.origin);
            record(file, inode, origin, MarkState::Open)
        });
    marked.map_err(|error| ProbeError::new("write the ownership mark of", &path, error))
}

/// Writes a mark with the present state of the file. Writing the attribute changes `st_ctime`, which
/// is part of that state, so it is repeated until the two are close enough.
fn record(
    file: BorrowedFd<'_>,
    mut inode: Inode,
    origin: Origin,
    state: MarkState,
) -> std::io::Result<()> {
    for _ in 0..ATTEMPTS {
        let mark = Mark {
            inode: inode.stat.st_ino,
            origin,
            state,
            seal: Some(inode.seal()),
        };
        write_mark(file, &inode, mark)?;
        inode = Inode::of(file)?;
        if mark.matches(inode.stat.st_ino, inode.seal()) {
            break;
        }
    }
    // A mark that does not match gives no permission, so the worst outcome is a code to be given.
    Ok(())
}

/// Bytes that the extended attribute and the manifest of one mark need at most.
const RESERVE: u64 = 64 << 10;

/// The reserved space of each file system, by device number.
static RESERVES: Mutex<BTreeMap<u64, Weak<File>>> = Mutex::new(BTreeMap::new());

/// Allocates space in the file system of `file`, in a file without a name that all targets there share. Without it the mark of
/// a file that filled its file system could not be sealed. `None` where that is not possible.
pub(super) fn reserve_space(file: BorrowedFd<'_>) -> Option<Arc<File>> {
    let device = rustix::fs::fstat(file).ok()?.st_dev;
    let mut reserves = RESERVES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(reserve) = reserves.get(&device).and_then(Weak::upgrade) {
        return Some(reserve);
    }
    let directory = directory_of(file).ok()?;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&directory, ".", flags, Mode::from_raw_mode(0o600)).ok()?;
    rustix::fs::fallocate(&opened, rustix::fs::FallocateFlags::empty(), 0, RESERVE).ok()?;
    let reserve = Arc::new(File::from(opened));
    reserves.insert(device, Arc::downgrade(&reserve));
    Some(reserve)
}

/// Records the state of the file when fathom closes it. A file without a mark gets none.
pub(super) fn seal(file: BorrowedFd<'_>) -> Result<(), ProbeError> {
    update(file, |mark, _| Some((mark.origin, MarkState::Closed)))
}

/// Records the state of the file during a run, if the mark does not match it any more.
pub(super) fn refresh(file: BorrowedFd<'_>) -> Result<(), ProbeError> {
    update(file, |mark, now| {
        (!mark.matches(mark.inode, now)).then_some((mark.origin, mark.state))
    })
}

/// Writes the mark of a file that has one again, with the present state.
fn update(
    file: BorrowedFd<'_>,
    change: impl FnOnce(Mark, Seal) -> Option<(Origin, MarkState)>,
) -> Result<(), ProbeError> {
    let path = path_of(file);
    let updated = Inode::of(file)
        .map_err(std::io::Error::from)
        .and_then(|inode| {
            let mark = read_mark(file, &inode).filter(|mark| mark.inode == inode.stat.st_ino);
            match mark.and_then(|mark| change(mark, inode.seal())) {
                Some((origin, state)) => record(file, inode, origin, state),
                None => Ok(()),
            }
        });
    updated.map_err(|error| ProbeError::new("seal the mark of", &path, error))
}

/// Removes a file that fathom created and that is unmodified since. Any other file stays, and the
/// result is `false`.
///
/// # Errors
/// If the file cannot be opened or unlinked.
pub fn remove_owned(path: &Path) -> Result<bool, ProbeError> {
    let fail = |error: Errno| ProbeError::new("remove", path, error);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(fail)?;
    remove(file.as_fd(), path)
}

pub(super) fn remove(file: BorrowedFd<'_>, path: &Path) -> Result<bool, ProbeError> {
    let fail = |error: Errno| ProbeError::new("remove", path, error);
    let inode = Inode::of(file).map_err(fail)?;
    let mark = read_mark(file, &inode).filter(|mark| mark.matches(inode.stat.st_ino, inode.seal()));
    if mark.is_none_or(|mark| mark.origin != Origin::Created) {
        return Ok(false);
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(false);
    };
    let directory = open_directory(directory).map_err(fail)?;
    // The name must still refer to this inode: a name alone is never enough to remove a file.
    let named = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
    if (named.st_dev, named.st_ino) != (inode.stat.st_dev, inode.stat.st_ino) {
        return Ok(false);
    }
    rustix::fs::unlinkat(&directory, name, AtFlags::empty()).map_err(fail)?;
    // A failure here is harmless: the birth time in the line keeps it from matching another file.
    let _ = update_manifest(directory.as_fd(), false, |manifest| {
        manifest.remove(inode.stat.st_dev, inode.stat.st_ino);
    });
    Ok(true)
}

fn open_directory(directory: &Path) -> KernelResult<OwnedFd> {
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    rustix::fs::open(directory, PATH_ONLY | OFlags::DIRECTORY, Mode::empty())
}

/// The current path of an open file, according to the kernel.
pub(super) fn path_of(file: BorrowedFd<'_>) -> PathBuf {
    std::fs::read_link(proc_path(file)).unwrap_or_default()
}

/// A path that opens a descriptor's file again, even if the file was renamed.
pub(super) fn proc_path(file: impl AsFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

fn read_mark(file: BorrowedFd<'_>, inode: &Inode) -> Option<Mark> {
    let mut value = vec![0; 256];
    match rustix::fs::fgetxattr(file, Mark::ATTRIBUTE, &mut value[..]) {
        Ok(length) => Mark::parse(std::str::from_utf8(value.get(..length)?).ok()?).ok(),
        Err(_) => manifest_mark(file, inode),
    }
}

fn manifest_mark(file: BorrowedFd<'_>, inode: &Inode) -> Option<Mark> {
    let directory = directory_of(file).ok()?;
    let mut manifest = open_manifest(directory.as_fd(), OFlags::RDONLY, inode.stat.st_uid)?;
    let known = read_manifest(&mut manifest)?;
    known
        .find(inode.stat.st_dev, inode.stat.st_ino, inode.born_ns)
        .map(|entry| entry.mark)
}

fn directory_of(file: BorrowedFd<'_>) -> KernelResult<OwnedFd> {
    open_directory(path_of(file).parent().ok_or(Errno::NOENT)?)
}

fn write_mark(file: BorrowedFd<'_>, inode: &Inode, mark: Mark) -> std::io::Result<()> {
    let text = mark.to_text();
    if rustix::fs::fsetxattr(file, Mark::ATTRIBUTE, text.as_bytes(), XattrFlags::empty()).is_ok() {
        return Ok(());
    }
    let directory = directory_of(file)?;
    let entry = ManifestEntry {
        dev: inode.stat.st_dev,
        born_ns: inode.born_ns,
        mark,
    };
    update_manifest(directory.as_fd(), true, |manifest| manifest.insert(entry))
}

/// Opens the manifest if it can be trusted: it must be a regular file owned by us, by root or by
/// the owner of the file in question, and not writable by anybody else.
fn open_manifest(directory: BorrowedFd<'_>, flags: OFlags, file_owner: u32) -> Option<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened =
        rustix::fs::openat(directory, Manifest::NAME, flags, Mode::from_raw_mode(0o600)).ok()?;
    let manifest = File::from(opened);
    let found = manifest.metadata().ok()?;
    let trusted = [0, file_owner, rustix::process::geteuid().as_raw()].contains(&found.uid());
    (found.is_file() && trusted && found.mode() & 0o022 == 0 && found.len() <= Manifest::MAX_BYTES)
        .then_some(manifest)
}

fn read_manifest(manifest: &mut File) -> Option<Manifest> {
    let mut text = String::new();
    manifest
        .take(Manifest::MAX_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    if text.is_empty() {
        Some(Manifest::default())
    } else {
        Manifest::parse(&text).ok()
    }
}

/// Changes the manifest under a lock. A foreign file of that name is not touched.
fn update_manifest(
    directory: BorrowedFd<'_>,
    create: bool,
    change: impl FnOnce(&mut Manifest),
) -> std::io::Result<()> {
    let flags = if create {
        OFlags::RDWR | OFlags::CREATE
    } else {
        OFlags::RDWR
    };
    let own = rustix::process::geteuid().as_raw();
    let mut file = open_manifest(directory, flags, own).ok_or(Errno::ACCESS)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    let mut manifest = read_manifest(&mut file).ok_or(Errno::ACCESS)?;
    change(&mut manifest);
    let text = manifest.to_text();
    // A torn manifest does not parse; then nothing it listed is ours, which is the safe outcome.
    file.write_all_at(text.as_bytes(), 0)?;
    file.set_len(text.len() as u64)?;
    file.flush()
}
