//! Reserves space for a file before it is written.

use std::io;
use std::os::fd::BorrowedFd;

use fathom_model::Fallocate;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::kernel;

/// Reserves space according to the plan. The file never becomes shorter.
pub(super) fn reserve(
    file: BorrowedFd<'_>,
    mode: Fallocate,
    now: u64,
    wanted: u64,
) -> io::Result<()> {
    if wanted == 0 {
        return Ok(());
    }
    match mode {
        Fallocate::None => Ok(()),
        Fallocate::Native => fallocate(file, FallocateFlags::empty(), wanted),
        Fallocate::Keep => fallocate(file, FallocateFlags::KEEP_SIZE, wanted),
        Fallocate::Posix => kernel::posix_fallocate(file, wanted),
        Fallocate::Truncate => lengthen(file, now, wanted),
    }
}

/// Extends a file to at least `wanted` bytes.
pub(super) fn lengthen(file: BorrowedFd<'_>, now: u64, wanted: u64) -> io::Result<()> {
    if now < wanted {
        Ok(rustix::fs::ftruncate(file, wanted)?)
    } else {
        Ok(())
    }
}

/// On file systems without fallocate(2) nothing is reserved.
fn fallocate(file: BorrowedFd<'_>, flags: FallocateFlags, wanted: u64) -> io::Result<()> {
    match rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, 0, wanted)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        done => Ok(done?),
    }
}
