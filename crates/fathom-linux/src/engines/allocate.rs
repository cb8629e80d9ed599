//! Engines that change the allocation or length of a file and transfer no data: falloc and
//! ftruncate.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::{Op, Request};

use super::sync::Call;
use super::syscall::syscall_result;

/// fallocate(2): a read reserves space within the current length, a write also extends the file. (A
/// trim punches a hole in every engine.)
#[derive(Debug)]
pub(crate) struct Reserve;

impl Call for Reserve {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, _: *mut u8) -> i64 {
        let mode = if request.op == Op::Read {
            libc::FALLOC_FL_KEEP_SIZE
        } else {
            0
        };
        let (offset, len) = (
            request.offset as libc::off_t,
            libc::off_t::from(request.len),
        );
        // SAFETY: fallocate takes no memory.
        full_length(
            request,
            syscall_result(|| unsafe { libc::fallocate(fd, mode, offset, len) } as isize),
        )
    }
}

/// ftruncate(2) to the offset of the write.
#[derive(Debug)]
pub(crate) struct Truncate;

impl Call for Truncate {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, _: *mut u8) -> i64 {
        if request.op == Op::Read {
            return -i64::from(libc::EINVAL);
        }
        // SAFETY: ftruncate takes no memory.
        full_length(
            request,
            syscall_result(
                || unsafe { libc::ftruncate(fd, request.offset as libc::off_t) } as isize,
            ),
        )
    }
}

/// Such a call succeeds or fails as a whole: on success the I/O has transferred its full length.
fn full_length(request: &Request, result: i64) -> i64 {
    if result < 0 {
        result
    } else {
        i64::from(request.len)
    }
}
