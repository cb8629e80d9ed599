//! splice(2): reads go from the file into a pipe and out of it, writes from mapped pages into a pipe and to the file.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use fathom_load::{EngineError, Op, Request};
use rustix::pipe::PipeFlags;

use super::inline::outcome;
use super::sync::Call;

/// What an unprivileged pipe holds: 16 pages. See pipe(7).
const PIPE: usize = 65_536;

/// A pipe between the file and memory; empty between two I/Os.
#[derive(Debug)]
pub(crate) struct Splice {
    out: OwnedFd,
    into: OwnedFd,
}

impl Splice {
    pub(crate) fn new() -> Result<Self, EngineError> {
        let (out, into) = pipe()?;
        Ok(Self { out, into })
    }

    /// Moves up to `len` bytes at `offset` of the file into `buffer`.
    ///
    /// # Safety
    /// `buffer` must be good for `len` bytes.
    unsafe fn read(&self, fd: RawFd, mut offset: libc::loff_t, buffer: *mut u8, len: usize) -> i64 {
        let null = std::ptr::null_mut();
        // SAFETY: the offset lives through the call, and the pipe takes the data.
        let held = outcome(|| unsafe {
            libc::splice(
                fd,
                &mut offset,
                self.into.as_raw_fd(),
                null,
                len.min(PIPE),
                0,
            )
        });
        let mut moved = 0;
        while moved < held {
            // SAFETY: at most `held` bytes are taken, which is at most `len`.
            let part = outcome(|| unsafe {
                libc::read(
                    self.out.as_raw_fd(),
                    buffer.add(moved as usize).cast(),
                    (held - moved) as usize,
                )
            });
            if part <= 0 {
                return if part < 0 {
                    part
                } else {
                    -i64::from(libc::EIO)
                };
            }
            moved += part;
        }
        held
    }

    /// Moves up to `len` bytes of `buffer` to `offset` of the file.
    ///
    /// # Safety
    /// `buffer` must be good for `len` bytes and unchanged until the call returns: the pipe then refers to none of it.
    unsafe fn write(
        &self,
        fd: RawFd,
        mut offset: libc::loff_t,
        buffer: *mut u8,
        len: usize,
    ) -> i64 {
        let (null, iov) = (
            std::ptr::null_mut(),
            libc::iovec {
                iov_base: buffer.cast(),
                iov_len: len.min(PIPE),
            },
        );
        // SAFETY: the vector lives through the call and names memory that the caller promises.
        let held = outcome(|| unsafe { libc::vmsplice(self.into.as_raw_fd(), &iov, 1, 0) });
        let mut moved = 0;
        while moved < held {
            // SAFETY: the offset lives through the call.
            let part = outcome(|| unsafe {
                libc::splice(
                    self.out.as_raw_fd(),
                    null,
                    fd,
                    &mut offset,
                    (held - moved) as usize,
                    0,
                )
            });
            if part <= 0 {
                return if part < 0 {
                    part
                } else {
                    -i64::from(libc::EIO)
                };
            }
            moved += part;
        }
        held
    }

    /// A new pipe for one that an error has left half full.
    fn renew(&mut self) -> Result<(), i64> {
        let (out, into) = pipe().map_err(|error| -i64::from(error.errno))?;
        (self.out, self.into) = (out, into);
        Ok(())
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let what = || {
        "no pipe for the splice engine; lower numjobs, or raise the limit of open files (ulimit -n)"
            .to_owned()
    };
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| EngineError {
        errno: error.raw_os_error(),
        what: what(),
    })
}

impl Call for Splice {
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64 {
        let mut moved = 0;
        while moved < request.len {
            let (offset, left) = (
                (request.offset + u64::from(moved)) as libc::loff_t,
                (request.len - moved) as usize,
            );
            // SAFETY: the caller promises the buffer for all of the request's length, of which `left` bytes are left here.
            let part = unsafe {
                let rest = buffer.add(moved as usize);
                if request.op == Op::Read {
                    self.read(fd, offset, rest, left)
                } else {
                    self.write(fd, offset, rest, left)
                }
            };
            match part {
                0 => break,
                error if error < 0 => return self.renew().err().unwrap_or(error),
                // At most `left`.
                part => moved += part as u32,
            }
        }
        i64::from(moved)
    }
}
