//! The targets of a run: each judged and opened once, and then accessed by its descriptor.

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
use crate::probe::{
    Examined, HeldTarget, HoldError, ProbeError, examine, hold, recheck_all, remove_owned,
};

/// The kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File,
    /// A block device.
    Block,
    /// A character device such as `/dev/null`, which has no size.
    Char,
}

/// One target, held for the whole run.
#[derive(Debug)]
pub(super) struct Target {
    held: HeldTarget,
    path: PathBuf,
    kind: Kind,
    created: bool,
    directories: Vec<PathBuf>,
    /// Whether it has been laid out. Locked during the layout, so that two jobs on one file take
    /// turns.
    laid_out: Mutex<bool>,
}

/// All targets, by their paths in the plan.
#[derive(Debug, Default)]
pub(super) struct Targets(Mutex<HashMap<PathBuf, Arc<Target>>>);

impl Target {
    fn new(
        held: HeldTarget,
        path: PathBuf,
        created: bool,
        directories: Vec<PathBuf>,
    ) -> Result<Self, Errno> {
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
            directories,
            laid_out: Mutex::new(false),
        })
    }
    /// Its path in the plan.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
    /// Whether this run created it.
    pub(super) fn created(&self) -> bool {
        self.created
    }
    /// Whether it is held only for reading and never changed.
    pub(super) fn read_only(&self) -> bool {
        self.held.permit().access() == Access::ReadOnly
    }
    /// Size up to which the guard lets it grow; unlimited for files created by this run.
    pub(super) fn may_grow_to(&self) -> u64 {
        if self.created {
            u64::MAX
        } else {
            self.held.permit().intent().grows_to.map_or(0, Bytes::get)
        }
    }
    /// The range that the run may access within its first `size` bytes.
    pub(super) fn permitted_range(&self, size: u64) -> std::ops::Range<u64> {
        let span = self.held.permit().intent().range;
        span.start.get().min(size)..span.end.get().min(size)
    }
    /// Locks the layout of this target.
    pub(super) fn lock_layout(&self) -> MutexGuard<'_, bool> {
        self.laid_out.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Opens the target again.
    pub(super) fn reopen(&self, flags: OFlags) -> rustix::io::Result<std::os::fd::OwnedFd> {
        self.held.reopen(flags)
    }
    /// Records the state of the file in its mark.
    pub(super) fn record_state(&self) -> Result<(), ProbeError> {
        self.held.record_state()
    }
    /// Its current size; zero for a character device, which has none.
    pub(super) fn size(&self) -> std::io::Result<u64> {
        match self.kind {
            Kind::File => Ok(rustix::fs::fstat(&self.held)?.st_size.cast_unsigned()),
            Kind::Block => kernel::capacity(self.held.as_fd()),
            Kind::Char => Ok(0),
        }
    }
    /// Removes the file if its name still refers to this inode.
    fn remove(&self) -> Result<(), HostError> {
        let path = &self.held.facts().resolved;
        if remove_owned(path).is_ok_and(|removed| removed) {
            return Ok(());
        }
        self.unlink(path)
            .map_err(|error| failed("remove", path, &error.into()))
    }
    /// For a file system without marks: the inode alone identifies the file.
    fn unlink(&self, path: &Path) -> rustix::io::Result<()> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(directory, flags, rustix::fs::Mode::empty())?;
        let own = rustix::fs::fstat(&self.held)?;
        match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino) => {
                rustix::fs::unlinkat(&directory, name, AtFlags::empty())
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
    /// Adds a target that the guard has opened.
    pub(super) fn add(&self, held: HeldTarget, created: bool) -> Result<(), HostError> {
        let path = held.facts().named.clone();
        let target = Target::new(held, path.clone(), created, Vec::new());
        let target = target.map_err(|error| failed("use", &path, &error.into()))?;
        self.lock().insert(path, Arc::new(target));
        Ok(())
    }
    /// Checks the devices and files held for writing again: still the same, and not used by anybody
    /// else.
    pub(super) fn recheck(&self) -> Result<(), HoldError> {
        let targets: Vec<_> = self.lock().values().cloned().collect();
        let written: Vec<&HeldTarget> = targets
            .iter()
            .filter(|target| target.held.permit().intent().modifies())
            .map(|target| &target.held)
            .collect();
        recheck_all(&written)
    }
    /// All current targets. The caller must drop them before [`Targets::release`].
    pub(super) fn all(&self) -> Vec<Arc<Target>> {
        self.lock().values().cloned().collect()
    }
    pub(super) fn get(&self, path: &Path) -> Option<Arc<Target>> {
        self.lock().get(path).cloned()
    }
    /// The target at this path. A missing file is created under the guard's rules if `create` is
    /// set.
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
        check_missing(path, create)?;
        let target = Arc::new(create_target(path, size)?);
        targets.insert(path.to_owned(), target.clone());
        Ok(target)
    }
    /// Releases one target without changing it.
    pub(super) fn release_one(&self, path: &Path) -> Result<(), ProbeError> {
        let target = self.lock().remove(path);
        target
            .and_then(Arc::into_inner)
            .map_or(Ok(()), |target| target.held.release())
    }
    /// Removes a file created by this run and the directories created for it, and forgets it, so
    /// that it can be created again. Any other file stays.
    pub(super) fn remove(&self, target: &Target) -> Result<(), HostError> {
        if !target.created {
            return Ok(());
        }
        self.lock().remove(&target.path);
        let removed = target.remove();
        remove_directories(&target.directories);
        removed
    }
    /// Seals the marks of all files and releases all targets.
    pub(super) fn release(&self) -> Result<(), ProbeError> {
        let targets: Vec<_> = self.lock().drain().map(|(_, target)| target).collect();
        let held = targets
            .into_iter()
            .filter_map(Arc::into_inner)
            .map(|target| target.held);
        held.map(HeldTarget::release).fold(Ok(()), Result::and)
    }
}

fn check_missing(path: &Path, create: bool) -> Result<(), HostError> {
    let exists = std::fs::symlink_metadata(path).is_ok();
    let shown = path.display();
    if exists {
        let what = format!(
            "{shown} was created after the targets were checked; start again so that it is checked too"
        );
        return Err(refused(libc::EEXIST, what));
    }
    if create {
        Ok(())
    } else {
        Err(may_not_be_created(path))
    }
}

pub(super) fn may_not_be_created(path: &Path) -> HostError {
    refused(
        libc::ENOENT,
        format!(
            "{} does not exist and may not be created; create it, or set allow_file_create=1",
            path.display()
        ),
    )
}

fn create_target(path: &Path, size: Bytes) -> Result<Target, HostError> {
    let missing = missing_directories(path);
    if let Some(upper) = missing.first() {
        // Directories are created only where the file itself would be permitted.
        permit_new_file(upper, size)?;
    }
    let directories = create_directories(missing)?;
    let held = create_held(path, size).and_then(|held| {
        let target = Target::new(held, path.to_owned(), true, directories.clone());
        target.map_err(|error| failed("create", path, &error.into()))
    });
    if held.is_err() {
        remove_directories(&directories);
    }
    held
}

pub(super) fn permit_new_file(path: &Path, size: Bytes) -> Result<(Examined, Permit), HostError> {
    let examined = examine(path).map_err(probe_failed)?;
    let end = Bytes::new(size.get().max(1));
    let intent = Intent::write(Span::new(Bytes::ZERO, end)).growing_to(end);
    let permit =
        judge(examined.facts(), &intent, &[]).map_err(|refusal| not_permitted(&refusal))?;
    Ok((examined, permit))
}

fn create_held(path: &Path, size: Bytes) -> Result<HeldTarget, HostError> {
    let (examined, permit) = permit_new_file(path, size)?;
    hold(examined, &permit, None).map_err(|error| match error {
        HoldError::Probe(error) => probe_failed(error),
        HoldError::Refused(refusal) => not_permitted(&refusal),
        other @ HoldError::BackupRequired(_) => refused(libc::EPERM, other.to_string()),
    })
}

/// The guard's refusal in one line.
fn not_permitted(refusal: &Refusal) -> HostError {
    let errno = match refusal.reason {
        Reason::NoSpace { .. } => libc::ENOSPC,
        Reason::ReadOnlyFileSystem => libc::EROFS,
        Reason::Locked | Reason::Claimed => libc::EBUSY,
        _ => libc::EPERM,
    };
    refused(
        errno,
        format!(
            "{}: refused: {}; to proceed: {}",
            refusal.named.display(),
            refusal.reason_text(),
            refusal.remedy()
        ),
    )
}

fn probe_failed(error: ProbeError) -> HostError {
    failed(error.operation, &error.path, &error.source)
}

/// The missing directories above a path, topmost first.
pub(super) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let above = path
        .ancestors()
        .skip(1)
        .filter(|directory| !directory.as_os_str().is_empty());
    let mut missing: Vec<PathBuf> = above
        .take_while(|directory| !directory.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

pub(super) fn create_directories(missing: Vec<PathBuf>) -> Result<Vec<PathBuf>, HostError> {
    for (made, directory) in missing.iter().enumerate() {
        if let Err(error) = std::fs::create_dir(directory) {
            remove_directories(&missing[..made]);
            return Err(failed("create the directory", directory, &error));
        }
    }
    Ok(missing)
}

/// Removes only empty directories.
fn remove_directories(directories: &[PathBuf]) {
    for directory in directories.iter().rev() {
        let _ = std::fs::remove_dir(directory);
    }
}
