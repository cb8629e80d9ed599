//! The targets of a run: each judged and opened once, and from then on known by its descriptor.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_device::{Access, Intent, Permit, Reason, Refusal, Span, judge};
use fathom_load::HostError;
use fathom_model::Bytes;
use rustix::fs::{AtFlags, FileType, OFlags};
use rustix::io::Errno;

use super::error::{failed, refused};
use super::kernel;
use crate::probe::{Examined, Held, HoldError, ProbeError, examine, hold, remove_ours};

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File,
    /// A block device.
    Block,
    /// A character device such as `/dev/null`; it has no size.
    Char,
}

/// One target, held for the whole run.
#[derive(Debug)]
pub(super) struct Target {
    held: Held,
    path: PathBuf,
    kind: Kind,
    created: bool,
    folders: Vec<PathBuf>,
    /// Whether it was laid out once; locked while it is, so that two jobs on one file take turns.
    ready: Mutex<bool>,
}

/// All targets, by the path the plan calls them.
#[derive(Debug, Default)]
pub(super) struct Targets(Mutex<HashMap<PathBuf, Arc<Target>>>);

impl Target {
    fn new(held: Held, path: PathBuf, created: bool, folders: Vec<PathBuf>) -> Result<Self, Errno> {
        let kind = match FileType::from_raw_mode(rustix::fs::fstat(&held)?.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::BlockDevice => Kind::Block,
            FileType::CharacterDevice => Kind::Char,
            _ => return Err(Errno::INVAL),
        };
        Ok(Self {
            held,
            path,
            kind,
            created,
            folders,
            ready: Mutex::new(false),
        })
    }
    /// What the plan calls it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
    /// This run created it.
    pub(super) fn created(&self) -> bool {
        self.created
    }
    /// Held for reading only: nothing of it is ever changed.
    pub(super) fn read_only(&self) -> bool {
        self.held.permit().access() == Access::ReadOnly
    }
    /// How far the guard lets it grow; files that this run created are free.
    pub(super) fn may_grow_to(&self) -> u64 {
        if self.created {
            u64::MAX
        } else {
            self.held.permit().intent().grows_to.map_or(0, Bytes::get)
        }
    }
    /// The bytes of its first `size` that the run may touch.
    pub(super) fn reach(&self, size: u64) -> std::ops::Range<u64> {
        let span = self.held.permit().intent().range;
        span.start.get().min(size)..span.end.get().min(size)
    }
    /// Takes the turn to lay it out.
    pub(super) fn turn(&self) -> MutexGuard<'_, bool> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Opens it once more.
    pub(super) fn reopen(&self, flags: OFlags) -> rustix::io::Result<std::os::fd::OwnedFd> {
        self.held.reopen(flags)
    }
    /// Its size now; zero for a character device, which has none.
    pub(super) fn size(&self) -> std::io::Result<u64> {
        match self.kind {
            Kind::File => Ok(rustix::fs::fstat(&self.held)?.st_size.cast_unsigned()),
            Kind::Block => kernel::capacity(self.held.as_fd()),
            Kind::Char => Ok(0),
        }
    }
    /// Removes the file if the name still leads to this inode.
    fn remove(&self) -> Result<(), HostError> {
        let path = &self.held.facts().resolved;
        if remove_ours(path).is_ok_and(|removed| removed) {
            return Ok(());
        }
        self.unlink(path)
            .map_err(|error| failed("remove", path, &error.into()))
    }
    /// For a file system that keeps no mark: the inode alone says that it is ours.
    fn unlink(&self, path: &Path) -> rustix::io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())?;
        let own = rustix::fs::fstat(&self.held)?;
        match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino) => {
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())
            }
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

impl Targets {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Target>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Takes over a target that the guard has opened.
    pub(super) fn add(&self, held: Held, created: bool) -> Result<(), HostError> {
        let path = held.facts().named.clone();
        let target = Target::new(held, path.clone(), created, Vec::new());
        let target = target.map_err(|error| failed("use", &path, &error.into()))?;
        self.lock().insert(path, Arc::new(target));
        Ok(())
    }
    /// Looks again at the block devices held for writing: still the same, and in nobody else's use.
    pub(super) fn recheck(&self) -> Result<(), HoldError> {
        let targets: Vec<_> = self.lock().values().cloned().collect();
        let written = |target: &&Arc<Target>| {
            target.kind == Kind::Block && target.held.permit().intent().modifies()
        };
        targets
            .iter()
            .filter(written)
            .try_for_each(|target| target.held.recheck())
    }
    /// All that are held now. The caller must let go of them before [`Targets::release`].
    pub(super) fn all(&self) -> Vec<Arc<Target>> {
        self.lock().values().cloned().collect()
    }
    pub(super) fn get(&self, path: &Path) -> Option<Arc<Target>> {
        self.lock().get(path).cloned()
    }
    /// The target of that path; if nothing is there and it may be, it is created, under the guard's rules.
    pub(super) fn get_or_create(
        &self,
        path: &Path,
        create: bool,
        size: Bytes,
    ) -> Result<Arc<Target>, HostError> {
        let mut targets = self.lock();
        if let Some(target) = targets.get(path) {
            return Ok(target.clone());
        }
        must_be_missing(path, create)?;
        let target = Arc::new(create_target(path, size)?);
        targets.insert(path.to_owned(), target.clone());
        Ok(target)
    }
    /// Lets go of one target, which stays as it is.
    pub(super) fn let_go(&self, path: &Path) -> Result<(), ProbeError> {
        let target = self.lock().remove(path);
        target
            .and_then(Arc::into_inner)
            .map_or(Ok(()), |target| target.held.release())
    }
    /// Removes a file this run created, with the folders made for it, and forgets it, so that it can be created anew.
    /// Any other stays.
    pub(super) fn remove(&self, target: &Target) -> Result<(), HostError> {
        if !target.created {
            return Ok(());
        }
        self.lock().remove(&target.path);
        let removed = target.remove();
        remove_folders(&target.folders);
        removed
    }
    /// Seals the marks of all files and lets go of all targets.
    pub(super) fn release(&self) -> Result<(), ProbeError> {
        let targets: Vec<_> = self.lock().drain().map(|(_, target)| target).collect();
        let held = targets
            .into_iter()
            .filter_map(Arc::into_inner)
            .map(|target| target.held);
        held.map(Held::release).fold(Ok(()), Result::and)
    }
}

fn must_be_missing(path: &Path, create: bool) -> Result<(), HostError> {
    let there = std::fs::symlink_metadata(path).is_ok();
    let shown = path.display();
    if there {
        let what = format!(
            "{shown} came into being after the targets were checked; start again, so that it is checked too"
        );
        return Err(refused(libc::EEXIST, what));
    }
    if create {
        return Ok(());
    }
    Err(refused(
        libc::ENOENT,
        format!(
            "{shown} is not there and may not be created; create it, or set allow_file_create=1"
        ),
    ))
}

fn create_target(path: &Path, size: Bytes) -> Result<Target, HostError> {
    let missing = missing_folders(path);
    if let Some(upper) = missing.first() {
        // Where the file may not be, no folders for it are made either.
        permitted(upper, size)?;
    }
    let folders = make_folders(missing)?;
    let held = create_held(path, size).and_then(|held| {
        let target = Target::new(held, path.to_owned(), true, folders.clone());
        target.map_err(|error| failed("create", path, &error.into()))
    });
    if held.is_err() {
        remove_folders(&folders);
    }
    held
}

pub(super) fn permitted(path: &Path, size: Bytes) -> Result<(Examined, Permit), HostError> {
    let examined = examine(path).map_err(probe_failed)?;
    let end = Bytes::new(size.get().max(1));
    let intent = Intent::write(Span::new(Bytes::ZERO, end)).growing_to(end);
    let permit =
        judge(examined.facts(), &intent, &[]).map_err(|refusal| not_permitted(&refusal))?;
    Ok((examined, permit))
}

fn create_held(path: &Path, size: Bytes) -> Result<Held, HostError> {
    let (examined, permit) = permitted(path, size)?;
    hold(examined, &permit, None).map_err(|error| match error {
        HoldError::Probe(error) => probe_failed(error),
        HoldError::Refused(refusal) => not_permitted(&refusal),
        other @ HoldError::BackupWanted(_) => refused(libc::EPERM, other.to_string()),
    })
}

/// The guard's refusal in one line.
fn not_permitted(refusal: &Refusal) -> HostError {
    let errno = match refusal.reason {
        Reason::NoRoom { .. } => libc::ENOSPC,
        Reason::ReadOnlyFileSystem => libc::EROFS,
        Reason::Locked | Reason::Claimed => libc::EBUSY,
        _ => libc::EPERM,
    };
    refused(
        errno,
        format!(
            "{}: refused: {}; to go on: {}",
            refusal.named.display(),
            refusal.found(),
            refusal.way()
        ),
    )
}

fn probe_failed(error: ProbeError) -> HostError {
    failed(error.doing, &error.path, &error.source)
}

/// The folders that are missing above a path, the upper first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut missing: Vec<PathBuf> = above
        .take_while(|folder| !folder.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

pub(super) fn make_folders(missing: Vec<PathBuf>) -> Result<Vec<PathBuf>, HostError> {
    for (made, folder) in missing.iter().enumerate() {
        if let Err(error) = std::fs::create_dir(folder) {
            remove_folders(&missing[..made]);
            return Err(failed("create the folder", folder, &error));
        }
    }
    Ok(missing)
}

/// Only folders that are empty go.
fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = std::fs::remove_dir(folder);
    }
}
