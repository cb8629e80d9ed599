//! The decision: facts and an intent go in, a permit or a refusal comes out.
//!
//! Rules are numbered in the order they are asked. Whatever a code cannot open is asked before the code is.

mod block;
mod file;

use crate::code::{DestroyCode, Fingerprint};
use crate::describe::identity;
use crate::facts::{DevNo, FileFacts, Target, TargetFacts};
use crate::intent::Intent;
use crate::refusal::{Reason, Refusal};

/// How the target may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `O_RDONLY`: the kernel then enforces it.
    ReadOnly,
    /// `O_RDWR`; with `O_EXCL` for a block device.
    ReadWrite,
    /// A new file: `O_RDWR | O_CREAT | O_EXCL`.
    Create,
}

/// Leave to open one target in one state for one intent. Only [`judge`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    facts: TargetFacts,
    intent: Intent,
    access: Access,
}

impl Permit {
    /// How it may be opened.
    #[must_use]
    pub const fn access(&self) -> Access {
        self.access
    }
    /// What it was given for.
    #[must_use]
    pub const fn intent(&self) -> &Intent {
        &self.intent
    }
    /// The target as it was judged.
    #[must_use]
    pub const fn facts(&self) -> &TargetFacts {
        &self.facts
    }
    /// Whether the ends have to be saved before the first write: a device that holds something known.
    #[must_use]
    pub fn wants_backup(&self) -> bool {
        let Target::Block(block) = &self.facts.target else {
            return false;
        };
        let holds = block
            .ends
            .as_ref()
            .is_none_or(|ends| !ends.signatures.is_empty());
        self.access == Access::ReadWrite && holds
    }
    /// Judges again, just before the first write: the same target, in the same state, and still permitted.
    ///
    /// # Errors
    /// [`Reason::Swapped`] when it is another target or its contents changed; otherwise as [`judge`].
    pub fn renew(&self, now: &TargetFacts) -> Result<(), Refusal> {
        unchanged(&self.facts, now, self.intent.modifies())?;
        let code = Fingerprint::of(now).map(|fingerprint| fingerprint.code());
        judge(now, &self.intent, code.as_slice()).map(drop)
    }
    /// Judges again during the run, when our own writes have changed the contents: the same target, not in
    /// anybody else's use.
    ///
    /// # Errors
    /// As [`Permit::renew`], except for changed contents.
    pub fn recheck(&self, now: &TargetFacts) -> Result<(), Refusal> {
        unchanged(&self.facts, now, false)?;
        not_shorter(&self.facts, now)?;
        if !self.intent.modifies() {
            return Ok(());
        }
        let reason = match &now.target {
            Target::Block(block) => block::in_use(block).err(),
            Target::File(file) => file::in_use(file).err(),
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(Refusal::new(now, reason)))
    }
}

/// Decides whether the target that `facts` describe may be opened for `intent`. `codes` are all that the person
/// has typed; each opens only the target it was made for.
///
/// # Errors
/// A [`Refusal`] with what was found and the one safe way forward.
pub fn judge(
    facts: &TargetFacts,
    intent: &Intent,
    codes: &[DestroyCode],
) -> Result<Permit, Refusal> {
    let decision = match &facts.target {
        Target::Other(kind) => Err(Reason::NotATarget(*kind)),
        Target::Char(devno) => character(*devno, intent),
        Target::NewFile(place) => file::judge_new(facts, place, intent),
        Target::File(found) => file::judge_file(facts, found, intent, codes),
        Target::Block(block) => block::judge_block(facts, block, intent, codes),
    };
    match decision {
        Ok(access) => Ok(Permit {
            facts: facts.clone(),
            intent: *intent,
            access,
        }),
        Err(reason) => Err(Refusal::new(facts, reason)),
    }
}

/// Whether two looks saw the same target; with `contents`, also in the same state.
///
/// # Errors
/// [`Reason::Swapped`], naming both.
pub fn unchanged(before: &TargetFacts, now: &TargetFacts, contents: bool) -> Result<(), Refusal> {
    let same = same_thing(&before.target, &now.target);
    if same && (!contents || Fingerprint::of(before) == Fingerprint::of(now)) {
        return Ok(());
    }
    let what = if same { " with other contents" } else { "" };
    let now_text = format!("{}{what}", identity(now));
    Err(Refusal::new(
        now,
        Reason::Swapped {
            before: identity(before),
            now: now_text,
        },
    ))
}

fn same_thing(before: &Target, now: &Target) -> bool {
    match (before, now) {
        (Target::Block(a), Target::Block(b)) => {
            (a.devno, a.size, a.diskseq, &a.serial, &a.wwid)
                == (b.devno, b.size, b.diskseq, &b.serial, &b.wwid)
        }
        (Target::File(a), Target::File(b)) => same_inode(a, b),
        (Target::Char(a), Target::Char(b)) => a == b,
        // A file that was to be created must still be missing; creating it with O_EXCL then settles the matter.
        (Target::NewFile(a), Target::NewFile(b)) => a.folder == b.folder,
        _ => false,
    }
}

/// A file cut short during a run gives fast and meaningless reads.
fn not_shorter(before: &TargetFacts, now: &TargetFacts) -> Result<(), Refusal> {
    match (&before.target, &now.target) {
        (Target::File(a), Target::File(b)) if b.size < a.size => {
            let (before, size) = (identity(before), identity(now));
            Err(Refusal::new(now, Reason::Swapped { before, now: size }))
        }
        _ => Ok(()),
    }
}

fn same_inode(a: &FileFacts, b: &FileFacts) -> bool {
    (a.dev, a.inode) == (b.dev, b.inode)
}

/// `/dev/null` and `/dev/zero` may be written; these, `full`, `random` and `urandom` (`mem(4)`, `random(4)`) read.
fn character(devno: DevNo, intent: &Intent) -> Result<Access, Reason> {
    match (devno.major, devno.minor, intent.modifies()) {
        (1, 3 | 5, true) => Ok(Access::ReadWrite),
        (1, 3 | 5 | 7 | 8 | 9, false) => Ok(Access::ReadOnly),
        _ => Err(Reason::CharDevice(devno)),
    }
}

/// What is asked of the code, after everything that no code opens.
fn confirmed(facts: &TargetFacts, holds: Vec<String>, codes: &[DestroyCode]) -> Result<(), Reason> {
    let code = Fingerprint::of(facts).ok_or(Reason::Unreadable)?.code();
    match codes {
        [] => Err(Reason::NeedsCode { holds, code }),
        given if given.contains(&code) => Ok(()),
        given => Err(Reason::WrongCode {
            holds,
            given: given.to_vec(),
        }),
    }
}

fn within(intent: &Intent, size: fathom_model::Bytes) -> Result<(), Reason> {
    let span = intent.range;
    if span.is_empty() {
        Err(Reason::EmptyRange(span))
    } else if span.end > size {
        Err(Reason::BeyondEnd { span, size })
    } else {
        Ok(())
    }
}
