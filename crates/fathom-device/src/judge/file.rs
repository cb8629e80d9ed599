//! Rules for regular files, there or to be created.

use super::{Access, confirmed, within};
use crate::code::DestroyCode;
use crate::describe::holds;
use crate::facts::{Content, DeviceLocation, FileFacts, Owner, TargetFacts};
use crate::intent::Intent;
use crate::refusal::Reason;
use fathom_model::Bytes;
use fathom_model::format::size;
use std::path::Path;

/// At most this much of a file system stays free, when 5 % would be more.
const KEEP_AT_MOST: Bytes = Bytes::new(1 << 30);

/// A name where nothing is: created only when the run may write or grows it.
pub(super) fn judge_new(
    facts: &TargetFacts,
    place: &DeviceLocation,
    intent: &Intent,
) -> Result<Access, Reason> {
    if !intent.modifies() {
        return Err(Reason::Missing);
    }
    if facts.symlink {
        return Err(Reason::Symlink {
            to: facts.resolved.clone(),
        });
    }
    writable(place).map_err(|reason| not_there(&facts.resolved, reason))?;
    let end = intent
        .grows_to
        .unwrap_or(intent.range.end)
        .max(intent.range.end);
    within(intent, end)?;
    room(place, end)?;
    Ok(Access::Create)
}

/// Reading is free. Writing asks: in use, place, link, range, room, then whose contents they are.
pub(super) fn judge_file(
    facts: &TargetFacts,
    file: &FileFacts,
    intent: &Intent,
    codes: &[DestroyCode],
) -> Result<Access, Reason> {
    let end = file.size.max(intent.grows_to.unwrap_or_default());
    if !intent.modifies() {
        return within(intent, end).map(|()| Access::ReadOnly);
    }
    in_use(file)?;
    if facts.symlink && file.owner != Owner::Ours {
        return Err(Reason::Symlink {
            to: facts.resolved.clone(),
        });
    }
    within(intent, end)?;
    room(&file.place, new_bytes(file, intent, end))?;
    if file.content == Content::Data && file.owner != Owner::Ours {
        confirmed(facts, contents(file), codes)?;
    }
    Ok(Access::ReadWrite)
}

/// What no code opens.
pub(super) fn in_use(file: &FileFacts) -> Result<(), Reason> {
    if file.swap {
        return Err(Reason::SwapFile);
    }
    if !file.backs.is_empty() {
        return Err(Reason::LoopBacking(file.backs.clone()));
    }
    writable(&file.place)
}

/// What is not there below /dev is a device misspelt or unplugged, not a file to be made.
fn not_there(path: &Path, reason: Reason) -> Reason {
    match reason {
        Reason::KernelOwned { .. } if path.starts_with("/dev") => Reason::NoDevice,
        other => other,
    }
}

fn writable(place: &DeviceLocation) -> Result<(), Reason> {
    match &place.kernel_owned {
        Some(why) => Err(Reason::KernelOwned { place: why.clone() }),
        None if place.read_only => Err(Reason::ReadOnlyFileSystem),
        None => Ok(()),
    }
}

/// Blocks the run may newly take: what it adds at the end, and the holes it may fill inside its range.
fn new_bytes(file: &FileFacts, intent: &Intent, end: Bytes) -> Bytes {
    let holes = file.size.saturating_sub(file.allocated);
    end.saturating_sub(file.size)
        .saturating_add(holes.min(intent.range.len()))
}

/// Keeps 5 % or 1 GiB free, whichever is smaller. A file system that does not tell its size is not held to it,
/// except where the size is the memory of the machine.
fn room(place: &DeviceLocation, needs: Bytes) -> Result<(), Reason> {
    let in_memory = matches!(place.fs_type.as_str(), "ramfs" | "tmpfs");
    if needs.is_zero() || (place.total.is_zero() && !in_memory) {
        return Ok(());
    }
    let keeps = Bytes::new(place.total.get() / 20).min(KEEP_AT_MOST);
    if needs.saturating_add(keeps) <= place.free {
        Ok(())
    } else {
        Err(Reason::NoRoom {
            needs,
            free: place.free,
            keeps,
        })
    }
}

fn contents(file: &FileFacts) -> Vec<String> {
    let whose = match file.owner {
        Owner::Changed => "that someone wrote after fathom did",
        Owner::Ours | Owner::Foreign => "that fathom did not write",
    };
    let data = format!("{} of data {whose}", size(file.size));
    let known = file
        .ends
        .as_ref()
        .filter(|ends| !ends.signatures.is_empty())
        .map(holds);
    std::iter::once(data)
        .chain(known.into_iter().flatten())
        .collect()
}
