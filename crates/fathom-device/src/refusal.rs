//! Why a target is refused: what was found, where, and the safe way to proceed.

use crate::code::DestroyCode;
use crate::describe::{identity, list, printable, use_line};
use crate::facts::{DevNo, NotATarget, RelatedDevice, TargetFacts, Use};
use crate::intent::Span;
use fathom_model::Bytes;
use fathom_model::format::{available, size};
use std::fmt;
use std::path::PathBuf;

/// A target that will not be opened as requested, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name as typed.
    pub named: PathBuf,
    /// One line that identifies the target.
    pub identity: String,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a refusal. A code overrides only [`Reason::NeedsCode`] and [`Reason::WrongCode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not exist, and the run would not create it.
    Missing,
    /// A directory, pipe, socket or broken link.
    NotATarget(NotATarget),
    /// A character device other than the harmless ones in `mem(4)`.
    CharDevice(DevNo),
    /// The name is a symbolic link to a file that fathom did not create.
    Symlink {
        /// Target of the link.
        to: PathBuf,
    },
    /// Nothing has this name below /dev, where no files are created.
    NoDevice,
    /// The location belongs to the kernel.
    KernelOwned {
        /// Which location, and how it was recognised.
        location: String,
    },
    /// The file system is mounted read-only.
    ReadOnlyFileSystem,
    /// The device is set read-only.
    ReadOnlyDevice,
    /// It holds the root file system of the running system.
    System,
    /// The target or a related device is in use.
    InUse(Vec<Use>),
    /// Another device is built on it.
    Held(Vec<RelatedDevice>),
    /// Another program has claimed it and is not visible from here.
    Claimed,
    /// Another run of fathom has locked the file.
    Locked,
    /// Whether another program has claimed it could not be determined.
    ClaimUnknown(String),
    /// The file is active swap space.
    SwapFile,
    /// The file backs loop devices.
    LoopBacking(Vec<String>),
    /// Its contents could not be read, so what a write would destroy is unknown.
    Unreadable,
    /// It may hold data; the code confirms that the data may be destroyed.
    NeedsCode {
        /// What it holds.
        holds: Vec<String>,
        /// The code of the target in its current state.
        code: DestroyCode,
        /// The directory and the code that permit all benchmark files in it, if this is one.
        instead: Option<(PathBuf, DestroyCode)>,
    },
    /// None of the codes is that of the target in its current state.
    WrongCode {
        /// What it holds.
        holds: Vec<String>,
        /// The codes that were passed.
        given: Vec<DestroyCode>,
    },
    /// The range is empty.
    EmptyRange(Span),
    /// The range extends past the end of the target.
    BeyondEnd {
        /// The requested range.
        span: Span,
        /// The size of the target.
        size: Bytes,
    },
    /// The run would fill the file system.
    NoSpace {
        /// Bytes the run may newly allocate.
        needs: Bytes,
        /// Bytes free now.
        free: Bytes,
        /// Bytes that stay free.
        reserved: Bytes,
    },
    /// It changed after the check.
    Changed {
        /// Its description then.
        before: String,
        /// Its description now.
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
    /// The reason as a sentence.
    #[must_use]
    pub fn reason_text(&self) -> String {
        reason_text(&self.reason)
    }
    /// The safe way to proceed.
    #[must_use]
    pub fn remedy(&self) -> String {
        remedy(&self.reason, &printable(&self.named.to_string_lossy()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: refused: {}",
            printable(&self.named.to_string_lossy()),
            self.reason_text()
        )?;
        if self.reason != Reason::NoDevice {
            writeln!(f, "  this is {}", self.identity)?;
        }
        write!(f, "  to proceed: {}", self.remedy())
    }
}

impl std::error::Error for Refusal {}

fn reason_text(reason: &Reason) -> String {
    match reason {
        Reason::Missing => "it does not exist".into(),
        Reason::NoDevice => "no such device".into(),
        Reason::NotATarget(kind) => kind_text(*kind).into(),
        Reason::CharDevice(devno) => {
            format!("a character device ({devno}); opening one can have side effects")
        }
        Reason::Symlink { to } => format!(
            "a symbolic link to {}, a file that fathom did not create",
            path(to)
        ),
        Reason::KernelOwned { location } => {
            format!("the location belongs to the kernel: {}", printable(location))
        }
        Reason::ReadOnlyFileSystem => "its file system is mounted read-only".into(),
        Reason::ReadOnlyDevice => "the device is set read-only".into(),
        Reason::System => "it holds the root file system of the running system".into(),
        Reason::InUse(uses) => list(uses.iter().map(use_line)),
        Reason::Held(by) => format!(
            "{} is built on it",
            list(by.iter().map(|held| held.name.clone()))
        ),
        Reason::Claimed => {
            "it is claimed (O_EXCL returns EBUSY), for example by a mount in another namespace, RAID, \
             a volume manager or another program"
                .into()
        }
        Reason::Locked => "another run of fathom has locked it".into(),
        Reason::ClaimUnknown(why) => {
            format!("cannot determine whether the device is claimed: {why}")
        }
        Reason::SwapFile => "it is active swap space".into(),
        Reason::LoopBacking(loops) => format!("it backs {}", list(loops.iter().cloned())),
        Reason::Unreadable => {
            "its first and last MiB could not be read, so what a write would destroy is unknown".into()
        }
        Reason::NeedsCode { holds, .. } => {
            format!("writing would destroy {}", list(holds.iter().cloned()))
        }
        Reason::WrongCode { holds, given } => wrong_code(holds, given),
        Reason::EmptyRange(span) => format!(
            "the range [{}, {}) is empty",
            span.start.get(),
            span.end.get()
        ),
        Reason::BeyondEnd { span, size: end } => beyond(*span, *end),
        Reason::NoSpace { needs, free, reserved } => {
            format!(
                "the run may need {} more, but {} are free and {} must stay free",
                size(*needs),
                available(*free),
                size(*reserved)
            )
        }
        Reason::Changed { before, now } => {
            format!("it changed after the check: before, {before}; now, {now}")
        }
    }
}

fn wrong_code(holds: &[String], given: &[DestroyCode]) -> String {
    let codes = list(given.iter().map(ToString::to_string));
    format!(
        "{codes} does not match the current code of this target; writing would destroy {}",
        list(holds.iter().cloned())
    )
}

fn beyond(span: Span, end: Bytes) -> String {
    format!(
        "the range [{}, {}) extends past the end of the target, which has {} bytes",
        span.start.get(),
        span.end.get(),
        end.get()
    )
}

fn kind_text(kind: NotATarget) -> &'static str {
    match kind {
        NotATarget::Directory => "it is a directory",
        NotATarget::Fifo => "it is a named pipe",
        NotATarget::Socket => "it is a socket",
        NotATarget::DanglingLink => "it is a dangling symbolic link",
        NotATarget::Unknown => "it is neither a file nor a device",
    }
}

fn path(path: &std::path::Path) -> String {
    printable(&path.to_string_lossy())
}

fn remedy(reason: &Reason, named: &str) -> String {
    match reason {
        Reason::NoDevice => "check the name: `fathom devices` lists the devices of this host".into(),
        Reason::Missing => "check the name, or set a size so that the run creates the file".into(),
        Reason::NotATarget(NotATarget::Directory) => format!("name a file in it, such as {named}/fathom.dat"),
        Reason::NotATarget(NotATarget::DanglingLink) => "name the file itself instead of a link".into(),
        Reason::NotATarget(_) | Reason::CharDevice(_) => "name a file or a block device".into(),
        Reason::Symlink { .. } => "name a new file, or the file itself instead of the link".into(),
        Reason::KernelOwned { .. } => "name a file on a disk's file system".into(),
        Reason::ReadOnlyFileSystem => "name a file on a file system that is mounted read-write".into(),
        Reason::ReadOnlyDevice => "only read from it, or find out why it is read-only before using `blockdev --setrw`".into(),
        Reason::System => "only read from it, or test another device; no code overrides this".into(),
        Reason::InUse(uses) => release(uses),
        Reason::Held(_) | Reason::Claimed => {
            "only read from it, or stop its user first (see `lsblk`, `findmnt`, `fuser`); no code overrides this".into()
        }
        Reason::Locked => "wait until that run ends, or name another file".into(),
        Reason::ClaimUnknown(_) | Reason::Unreadable => "run as a user who may read and claim the device".into(),
        Reason::SwapFile => format!("`swapoff {named}` first, or name a new file; no code overrides this"),
        Reason::LoopBacking(loops) => {
            let commands = list(loops.iter().map(|device| format!("`losetup --detach /dev/{device}`")));
            format!("name a new file, or {commands} first; no code overrides this")
        }
        Reason::NeedsCode { code, instead, .. } => {
            let all = instead.as_ref().map_or(String::new(), |(directory, code)| {
                let directory = path(directory);
                format!("; for this and all other files of benchmarks in {directory}: --destroy-all-in {directory}={code}")
            });
            format!("only read from it, name a new file, or, if all of its data may be destroyed, add --destroy={code}{all}")
        }
        Reason::WrongCode { .. } => {
            format!("check again with `fathom devices {named}`, and use the code shown there if all of its data may be destroyed")
        }
        Reason::EmptyRange(_) => "give a size greater than zero".into(),
        Reason::BeyondEnd { size: end, .. } => format!("lower offset or size so that their sum is at most {}", end.get()),
        Reason::NoSpace { needs, free, reserved } => {
            let missing = needs.saturating_add(*reserved).saturating_sub(*free);
            let smaller = match free.saturating_sub(*reserved) {
                Bytes::ZERO => String::new(),
                usable => format!("write at most {} more, ", available(usable)),
            };
            format!("{smaller}free {} there, or use another file system", available(missing))
        }
        Reason::Changed { .. } => format!("find out what changed it, then check again with `fathom devices {named}`"),
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
    format!("only read from it, or {how} first; no code overrides this")
}

fn mounted_here(used: &Use) -> Option<String> {
    match &used.kind {
        crate::facts::UseKind::Mounted(mount) if mount.namespace_of.is_none() => {
            Some(path(&mount.at))
        }
        _ => None,
    }
}
