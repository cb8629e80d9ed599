//! Puts fathom's mark on files, reads it, and removes only files that carry it.
//!
//! The mark lies on the inode as an extended attribute (`xattr(7)`), or, where the file system has none, in a
//! manifest in the same folder. See `fathom_device::Mark` for what it says.

use super::error::ProbeError;
use super::kernel::devno;
use fathom_device::{DevNo, Manifest, ManifestEntry, Mark, Origin, Owner, Seal};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Stat, StatxFlags, XattrFlags};
use rustix::io::{Errno, Result as KernelResult};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// What the kernel says of one open file, as far as marks need it.
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
        }
    }
}

/// `stat(2)` counts bytes and blocks in signed numbers that are never negative.
pub(super) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// Modification time in nanoseconds since 1970.
pub(super) fn mtime_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

fn born(file: BorrowedFd<'_>) -> Option<i128> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| {
        i128::from(stat.stx_btime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_btime.tv_nsec)
    })
}

/// Whose file this is.
///
/// # Errors
/// When the file cannot be looked at; a file without a mark is no error.
pub fn is_ours(file: BorrowedFd<'_>) -> Result<Owner, ProbeError> {
    let path = path_of(file);
    let inode = Inode::of(file).map_err(|error| ProbeError::new("look at", &path, error))?;
    Ok(owner(file, &inode))
}

pub(super) fn owner(file: BorrowedFd<'_>, inode: &Inode) -> Owner {
    match read_mark(file, inode) {
        Some(mark) if mark.fits(inode.stat.st_ino, inode.seal()) => Owner::Ours,
        Some(mark) if mark.inode == inode.stat.st_ino => Owner::Changed,
        _ => Owner::Foreign,
    }
}

/// Marks the file as ours, open for a run: until it is sealed, any contents count as ours. A file that is ours
/// already keeps its origin.
///
/// # Errors
/// When neither the attribute nor the manifest can be written.
pub fn mark_ours(file: BorrowedFd<'_>, origin: Origin) -> Result<(), ProbeError> {
    let path = path_of(file);
    let marked = Inode::of(file)
        .map_err(std::io::Error::from)
        .and_then(|inode| {
            let old =
                read_mark(file, &inode).filter(|mark| mark.fits(inode.stat.st_ino, inode.seal()));
            let origin = old.map_or(origin, |mark| mark.origin);
            write_mark(
                file,
                &inode,
                Mark {
                    inode: inode.stat.st_ino,
                    origin,
                    seal: None,
                },
            )
        });
    marked.map_err(|error| ProbeError::new("mark as fathom's own", &path, error))
}

/// Writes down size and modification time as we leave them. A file without a mark stays without.
pub(super) fn seal(file: BorrowedFd<'_>) -> Result<(), ProbeError> {
    let path = path_of(file);
    let sealed = Inode::of(file)
        .map_err(std::io::Error::from)
        .and_then(|inode| {
            let mark = read_mark(file, &inode).filter(|mark| mark.inode == inode.stat.st_ino);
            mark.map_or(Ok(()), |mark| {
                write_mark(
                    file,
                    &inode,
                    Mark {
                        seal: Some(inode.seal()),
                        ..mark
                    },
                )
            })
        });
    sealed.map_err(|error| ProbeError::new("seal the mark of", &path, error))
}

/// Removes a file that fathom created and that is as fathom left it; anything else stays, and the answer is
/// `false`.
///
/// # Errors
/// When the file cannot be opened or unlinked.
pub fn remove_ours(path: &Path) -> Result<bool, ProbeError> {
    let fail = |error: Errno| ProbeError::new("remove", path, error);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(fail)?;
    remove(file.as_fd(), path)
}

pub(super) fn remove(file: BorrowedFd<'_>, path: &Path) -> Result<bool, ProbeError> {
    let fail = |error: Errno| ProbeError::new("remove", path, error);
    let inode = Inode::of(file).map_err(fail)?;
    let mark = read_mark(file, &inode).filter(|mark| mark.fits(inode.stat.st_ino, inode.seal()));
    if mark.is_none_or(|mark| mark.origin != Origin::Created) {
        return Ok(false);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(false);
    };
    let folder = open_folder(folder).map_err(fail)?;
    // The name must still be this inode: a name alone is never enough to remove by.
    let named = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
    if (named.st_dev, named.st_ino) != (inode.stat.st_dev, inode.stat.st_ino) {
        return Ok(false);
    }
    rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(fail)?;
    // A line for a file that is gone is harmless, because its birth time is in it; so this may fail.
    let _ = update_manifest(folder.as_fd(), false, |manifest| {
        manifest.remove(inode.stat.st_dev, inode.stat.st_ino)
    });
    Ok(true)
}

fn open_folder(folder: &Path) -> KernelResult<OwnedFd> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    rustix::fs::open(folder, PATH_ONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Where the kernel says an open file is.
pub(super) fn path_of(file: BorrowedFd<'_>) -> PathBuf {
    std::fs::read_link(proc_path(file)).unwrap_or_default()
}

/// The name under which a descriptor can be opened again, whatever has become of its path.
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
    let folder = folder_of(file).ok()?;
    let mut manifest = open_manifest(folder.as_fd(), OFlags::RDONLY, inode.stat.st_uid)?;
    let known = read_manifest(&mut manifest)?;
    known
        .find(inode.stat.st_dev, inode.stat.st_ino, inode.born_ns)
        .map(|entry| entry.mark)
}

fn folder_of(file: BorrowedFd<'_>) -> KernelResult<OwnedFd> {
    open_folder(path_of(file).parent().ok_or(Errno::NOENT)?)
}

fn write_mark(file: BorrowedFd<'_>, inode: &Inode, mark: Mark) -> std::io::Result<()> {
    let text = mark.to_text();
    if rustix::fs::fsetxattr(file, Mark::ATTRIBUTE, text.as_bytes(), XattrFlags::empty()).is_ok() {
        return Ok(());
    }
    let folder = folder_of(file)?;
    let entry = ManifestEntry {
        dev: inode.stat.st_dev,
        born_ns: inode.born_ns,
        mark,
    };
    update_manifest(folder.as_fd(), true, |manifest| manifest.put(entry))
}

/// A manifest that someone else could have written says nothing: it must be a plain file of ours, of root's or
/// of the owner of the file in question, and nobody else may write to it.
fn open_manifest(folder: BorrowedFd<'_>, flags: OFlags, file_owner: u32) -> Option<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened =
        rustix::fs::openat(folder, Manifest::NAME, flags, Mode::from_raw_mode(0o600)).ok()?;
    let manifest = File::from(opened);
    let found = manifest.metadata().ok()?;
    let trusted = [0, file_owner, rustix::process::geteuid().as_raw()].contains(&found.uid());
    (found.is_file() && trusted && found.mode() & 0o022 == 0 && found.len() <= Manifest::LARGEST)
        .then_some(manifest)
}

fn read_manifest(manifest: &mut File) -> Option<Manifest> {
    let mut text = String::new();
    manifest
        .take(Manifest::LARGEST)
        .read_to_string(&mut text)
        .ok()?;
    if text.is_empty() {
        Some(Manifest::default())
    } else {
        Manifest::parse(&text).ok()
    }
}

/// Changes the manifest under a lock. A foreign file of that name is left alone.
fn update_manifest(
    folder: BorrowedFd<'_>,
    create: bool,
    change: impl FnOnce(&mut Manifest),
) -> std::io::Result<()> {
    let flags = if create {
        OFlags::RDWR | OFlags::CREATE
    } else {
        OFlags::RDWR
    };
    let own = rustix::process::geteuid().as_raw();
    let mut file = open_manifest(folder, flags, own).ok_or(Errno::ACCESS)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    let mut manifest = read_manifest(&mut file).ok_or(Errno::ACCESS)?;
    change(&mut manifest);
    let text = manifest.to_text();
    // A torn manifest does not parse, and then nothing it listed is ours: the safe way to fail.
    file.write_all_at(text.as_bytes(), 0)?;
    file.set_len(text.len() as u64)?;
    file.flush()
}
