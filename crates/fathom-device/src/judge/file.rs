//! Rules for regular files, existing or to be created.

use super::{Access, check_code, check_range};
use crate::confirmation::Confirmations;
use crate::describe::holds;
use crate::facts::{Content, DeviceLocation, FileFacts, Owner, TargetFacts};
use crate::intent::Intent;
use crate::refusal::Reason;
use fathom_model::Bytes;
use fathom_model::format::size;
use std::path::Path;

/// Upper limit of the space that stays free on a file system, where 5 % would be more.
const MAX_RESERVED: Bytes = Bytes::new(1 << 30);

/// A file that does not exist: created only if the run writes or extends it.
pub(super) fn judge_new(
    facts: &TargetFacts,
    location: &DeviceLocation,
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
    check_writable(location).map_err(|reason| missing_in_dev(&facts.resolved, reason))?;
    let end = intent
        .grows_to
        .unwrap_or(intent.range.end)
        .max(intent.range.end);
    check_range(intent, end)?;
    check_space(location, end)?;
    Ok(Access::Create)
}

/// Reading is always permitted. A write is checked in this order: in use, location, link, range,
/// free space, then the owner of the contents.
pub(super) fn judge_file(
    facts: &TargetFacts,
    file: &FileFacts,
    intent: &Intent,
    confirmed: &Confirmations,
) -> Result<Access, Reason> {
    let end = file.size.max(intent.grows_to.unwrap_or_default());
    if !intent.modifies() {
        return check_range(intent, end).map(|()| Access::ReadOnly);
    }
    check_in_use(file)?;
    if facts.symlink && file.owner != Owner::Ours {
        return Err(Reason::Symlink {
            to: facts.resolved.clone(),
        });
    }
    check_range(intent, end)?;
    check_space(&file.location, new_bytes(file, intent, end))?;
    if file.content == Content::Data && file.owner != Owner::Ours {
        let benchmark = confirmed.benchmark(&facts.named, file);
        if !benchmark.is_some_and(|benchmark| confirmed.allow_file(benchmark)) {
            check_code(facts, contents(file), &confirmed.codes).map_err(|reason| match reason {
                Reason::NeedsCode { holds, code, .. } => Reason::NeedsCode {
                    holds,
                    code,
                    instead: benchmark
                        .map(|benchmark| (benchmark.directory.clone(), benchmark.code())),
                },
                other => other,
            })?;
        }
    }
    Ok(Access::ReadWrite)
}

/// Conditions that no code overrides.
pub(super) fn check_in_use(file: &FileFacts) -> Result<(), Reason> {
    if file.swap {
        return Err(Reason::SwapFile);
    }
    if !file.loop_devices.is_empty() {
        return Err(Reason::LoopBacking(file.loop_devices.clone()));
    }
    if file.locked {
        return Err(Reason::Locked);
    }
    check_writable(&file.location)
}

/// A missing path below /dev is a misspelt or unplugged device, not a file to create.
fn missing_in_dev(path: &Path, reason: Reason) -> Reason {
    match reason {
        Reason::KernelOwned { .. } if path.starts_with("/dev") => Reason::NoDevice,
        other => other,
    }
}

fn check_writable(location: &DeviceLocation) -> Result<(), Reason> {
    match &location.kernel_owned {
        Some(why) => Err(Reason::KernelOwned {
            location: why.clone(),
        }),
        None if location.read_only => Err(Reason::ReadOnlyFileSystem),
        None => Ok(()),
    }
}

/// Bytes the run may newly allocate: those past the end, and the holes inside its range.
fn new_bytes(file: &FileFacts, intent: &Intent, end: Bytes) -> Bytes {
    let holes = file.size.saturating_sub(file.allocated);
    end.saturating_sub(file.size)
        .saturating_add(holes.min(intent.range.len()))
}

/// Keeps 5 % or 1 GiB free, whichever is smaller. A file system that does not report its size is
/// exempt, unless its space is the host's memory.
fn check_space(location: &DeviceLocation, needs: Bytes) -> Result<(), Reason> {
    let in_memory = matches!(location.fs_type.as_str(), "ramfs" | "tmpfs");
    if needs.is_zero() || (location.total.is_zero() && !in_memory) {
        return Ok(());
    }
    let reserved = Bytes::new(location.total.get() / 20).min(MAX_RESERVED);
    if needs.saturating_add(reserved) <= location.free {
        Ok(())
    } else {
        Err(Reason::NoSpace {
            needs,
            free: location.free,
            reserved,
        })
    }
}

fn contents(file: &FileFacts) -> Vec<String> {
    let whose = match file.owner {
        Owner::Changed => "that another program wrote after fathom",
        Owner::Unfinished => "that a killed run of fathom, or another program after it, wrote",
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
