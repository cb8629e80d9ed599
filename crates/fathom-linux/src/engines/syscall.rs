//! Synchronous system calls, with their results as those of an I/O.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::{Op, Request};

use super::file::EngineFile;

/// BLKDISCARD of linux/fs.h: `_IO(0x12, 119)`, takes two u64: start and length in bytes.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// The errno of the last failed call.
#[inline]
pub(crate) fn last_errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// The result of a system call as a completion has it. A call interrupted by a signal is repeated.
#[inline]
pub(crate) fn syscall_result(mut call: impl FnMut() -> isize) -> i64 {
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

/// Executes a trim or sync. A read or write is refused.
#[inline]
pub(crate) fn trim_or_sync(file: &EngineFile, request: &Request) -> i64 {
    let fd = file.raw();
    match request.op {
        // SAFETY: fsync takes no memory, and the descriptor is open as long as `file` lives.
        Op::Fsync => syscall_result(|| unsafe { libc::fsync(fd) } as isize),
        // SAFETY: as above.
        Op::Fdatasync => syscall_result(|| unsafe { libc::fdatasync(fd) } as isize),
        Op::SyncFileRange(flags) => {
            let (start, len) = (request.offset as i64, i64::from(request.len));
            // SAFETY: as above.
            syscall_result(
                || unsafe { libc::sync_file_range(fd, start, len, flags.into()) } as isize,
            )
        }
        Op::Trim if file.block_device => discard(fd, request.offset, u64::from(request.len)),
        Op::Trim => punch_hole(fd, request.offset, u64::from(request.len)),
        Op::Read | Op::Write => -i64::from(libc::EINVAL),
    }
}

fn discard(fd: RawFd, offset: u64, len: u64) -> i64 {
    let range = [offset, len];
    // SAFETY: BLKDISCARD reads two u64 from the address, which outlives the call.
    syscall_result(|| unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) } as isize)
}

/// Mode for trimming a file: punches a hole without changing the length.
pub(crate) const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

fn punch_hole(fd: RawFd, offset: u64, len: u64) -> i64 {
    // SAFETY: fallocate takes no memory, and the descriptor is open as long as its `EngineFile`
    // lives.
    syscall_result(|| unsafe {
        libc::fallocate(fd, PUNCH_HOLE, offset as libc::off_t, len as libc::off_t)
    } as isize)
}
