//! Opens a permitted target for real and keeps it until it is released.

use super::backup;
use super::error::{HoldError, ProbeError};
use super::examine::{Examined, Handle, Look, facts, glance, reopen};
use super::owner::{self, mark_ours, unsigned};
use fathom_device::{
    Access, Intent, Origin, Permit, Reason, Refusal, Span, Target, TargetFacts, judge, unchanged,
};
use fathom_model::Bytes;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A target that is open, claimed and permitted. Dropping it lets go of the claim.
#[derive(Debug)]
pub struct Held {
    fd: OwnedFd,
    permit: Permit,
    marked: bool,
}

/// Opens what was examined, as the permit says. A block device to be written is claimed with `O_EXCL`, a file to
/// be written is locked; with that in hand everything is looked at and judged once more. The ends of a device
/// that holds something known are saved to `backup`, a file that must not exist yet.
///
/// # Errors
/// [`HoldError::Refused`] when the target changed since the check or someone else has it, and the others as they say.
pub fn hold(examined: Examined, permit: &Permit, backup: Option<&Path>) -> Result<Held, HoldError> {
    hold_with(examined, permit, Ends::SaveTo(backup))
}

/// As [`hold`], for a target whose ends were saved when this process held it before: what they are now is its own doing.
///
/// # Errors
/// As [`hold`].
pub fn hold_again(examined: Examined, permit: &Permit) -> Result<Held, HoldError> {
    hold_with(examined, permit, Ends::AreSaved)
}

/// What becomes of the ends of a device that holds something known.
#[derive(Clone, Copy)]
enum Ends<'a> {
    SaveTo(Option<&'a Path>),
    AreSaved,
}

fn hold_with(examined: Examined, permit: &Permit, ends: Ends<'_>) -> Result<Held, HoldError> {
    let modifies = permit.intent().modifies();
    unchanged(permit.facts(), &examined.facts, modifies)?;
    unchanged(
        &examined.facts,
        &glance(&examined.facts.named)?.facts,
        false,
    )?;
    let named = examined.facts.named.clone();
    let opened = match (permit.access(), examined.handle) {
        (Access::Create, Handle::Missing { folder, name }) => {
            return create(&folder, Path::new(&name), &examined.facts, permit);
        }
        (Access::ReadOnly, Handle::There(fd)) => {
            reopen(fd.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK)
        }
        (Access::ReadWrite, Handle::There(fd)) => open_to_write(fd.as_fd(), &examined.facts.target),
        _ => Err(Errno::NOENT),
    };
    let fd = match opened {
        Err(Errno::BUSY | Errno::TXTBSY) => {
            return Err(Refusal::new(&examined.facts, Reason::Claimed).into());
        }
        other => other.map_err(|error| ProbeError::new("open", &named, error))?,
    };
    let held = Held {
        fd,
        permit: permit.clone(),
        marked: false,
    };
    if permit.access() == Access::ReadOnly {
        Ok(held)
    } else {
        held.settle(ends)
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

/// Creates the file that was missing; what has come in between is not touched.
fn create(
    folder: &OwnedFd,
    name: &Path,
    facts: &TargetFacts,
    permit: &Permit,
) -> Result<Held, HoldError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd =
        rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o644)).map_err(|error| {
            match error {
                Errno::EXIST => HoldError::from(came_between(facts)),
                other => ProbeError::new("create", &facts.named, other).into(),
            }
        })?;
    let created =
        rustix::fs::fstat(&fd).map_err(|error| ProbeError::new("look at", &facts.named, error))?;
    let held = accept_created(fd, facts, permit);
    if held.is_err() {
        let named = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (created.st_dev, created.st_ino))
        {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
    held
}

fn came_between(facts: &TargetFacts) -> Refusal {
    let swapped = Reason::Swapped {
        before: "missing".into(),
        now: "there".into(),
    };
    Refusal::new(facts, swapped)
}

/// Judges the new file as what it now is: ours and empty.
fn accept_created(fd: OwnedFd, before: &TargetFacts, permit: &Permit) -> Result<Held, HoldError> {
    lock(fd.as_fd(), before)?;
    let marked = mark_ours(fd.as_fd(), Origin::Created).is_ok();
    let now = facts(
        &before.named,
        fd.as_fd(),
        Look {
            contents: true,
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
    Ok(Held { fd, permit, marked })
}

/// Two runs on one file would each spoil the other's numbers. Where locks do not work, there is none.
fn lock(fd: BorrowedFd<'_>, facts: &TargetFacts) -> Result<(), HoldError> {
    match rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Refusal::new(facts, Reason::Locked).into()),
        _ => Ok(()),
    }
}

impl Held {
    /// The second look, with the claim in hand; then whatever must happen before the first write.
    fn settle(mut self, ends: Ends<'_>) -> Result<Self, HoldError> {
        let file = matches!(self.facts().target, Target::File(_));
        if file {
            lock(self.fd.as_fd(), self.facts())?;
        }
        let now = self.look(true)?;
        self.permit.renew(&now)?;
        if let Ends::SaveTo(backup) = ends
            && self.permit.wants_backup()
        {
            let path = backup.ok_or_else(|| HoldError::BackupWanted(self.facts().named.clone()))?;
            backup::save(self.fd.as_fd(), &now, path)?;
        }
        self.marked = file && mark_ours(self.fd.as_fd(), Origin::Adopted).is_ok();
        Ok(self)
    }
    fn look(&self, contents: bool) -> Result<TargetFacts, ProbeError> {
        facts(
            &self.facts().named,
            self.fd.as_fd(),
            Look {
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
    /// What it is held for.
    #[must_use]
    pub const fn permit(&self) -> &Permit {
        &self.permit
    }
    /// The bytes that may be touched; every I/O is to pass [`Span::check`].
    #[must_use]
    pub const fn span(&self) -> Span {
        self.permit.intent().range
    }
    /// Whether the file carries our mark; always `false` for devices and for reading.
    #[must_use]
    pub const fn marked(&self) -> bool {
        self.marked
    }
    /// Opens the same inode or device once more, with `flags` such as `O_DIRECT`; for engines, one each. Flags
    /// that create, truncate or claim have no effect.
    ///
    /// # Errors
    /// The kernel's, and `EACCES` when `flags` ask to write what is held for reading.
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
    /// Makes a file at least `size` long with a hole; never shorter.
    ///
    /// # Errors
    /// The kernel's, and `EPERM` beyond what the permit lets it grow to.
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
    /// Looks again during a run: still the same target, and in nobody else's use.
    ///
    /// # Errors
    /// [`HoldError::Refused`] with what changed; the run is then to stop.
    pub fn recheck(&self) -> Result<(), HoldError> {
        let now = self.look(false)?;
        Ok(self.permit.recheck(&now)?)
    }
    /// Seals the mark of a file and lets go. To be called when every descriptor from [`Held::reopen`] is closed:
    /// later writes would make the file look changed by someone else.
    ///
    /// # Errors
    /// When the mark cannot be written.
    pub fn release(self) -> Result<(), ProbeError> {
        if self.marked {
            owner::seal(self.fd.as_fd())
        } else {
            Ok(())
        }
    }
    /// Removes the file if fathom created it, then lets go. `false` when it was there before or the name now
    /// leads elsewhere.
    ///
    /// # Errors
    /// When it cannot be unlinked.
    pub fn remove(self) -> Result<bool, ProbeError> {
        if self.marked {
            owner::remove(self.fd.as_fd(), &self.facts().resolved)
        } else {
            Ok(false)
        }
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
