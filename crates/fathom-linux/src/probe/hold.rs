//! Opens a permitted target and keeps it open until it is released.

use super::backup;
use super::error::{HoldError, ProbeError};
use super::examine::{Contents, ExamineMode, Examined, Handle, examine_identity, facts, reopen};
use super::owner::{self, mark_owned, unsigned};
use super::system::{MountScope, System};
use fathom_device::{
    Access, FileFacts, Intent, Origin, Permit, Reason, Refusal, Span, Target, TargetFacts, judge,
    unchanged,
};
use fathom_model::Bytes;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// A target that is open, claimed and permitted. Dropping it releases the claim.
#[derive(Debug)]
pub struct HeldTarget {
    fd: OwnedFd,
    permit: Permit,
    marked: bool,
    /// Space that is given back if the mark cannot be sealed because the file system is full.
    reserve: Option<Arc<File>>,
}

/// Opens the examined target as permitted. A block device to be written is claimed with `O_EXCL`, a
/// file to be written is locked; then everything is examined and judged again. The first and last
/// MiB of a device with a known structure are saved to `backup`, a file that must not exist yet.
///
/// # Errors
/// [`HoldError::Refused`] if the target changed since the check or somebody else uses it, and the
/// other variants as documented.
pub fn hold(
    examined: Examined,
    permit: &Permit,
    backup: Option<&Path>,
) -> Result<HeldTarget, HoldError> {
    hold_with(examined, permit, Backup::SaveTo(backup))
}

/// As [`hold`], for a target that this process held before and backed up then: its current contents
/// are our own.
///
/// # Errors
/// As [`hold`].
pub fn hold_again(examined: Examined, permit: &Permit) -> Result<HeldTarget, HoldError> {
    hold_with(examined, permit, Backup::AlreadySaved)
}

/// What to do with the first and last MiB of a device with a known structure.
#[derive(Clone, Copy)]
enum Backup<'a> {
    SaveTo(Option<&'a Path>),
    AlreadySaved,
}

fn hold_with(
    examined: Examined,
    permit: &Permit,
    ends: Backup<'_>,
) -> Result<HeldTarget, HoldError> {
    let modifies = permit.intent().modifies();
    unchanged(permit.facts(), &examined.facts, modifies)?;
    unchanged(
        &examined.facts,
        &examine_identity(&examined.facts.named)?.facts,
        false,
    )?;
    let named = examined.facts.named.clone();
    let opened = match (permit.access(), examined.handle) {
        (Access::Create, Handle::Missing { directory, name }) => {
            return create(&directory, Path::new(&name), &examined.facts, permit);
        }
        (Access::ReadOnly, Handle::Existing(fd)) => {
            reopen(fd.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK)
        }
        (Access::ReadWrite, Handle::Existing(fd)) => {
            open_to_write(fd.as_fd(), &examined.facts.target)
        }
        _ => Err(Errno::NOENT),
    };
    let fd = match opened {
        Err(Errno::BUSY | Errno::TXTBSY) => {
            return Err(Refusal::new(&examined.facts, Reason::Claimed).into());
        }
        other => other.map_err(|error| ProbeError::new("open", &named, error))?,
    };
    let held = HeldTarget {
        fd,
        permit: permit.clone(),
        marked: false,
        reserve: None,
    };
    if permit.access() == Access::ReadOnly {
        Ok(held)
    } else {
        held.confirm(ends)
    }
}

fn open_to_write(fd: BorrowedFd<'_>, target: &Target) -> rustix::io::Result<OwnedFd> {
    let claim = if matches!(target, Target::Block(_)) {
        OFlags::EXCL
    } else {
        OFlags::empty()
    };
    reopen(fd, OFlags::RDWR | claim)
}

/// Creates the missing file. A file that appeared in the meantime is not touched.
fn create(
    directory: &OwnedFd,
    name: &Path,
    facts: &TargetFacts,
    permit: &Permit,
) -> Result<HeldTarget, HoldError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o644)).map_err(
        |error| match error {
            Errno::EXIST => HoldError::from(created_meanwhile(facts)),
            other => ProbeError::new("create", &facts.named, other).into(),
        },
    )?;
    let created =
        rustix::fs::fstat(&fd).map_err(|error| ProbeError::new("inspect", &facts.named, error))?;
    let held = accept_created(fd, facts, permit);
    if held.is_err() {
        let named = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (created.st_dev, created.st_ino))
        {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
    held
}

fn created_meanwhile(facts: &TargetFacts) -> Refusal {
    let swapped = Reason::Changed {
        before: "missing".into(),
        now: "there".into(),
    };
    Refusal::new(facts, swapped)
}

/// Judges the new file in its current state: ours and empty.
fn accept_created(
    fd: OwnedFd,
    before: &TargetFacts,
    permit: &Permit,
) -> Result<HeldTarget, HoldError> {
    lock(fd.as_fd(), before)?;
    let marked = mark_owned(fd.as_fd(), Origin::Created).is_ok();
    let reserve = owner::reserve_space(fd.as_fd());
    let now = facts(
        &before.named,
        fd.as_fd(),
        ExamineMode {
            contents: Contents::Ends,
            held: Some(fd.as_fd()),
        },
    )?;
    let intent = *permit.intent();
    let end = intent.grows_to.unwrap_or(intent.range.end);
    let permit = judge(
        &now,
        &Intent {
            grows_to: Some(end),
            ..intent
        },
        &[],
    )?;
    Ok(HeldTarget {
        fd,
        permit,
        marked,
        reserve,
    })
}

/// Two runs on one file would distort each other's results. If locks are unsupported, there is no
/// lock.
fn lock(fd: BorrowedFd<'_>, facts: &TargetFacts) -> Result<(), HoldError> {
    match rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Refusal::new(facts, Reason::Locked).into()),
        _ => Ok(()),
    }
}

/// As much of the contents as `facts` cover, so that the two can be compared.
fn as_read_before(facts: &TargetFacts) -> Contents {
    let ends = match &facts.target {
        Target::Block(block) => block.ends.as_ref(),
        Target::File(file) => file.ends.as_ref(),
        _ => None,
    };
    match ends {
        Some(ends) if ends.samples.is_some() => Contents::Samples,
        _ => Contents::Ends,
    }
}

impl HeldTarget {
    /// Checks again while the target is claimed, then does what must happen before the first write.
    fn confirm(mut self, ends: Backup<'_>) -> Result<Self, HoldError> {
        let file = matches!(self.facts().target, Target::File(_));
        if file {
            lock(self.fd.as_fd(), self.facts())?;
        }
        let now = self.examine_again(as_read_before(self.facts()))?;
        self.permit.recheck_before_write(&now)?;
        if let Backup::SaveTo(backup) = ends
            && self.permit.needs_backup()
        {
            let path =
                backup.ok_or_else(|| HoldError::BackupRequired(self.facts().named.clone()))?;
            backup::save(self.fd.as_fd(), &now, path)?;
        }
        self.marked = file && mark_owned(self.fd.as_fd(), Origin::Adopted).is_ok();
        if self.marked {
            self.reserve = owner::reserve_space(self.fd.as_fd());
        }
        Ok(self)
    }
    fn examine_again(&self, contents: Contents) -> Result<TargetFacts, ProbeError> {
        facts(
            &self.facts().named,
            self.fd.as_fd(),
            ExamineMode {
                contents,
                held: Some(self.fd.as_fd()),
            },
        )
    }
    /// The target as it was judged.
    #[must_use]
    pub const fn facts(&self) -> &TargetFacts {
        self.permit.facts()
    }
    /// The permit it is held with.
    #[must_use]
    pub const fn permit(&self) -> &Permit {
        &self.permit
    }
    /// The range that may be accessed; every I/O must pass [`Span::check`].
    #[must_use]
    pub const fn span(&self) -> Span {
        self.permit.intent().range
    }
    /// Whether the file has fathom's mark; always `false` for devices and for reading.
    #[must_use]
    pub const fn marked(&self) -> bool {
        self.marked
    }
    /// Opens the same inode or device again with `flags` such as `O_DIRECT`, for an engine of its
    /// own. Flags that create, truncate or claim are ignored.
    ///
    /// # Errors
    /// The kernel's error, or `EACCES` if `flags` request writing but the target is held for
    /// reading.
    pub fn reopen(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        if writes && self.permit.access() == Access::ReadOnly {
            return Err(Errno::ACCESS);
        }
        reopen(
            self.fd.as_fd(),
            flags - (OFlags::CREATE | OFlags::TRUNC | OFlags::EXCL | OFlags::TMPFILE),
        )
    }
    /// Extends a file to at least `size` with a hole; never shortens it.
    ///
    /// # Errors
    /// The kernel's error, or `EPERM` beyond the permitted size.
    pub fn extend_to(&self, size: Bytes) -> rustix::io::Result<()> {
        if self
            .permit
            .intent()
            .grows_to
            .is_none_or(|limit| size > limit)
        {
            return Err(Errno::PERM);
        }
        let now = unsigned(rustix::fs::fstat(&self.fd)?.st_size);
        if now < size.get() {
            rustix::fs::ftruncate(&self.fd, size.get())
        } else {
            Ok(())
        }
    }
    /// Checks again during a run: still the same target, and not used by anybody else.
    ///
    /// # Errors
    /// [`HoldError::Refused`] with the change; the run must then stop.
    pub fn recheck(&self) -> Result<(), HoldError> {
        let now = self.examine_again(Contents::Unread)?;
        Ok(self.permit.recheck_during_run(&now)?)
    }
    /// Records the state of a file in its mark, so that it is still recognised as unmodified if the
    /// run is killed before it writes again. Call it while no load runs: writing the mark is a
    /// change of the file's metadata, which the load would have to wait for.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn record_state(&self) -> Result<(), ProbeError> {
        if self.marked {
            owner::refresh(self.fd.as_fd())
        } else {
            Ok(())
        }
    }
    /// Checks that a file did not become swap space or the backing file of a loop device, which is
    /// also how a file is mounted. The file itself is not asked: its file system may hang.
    fn recheck_file(&self, file: &FileFacts, system: &System) -> Result<(), HoldError> {
        let inode = (file.dev, file.inode);
        let now = TargetFacts {
            target: Target::File(FileFacts {
                swap: system.is_swap_file(inode),
                loop_devices: system.loops_on(inode),
                ..file.clone()
            }),
            ..self.facts().clone()
        };
        Ok(self.permit.recheck_during_run(&now)?)
    }
    /// Seals the mark of a file and releases it. Call it after every descriptor from
    /// [`HeldTarget::reopen`] is closed, because later writes would make the file look modified by
    /// another program.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn release(self) -> Result<(), ProbeError> {
        if !self.marked {
            return Ok(());
        }
        let sealed = owner::seal(self.fd.as_fd());
        match (&sealed, self.reserve) {
            (Err(_), Some(reserve)) if reserve.set_len(0).is_ok() => owner::seal(self.fd.as_fd()),
            _ => sealed,
        }
    }
    /// Removes the file if fathom created it, then releases it. Returns `false` if the file existed
    /// before or its name now refers to another file.
    ///
    /// # Errors
    /// If it cannot be unlinked.
    pub fn remove(self) -> Result<bool, ProbeError> {
        if self.marked {
            owner::remove(self.fd.as_fd(), &self.facts().resolved)
        } else {
            Ok(false)
        }
    }
}

/// As [`HeldTarget::recheck`] for all of `targets`.
pub(crate) fn recheck_all(targets: &[&HeldTarget]) -> Result<(), HoldError> {
    // One look at the mounts, swap files and loop devices of the host serves all files.
    let mut system = None;
    for target in targets {
        match &target.facts().target {
            Target::File(file) => {
                let system = system.get_or_insert_with(|| System::now(MountScope::OwnNamespace));
                target.recheck_file(file, system)?;
            }
            _ => target.recheck()?,
        }
    }
    Ok(())
}

impl AsFd for HeldTarget {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
