//! The decision: from facts and an intent to a permit or a refusal.
//!
//! Rules are checked in a fixed order. Conditions that no code overrides come before the code.

mod block;
mod file;

use crate::code::{DestroyCode, Fingerprint};
use crate::confirmation::Confirmations;
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

/// Permission to open one target in one state for one intent. Only [`judge`] creates one.
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
    /// The intent it permits.
    #[must_use]
    pub const fn intent(&self) -> &Intent {
        &self.intent
    }
    /// The target as it was when judged.
    #[must_use]
    pub const fn facts(&self) -> &TargetFacts {
        &self.facts
    }
    /// Whether the first and last MiB must be saved before the first write: the device holds a
    /// known structure.
    #[must_use]
    pub fn needs_backup(&self) -> bool {
        let Target::Block(block) = &self.facts.target else {
            return false;
        };
        let holds = block
            .ends
            .as_ref()
            .is_none_or(|ends| !ends.signatures.is_empty());
        self.access == Access::ReadWrite && holds
    }
    /// Judges again, immediately before the first write: the target must be the same, in the same
    /// state, and still permitted.
    ///
    /// # Errors
    /// [`Reason::Changed`] if it is another target or its contents changed; otherwise as [`judge`].
    pub fn recheck_before_write(&self, now: &TargetFacts) -> Result<(), Refusal> {
        unchanged(&self.facts, now, self.intent.modifies())?;
        let code = Fingerprint::of(now).map(|fingerprint| fingerprint.code());
        judge(now, &self.intent, code.as_slice()).map(drop)
    }
    /// Judges again during the run, after our own writes have changed the contents: the target must
    /// be the same, and nobody else may use it.
    ///
    /// # Errors
    /// As [`Permit::recheck_before_write`], except for changed contents.
    pub fn recheck_during_run(&self, now: &TargetFacts) -> Result<(), Refusal> {
        unchanged(&self.facts, now, false)?;
        not_shorter(&self.facts, now)?;
        if !self.intent.modifies() {
            return Ok(());
        }
        let reason = match &now.target {
            Target::Block(block) => block::check_in_use(block).err(),
            Target::File(file) => file::check_in_use(file).err(),
            _ => None,
        };
        reason.map_or(Ok(()), |reason| Err(Refusal::new(now, reason)))
    }
}

/// As [`judge_with`], where the user confirmed nothing but `codes`.
///
/// # Errors
/// As [`judge_with`].
pub fn judge(
    facts: &TargetFacts,
    intent: &Intent,
    codes: &[DestroyCode],
) -> Result<Permit, Refusal> {
    judge_with(facts, intent, &Confirmations::of_codes(codes))
}

/// Decides whether the target described by `facts` may be opened for `intent`. `confirmed` is
/// everything that the user confirmed; each code permits only the target it was made for.
///
/// # Errors
/// A [`Refusal`] with the reason and the safe way to proceed.
pub fn judge_with(
    facts: &TargetFacts,
    intent: &Intent,
    confirmed: &Confirmations,
) -> Result<Permit, Refusal> {
    let decision = match &facts.target {
        Target::Other(kind) => Err(Reason::NotATarget(*kind)),
        Target::Char(devno) => judge_character_device(*devno, intent),
        Target::NewFile(location) => file::judge_new(facts, location, intent),
        Target::File(found) => file::judge_file(facts, found, intent, confirmed),
        Target::Block(block) => block::judge_block(facts, block, intent, confirmed),
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

/// Checks that two sets of facts describe the same target; with `contents`, also in the same state.
///
/// # Errors
/// [`Reason::Changed`], which describes both.
pub fn unchanged(before: &TargetFacts, now: &TargetFacts, contents: bool) -> Result<(), Refusal> {
    let same = same_thing(&before.target, &now.target);
    if same && (!contents || same_state(before, now)) {
        return Ok(());
    }
    let what = if same { " with other contents" } else { "" };
    let now_text = format!("{}{what}", identity(now));
    Err(Refusal::new(
        now,
        Reason::Changed {
            before: identity(before),
            now: now_text,
        },
    ))
}

/// The same contents, as far as they were read, and the same owner of them.
fn same_state(before: &TargetFacts, now: &TargetFacts) -> bool {
    let owner = |facts: &TargetFacts| match &facts.target {
        Target::File(file) => Some(file.owner),
        _ => None,
    };
    Fingerprint::of_state(before) == Fingerprint::of_state(now) && owner(before) == owner(now)
}

fn same_thing(before: &Target, now: &Target) -> bool {
    match (before, now) {
        (Target::Block(a), Target::Block(b)) => {
            (a.devno, a.size, a.diskseq, &a.serial, &a.wwid)
                == (b.devno, b.size, b.diskseq, &b.serial, &b.wwid)
        }
        (Target::File(a), Target::File(b)) => same_inode(a, b),
        (Target::Char(a), Target::Char(b)) => a == b,
        // A file to be created must still be missing; creating it with O_EXCL then closes the race.
        (Target::NewFile(a), Target::NewFile(b)) => a.directory == b.directory,
        _ => false,
    }
}

/// A file truncated during a run gives fast and meaningless reads.
fn not_shorter(before: &TargetFacts, now: &TargetFacts) -> Result<(), Refusal> {
    match (&before.target, &now.target) {
        (Target::File(a), Target::File(b)) if b.size < a.size => {
            let (before, size) = (identity(before), identity(now));
            Err(Refusal::new(now, Reason::Changed { before, now: size }))
        }
        _ => Ok(()),
    }
}

fn same_inode(a: &FileFacts, b: &FileFacts) -> bool {
    (a.dev, a.inode) == (b.dev, b.inode)
}

/// `/dev/null` and `/dev/zero` may be written and read; `full`, `random` and `urandom` may only be
/// read (`mem(4)`, `random(4)`).
fn judge_character_device(devno: DevNo, intent: &Intent) -> Result<Access, Reason> {
    match (devno.major, devno.minor, intent.modifies()) {
        (1, 3 | 5, true) => Ok(Access::ReadWrite),
        (1, 3 | 5 | 7 | 8 | 9, false) => Ok(Access::ReadOnly),
        _ => Err(Reason::CharDevice(devno)),
    }
}

/// Checks the code, after every condition that no code overrides.
fn check_code(
    facts: &TargetFacts,
    holds: Vec<String>,
    codes: &[DestroyCode],
) -> Result<(), Reason> {
    let code = Fingerprint::of(facts).ok_or(Reason::Unreadable)?.code();
    match codes {
        [] => Err(Reason::NeedsCode {
            holds,
            code,
            instead: None,
        }),
        given if given.contains(&code) => Ok(()),
        given => Err(Reason::WrongCode {
            holds,
            given: given.to_vec(),
        }),
    }
}

fn check_range(intent: &Intent, size: fathom_model::Bytes) -> Result<(), Reason> {
    let span = intent.range;
    if span.is_empty() {
        Err(Reason::EmptyRange(span))
    } else if span.end > size {
        Err(Reason::BeyondEnd { span, size })
    } else {
        Ok(())
    }
}
