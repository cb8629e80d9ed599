//! Engines that change the space or the length of a file and move no data: falloc and ftruncate.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::{Op, Request};

use super::inline::outcome;
use super::sync::Call;

/// fallocate(2): a read reserves space inside the length the file has, a write also makes the file longer. (A trim punches a
/// hole with every engine.)
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
        whole(
            request,
            outcome(|| unsafe { libc::fallocate(fd, mode, offset, len) } as isize),
        )
    }
}

/// ftruncate(2) to where the write begins.
#[derive(Debug)]
pub(crate) struct Truncate;

impl Call for Truncate {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, _: *mut u8) -> i64 {
        if request.op == Op::Read {
            return -i64::from(libc::EINVAL);
        }
        // SAFETY: ftruncate takes no memory.
        whole(
            request,
            outcome(|| unsafe { libc::ftruncate(fd, request.offset as libc::off_t) } as isize),
        )
    }
}

/// Such a call is done or not: as an I/O it has moved all of its length.
fn whole(request: &Request, result: i64) -> i64 {
    if result < 0 {
        result
    } else {
        i64::from(request.len)
    }
}
