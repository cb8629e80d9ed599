//! Opens targets for the load.

use std::os::fd::{AsFd, OwnedFd};

use fathom_load::{HostError, OpenFile};
use fathom_model::{Bytes, EngineKind, Fadvise, SyncMode};
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::cache::advise;
use super::error::{failed, refused};
use super::reserve::lengthen;
use super::target::{Kind, Target, Targets};
use crate::engines::EngineFile;

/// Opens one file for an engine of this kind.
pub(super) fn open(
    targets: &Targets,
    file: &OpenFile,
    engine: EngineKind,
) -> Result<EngineFile, HostError> {
    let target = targets.get_or_create(&file.path, file.create, Bytes::new(file.range.1))?;
    let fd = open_target(&target, file, engine)?;
    // A file created here that is also read is extended to the end of the load: a read past the end
    // returns immediately and transfers nothing (regression 0081).
    if file.create && file.reads && file.writes && target.created() {
        let now = target
            .size()
            .map_err(|error| failed("ask the size of", &file.path, &error))?;
        lengthen(fd.as_fd(), now, file.range.1.max(now))
            .map_err(|error| failed("lengthen", &file.path, &error))?;
    }
    hint(&fd, file);
    Ok(EngineFile {
        fd,
        range: file.range,
        block_device: target.kind() == Kind::Block,
    })
}

fn open_target(target: &Target, file: &OpenFile, engine: EngineKind) -> Result<OwnedFd, HostError> {
    let flags = access(file, engine) | durability(file.sync) | direct(target, file);
    // Only the owner may suppress access time updates; others open without it.
    let opened = match reopen(target, flags | OFlags::NOATIME) {
        Err(Errno::PERM) => reopen(target, flags),
        opened => opened,
    };
    opened.map_err(|error| explain(target, file, error))
}

/// Raises the soft limit of open files to the hard limit if necessary.
fn reopen(target: &Target, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    match target.reopen(flags) {
        Err(Errno::MFILE) if raise_limit() => target.reopen(flags),
        opened => opened,
    }
}

fn raise_limit() -> bool {
    let limit = getrlimit(Resource::Nofile);
    limit.current != limit.maximum
        && setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        )
        .is_ok()
}

/// A mapping needs a descriptor that is also readable.
fn access(file: &OpenFile, engine: EngineKind) -> OFlags {
    match (file.reads || engine == EngineKind::Mmap, file.writes) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        (_, false) => OFlags::RDONLY,
    }
}

fn durability(sync: SyncMode) -> OFlags {
    match sync {
        SyncMode::None => OFlags::empty(),
        SyncMode::Sync => OFlags::SYNC,
        SyncMode::Dsync => crate::O_DSYNC,
    }
}

/// A character device has no page cache to bypass.
fn direct(target: &Target, file: &OpenFile) -> OFlags {
    if file.direct && target.kind() != Kind::Char {
        OFlags::DIRECT
    } else {
        OFlags::empty()
    }
}

fn explain(target: &Target, file: &OpenFile, error: Errno) -> HostError {
    let path = file.path.display();
    match error {
        Errno::INVAL if file.direct => {
            let what = format!(
                "cannot open {path} for direct I/O: its file system does not support it; set direct=0, or use another file system"
            );
            refused(libc::EINVAL, what)
        }
        Errno::ACCESS if file.writes && target.read_only() => refused(
            libc::EACCES,
            format!(
                "{path} was checked and opened only for reading; a job that writes it needs its own check"
            ),
        ),
        error => failed("open", &file.path, &error.into()),
    }
}

/// Advice the kernel does not accept has no effect.
fn hint(fd: &OwnedFd, file: &OpenFile) {
    let advice = match (file.fadvise, file.random) {
        (Fadvise::None, _) => return,
        (Fadvise::ByPattern, true) | (Fadvise::Random, _) => Advice::Random,
        (Fadvise::ByPattern, false) | (Fadvise::Sequential, _) => Advice::Sequential,
        (Fadvise::NoReuse, _) => Advice::NoReuse,
    };
    let (start, end) = file.range;
    let _ = advise(fd.as_fd(), start..end.min(i64::MAX as u64), advice);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `OFlags::DSYNC` is not used: see `open_flags.rs`.
    #[test]
    fn sync_and_dsync_are_different_flags() {
        let bits = |sync| durability(sync).bits() & libc::O_SYNC as u32;
        assert_eq!(bits(SyncMode::Dsync), libc::O_DSYNC as u32);
        assert_eq!(bits(SyncMode::Sync), libc::O_SYNC as u32);
        assert_eq!(bits(SyncMode::None), 0);
    }
}
