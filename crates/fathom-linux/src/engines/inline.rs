//! System calls that are over when they return, as results of an I/O.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::{Op, Request};

use super::file::EngineFile;

/// BLKDISCARD of linux/fs.h: `_IO(0x12, 119)`, takes two u64, start and length in bytes.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// errno of the last failed call.
pub(crate) fn last_errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// The result of a system call as a completion has it; a call that a signal interrupted is made again.
#[inline]
pub(crate) fn outcome(mut call: impl FnMut() -> isize) -> i64 {
    loop {
        let result = call();
        if result >= 0 {
            return result as i64;
        }
        let errno = last_errno();
        if errno != libc::EINTR {
            return -i64::from(errno);
        }
    }
}

/// A trim or a sync, done now. A read or write is not its business and is refused.
pub(crate) fn control(file: &EngineFile, request: &Request) -> i64 {
    let fd = file.raw();
    match request.op {
        // SAFETY: fsync takes no memory, and the descriptor is open as long as `file` lives.
        Op::Fsync => outcome(|| unsafe { libc::fsync(fd) } as isize),
        // SAFETY: as above.
        Op::Fdatasync => outcome(|| unsafe { libc::fdatasync(fd) } as isize),
        Op::Trim if file.block_device => discard(fd, request.offset, u64::from(request.len)),
        Op::Trim => punch(fd, request.offset, u64::from(request.len)),
        Op::Read | Op::Write => -i64::from(libc::EINVAL),
    }
}

fn discard(fd: RawFd, offset: u64, len: u64) -> i64 {
    let range = [offset, len];
    // SAFETY: BLKDISCARD reads two u64 from the address, which lives through the call.
    outcome(|| unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) } as isize)
}

/// How a file is trimmed: the hole keeps its length.
pub(crate) const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

fn punch(fd: RawFd, offset: u64, len: u64) -> i64 {
    // SAFETY: fallocate takes no memory, and the descriptor is open as long as its `EngineFile` lives.
    outcome(
        || unsafe { libc::fallocate(fd, PUNCH_HOLE, offset as libc::off_t, len as libc::off_t) }
            as isize,
    )
}
