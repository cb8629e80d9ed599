//! splice(2): reads go from the file through a pipe to memory, writes from mapped pages through a
//! pipe to the file.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use fathom_load::{EngineError, Op, Request};
use rustix::pipe::PipeFlags;

use super::sync::Call;
use super::syscall::syscall_result;

/// Capacity of an unprivileged pipe: 16 pages. See pipe(7).
const PIPE_CAPACITY: usize = 65_536;

/// A pipe between the file and memory; empty between two I/Os.
#[derive(Debug)]
pub(crate) struct Splice {
    read_end: OwnedFd,
    write_end: OwnedFd,
}

impl Splice {
    pub(crate) fn new() -> Result<Self, EngineError> {
        let (read_end, write_end) = pipe()?;
        Ok(Self {
            read_end,
            write_end,
        })
    }

    /// Moves up to `len` bytes at `offset` of the file into `buffer`.
    ///
    /// # Safety
    /// `buffer` must be valid for `len` bytes.
    #[inline]
    unsafe fn read(&self, fd: RawFd, mut offset: libc::loff_t, buffer: *mut u8, len: usize) -> i64 {
        let null = std::ptr::null_mut();
        // SAFETY: the offset outlives the call, and the data goes to the pipe.
        let held = syscall_result(|| unsafe {
            libc::splice(
                fd,
                &mut offset,
                self.write_end.as_raw_fd(),
                null,
                len.min(PIPE_CAPACITY),
                0,
            )
        });
        let mut moved = 0;
        while moved < held {
            // SAFETY: at most `held` bytes are read, which is at most `len`.
            let part = syscall_result(|| unsafe {
                libc::read(
                    self.read_end.as_raw_fd(),
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
    /// `buffer` must be valid for `len` bytes and unchanged until the call returns; the pipe then
    /// no longer refers to it.
    #[inline]
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
                iov_len: len.min(PIPE_CAPACITY),
            },
        );
        // SAFETY: the vector outlives the call and points to memory that the caller guarantees.
        let held =
            syscall_result(|| unsafe { libc::vmsplice(self.write_end.as_raw_fd(), &iov, 1, 0) });
        let mut moved = 0;
        while moved < held {
            // SAFETY: the offset outlives the call.
            let part = syscall_result(|| unsafe {
                libc::splice(
                    self.read_end.as_raw_fd(),
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

    /// Replaces a pipe that an error left partly filled.
    fn replace_pipe(&mut self) -> Result<(), i64> {
        let (read_end, write_end) = pipe().map_err(|error| -i64::from(error.errno))?;
        (self.read_end, self.write_end) = (read_end, write_end);
        Ok(())
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let what = || {
        "cannot create a pipe for the splice engine; lower numjobs, or raise the limit of open files (ulimit -n)"
            .to_owned()
    };
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| EngineError {
        errno: error.raw_os_error(),
        what: what(),
    })
}

impl Call for Splice {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64 {
        let mut moved = 0;
        while moved < request.len {
            let (offset, left) = (
                (request.offset + u64::from(moved)) as libc::loff_t,
                (request.len - moved) as usize,
            );
            // SAFETY: the caller guarantees the buffer for the whole length of the request, of
            // which `left` bytes remain.
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
                error if error < 0 => return self.replace_pipe().err().unwrap_or(error),
                // At most `left`.
                part => moved += part as u32,
            }
        }
        i64::from(moved)
    }
}
