//! Why a target is not touched, in words: what was found, where, and the one safe way forward.

use crate::code::DestroyCode;
use crate::describe::{identity, list, printable, use_line};
use crate::facts::{DevNo, NotATarget, Relative, TargetFacts, Use};
use crate::intent::Span;
use fathom_model::Bytes;
use fathom_model::format::size;
use std::fmt;
use std::path::PathBuf;

/// A target that will not be opened for what was asked, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name as typed.
    pub named: PathBuf,
    /// Which thing that is, in one line.
    pub identity: String,
    /// What was found.
    pub reason: Reason,
}

/// What was found. Only [`Reason::NeedsCode`] and [`Reason::WrongCode`] can be opened by a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing is there, and nothing was to be created.
    Missing,
    /// A folder, pipe, socket or broken link.
    NotATarget(NotATarget),
    /// A character device other than the harmless ones of `mem(4)`.
    CharDevice(DevNo),
    /// The name is a symbolic link to a file that is not ours.
    Symlink {
        /// Where it leads.
        to: PathBuf,
    },
    /// Nothing has this name below /dev, and files are not made there.
    NoDevice,
    /// The place belongs to the kernel.
    KernelOwned {
        /// Which one, and how that was seen.
        place: String,
    },
    /// The file system is mounted read-only.
    ReadOnlyFileSystem,
    /// The device is set read-only.
    ReadOnlyDevice,
    /// The running system's root file system rests on it.
    System,
    /// It, or a device joined to it, is in use.
    InUse(Vec<Use>),
    /// Something is built on it.
    Held(Vec<Relative>),
    /// Someone has claimed it whom we cannot see.
    Claimed,
    /// Another run of fathom has the file.
    Locked,
    /// Whether someone has claimed it could not be found out.
    ClaimUnknown(String),
    /// The file is active swap space.
    SwapFile,
    /// The file is attached to loop devices.
    LoopBacking(Vec<String>),
    /// Its contents could not be read, so nobody can say what would be lost.
    Unreadable,
    /// It may hold something; the code confirms that it can go.
    NeedsCode {
        /// What it holds.
        holds: Vec<String>,
        /// The code of this target as it is now.
        code: DestroyCode,
    },
    /// No code that was given belongs to this target as it is now.
    WrongCode {
        /// What it holds.
        holds: Vec<String>,
        /// What was typed.
        given: Vec<DestroyCode>,
    },
    /// The range has no bytes.
    EmptyRange(Span),
    /// The range ends behind the target.
    BeyondEnd {
        /// What was asked for.
        span: Span,
        /// Where the target ends.
        size: Bytes,
    },
    /// The file system would be filled.
    NoRoom {
        /// Bytes the run may newly take.
        needs: Bytes,
        /// Bytes free now.
        free: Bytes,
        /// Bytes that stay free.
        keeps: Bytes,
    },
    /// It is not what it was when it was checked.
    Swapped {
        /// What it was.
        before: String,
        /// What it is.
        now: String,
    },
}

impl Refusal {
    /// A refusal of the target that `facts` describe.
    #[must_use]
    pub fn new(facts: &TargetFacts, reason: Reason) -> Self {
        Self {
            named: facts.named.clone(),
            identity: identity(facts),
            reason,
        }
    }
    /// What was found, as a sentence.
    #[must_use]
    pub fn found(&self) -> String {
        found(&self.reason)
    }
    /// The one safe way forward.
    #[must_use]
    pub fn way(&self) -> String {
        way(&self.reason, &printable(&self.named.to_string_lossy()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: refused: {}",
            printable(&self.named.to_string_lossy()),
            self.found()
        )?;
        if self.reason != Reason::NoDevice {
            writeln!(f, "  this is {}", self.identity)?;
        }
        write!(f, "  to go on: {}", self.way())
    }
}

impl std::error::Error for Refusal {}

fn found(reason: &Reason) -> String {
    match reason {
        Reason::Missing => "nothing is there".into(),
        Reason::NoDevice => "there is no such device".into(),
        Reason::NotATarget(kind) => kind_text(*kind).into(),
        Reason::CharDevice(devno) => {
            format!("a character device ({devno}), where even opening may act")
        }
        Reason::Symlink { to } => format!(
            "a symbolic link to {}, a file that fathom did not make",
            path(to)
        ),
        Reason::KernelOwned { place } => {
            format!("the place belongs to the kernel: {}", printable(place))
        }
        Reason::ReadOnlyFileSystem => "its file system is mounted read-only".into(),
        Reason::ReadOnlyDevice => "the device is set read-only".into(),
        Reason::System => "the running system's root file system rests on it".into(),
        Reason::InUse(uses) => list(uses.iter().map(use_line)),
        Reason::Held(by) => format!(
            "{} built on it",
            list(by.iter().map(|held| held.name.clone()))
        ),
        Reason::Claimed => {
            "someone has claimed it (O_EXCL gives EBUSY): a mount in another namespace, RAID, \
             a volume manager or another program"
                .into()
        }
        Reason::Locked => "another run has locked it".into(),
        Reason::ClaimUnknown(why) => {
            format!("it could not be seen whether someone has claimed it: {why}")
        }
        Reason::SwapFile => "it is active swap space".into(),
        Reason::LoopBacking(loops) => format!("it is attached to {}", list(loops.iter().cloned())),
        Reason::Unreadable => {
            "its first and last MiB could not be read, so nobody can say what would be lost".into()
        }
        Reason::NeedsCode { holds, .. } => {
            format!("writing would destroy {}", list(holds.iter().cloned()))
        }
        Reason::WrongCode { holds, given } => wrong_code(holds, given),
        Reason::EmptyRange(span) => format!(
            "the range [{}, {}) has no bytes",
            span.start.get(),
            span.end.get()
        ),
        Reason::BeyondEnd { span, size: end } => beyond(*span, *end),
        Reason::NoRoom { needs, free, keeps } => {
            format!(
                "it may take {} more, {} are free and {} of these stay free",
                size(*needs),
                size(*free),
                size(*keeps)
            )
        }
        Reason::Swapped { before, now } => {
            format!("it changed after the check: it was {before} and is now {now}")
        }
    }
}

fn wrong_code(holds: &[String], given: &[DestroyCode]) -> String {
    let codes = list(given.iter().map(ToString::to_string));
    format!(
        "{codes} is not the code of this target as it is now; writing would destroy {}",
        list(holds.iter().cloned())
    )
}

fn beyond(span: Span, end: Bytes) -> String {
    format!(
        "the range [{}, {}) ends behind the target, which has {} bytes",
        span.start.get(),
        span.end.get(),
        end.get()
    )
}

fn kind_text(kind: NotATarget) -> &'static str {
    match kind {
        NotATarget::Directory => "a folder",
        NotATarget::Fifo => "a named pipe",
        NotATarget::Socket => "a socket",
        NotATarget::DanglingLink => "a symbolic link that leads nowhere",
        NotATarget::Unknown => "neither a file nor a device",
    }
}

fn path(path: &std::path::Path) -> String {
    printable(&path.to_string_lossy())
}

fn way(reason: &Reason, named: &str) -> String {
    match reason {
        Reason::NoDevice => "check the name: `fathom devices` lists what is there".into(),
        Reason::Missing => "check the name, or let the run create the file by giving it a size".into(),
        Reason::NotATarget(NotATarget::Directory) => format!("name a file in it, such as {named}/fathom.dat"),
        Reason::NotATarget(NotATarget::DanglingLink) => "name the file itself, not a link".into(),
        Reason::NotATarget(_) | Reason::CharDevice(_) => "name a file or a block device".into(),
        Reason::Symlink { .. } => "name a new file, or the file itself in place of the link".into(),
        Reason::KernelOwned { .. } => "name a file on a disk's file system".into(),
        Reason::ReadOnlyFileSystem => "name a file on a file system that is mounted read-write".into(),
        Reason::ReadOnlyDevice => "read only, or find out why it is read-only before `blockdev --setrw`".into(),
        Reason::System => "read only, or test another device; no code opens this one".into(),
        Reason::InUse(uses) => release(uses),
        Reason::Held(_) | Reason::Claimed => {
            "read only, or stop what uses it first (`lsblk`, `findmnt`, `fuser` show it); no code opens this".into()
        }
        Reason::Locked => "wait until that run has ended, or name another file".into(),
        Reason::ClaimUnknown(_) | Reason::Unreadable => "run with the rights to read and claim the device".into(),
        Reason::SwapFile => format!("`swapoff {named}` first, or name a new file; no code opens active swap"),
        Reason::LoopBacking(loops) => {
            let commands = list(loops.iter().map(|device| format!("`losetup --detach /dev/{device}`")));
            format!("name a new file, or {commands} first; no code opens this")
        }
        Reason::NeedsCode { code, .. } => {
            format!("read only, name a new file, or, if all of it can go, add --destroy={code}")
        }
        Reason::WrongCode { .. } => {
            format!("look again with `fathom devices {named}`, and use the code shown there if all of it can go")
        }
        Reason::EmptyRange(_) => "give a size greater than zero".into(),
        Reason::BeyondEnd { size: end, .. } => format!("let offset plus size be at most {}", end.get()),
        Reason::NoRoom { free, keeps, .. } => {
            format!("take at most {} more, or another file system", size(free.saturating_sub(*keeps)))
        }
        Reason::Swapped { .. } => format!("find out what changed it, then look again with `fathom devices {named}`"),
    }
}

fn release(uses: &[Use]) -> String {
    use crate::facts::UseKind;
    let swap = uses.iter().find(|used| used.kind == UseKind::Swap);
    let how = match (uses.iter().find_map(mounted_here), swap) {
        (Some(at), _) => format!("`umount {at}`"),
        (None, Some(used)) => format!("`swapoff /dev/{}`", used.device.name),
        (None, None) => "unmount the file system".into(),
    };
    format!("read only, or {how} first; no code opens a device in use")
}

fn mounted_here(used: &Use) -> Option<String> {
    match &used.kind {
        crate::facts::UseKind::Mounted(mount) if mount.namespace_of.is_none() => {
            Some(path(&mount.at))
        }
        _ => None,
    }
}
