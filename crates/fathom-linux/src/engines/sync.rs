//! Synchronous engines, whose I/O is complete when the call returns: sync, psync, pvsync and
//! pvsync2.
#![allow(unsafe_code)]

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;

use fathom_load::{Completion, Engine, EngineError, Op, Request, Wait};
use fathom_model::EngineSettings;
use rustix::io::Errno;

use super::file::{EngineFile, admit};
use super::syscall::{syscall_result, trim_or_sync};
use crate::memory::Arena;

/// One read or write system call.
pub(crate) trait Call {
    /// Transfers `request.len` bytes between `buffer` and the file.
    ///
    /// # Safety
    /// `buffer` must be valid for `request.len` bytes, and nobody else may access it until the call
    /// returns.
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64;
}

/// lseek(2), unless the position is already right, and read(2) or write(2).
#[derive(Debug)]
pub(crate) struct Seek(Positions);

impl Seek {
    pub(crate) fn new(files: usize) -> Self {
        Self(Positions::new(files))
    }
}

impl Call for Seek {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64 {
        if let Err(refused) = self.0.seek(fd, request) {
            return refused;
        }
        let (buffer, len) = (buffer.cast::<libc::c_void>(), request.len as usize);
        // SAFETY: the caller guarantees that the buffer is valid for `len` bytes and exclusively
        // ours.
        let result = syscall_result(|| unsafe {
            if request.op == Op::Read {
                libc::read(fd, buffer, len)
            } else {
                libc::write(fd, buffer, len)
            }
        });
        self.0.record_transfer(request, result);
        result
    }
}

/// The known positions of the files, to skip an lseek without effect.
#[derive(Debug)]
pub(crate) struct Positions(Box<[Option<u64>]>);

impl Positions {
    pub(crate) fn new(files: usize) -> Self {
        Self(vec![None; files].into_boxed_slice())
    }

    /// Moves the file's position to the request's offset. Returns the negative errno on failure.
    #[inline]
    pub(crate) fn seek(&mut self, fd: RawFd, request: &Request) -> Result<(), i64> {
        if self.0[request.file as usize] == Some(request.offset) {
            return Ok(());
        }
        // SAFETY: lseek takes no memory.
        let at = syscall_result(|| unsafe {
            libc::lseek(fd, request.offset as libc::off_t, libc::SEEK_SET)
        } as isize);
        if at < 0 { Err(at) } else { Ok(()) }
    }

    /// Records the position after `result`; after an error it is unknown.
    #[inline]
    pub(crate) fn record_transfer(&mut self, request: &Request, result: i64) {
        self.0[request.file as usize] = u64::try_from(result)
            .ok()
            .map(|bytes| request.offset + bytes);
    }
}

/// pread(2) and pwrite(2).
#[derive(Debug)]
pub(crate) struct Positioned;

impl Call for Positioned {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64 {
        // Not through libc: there, both are cancellation points, which call two more functions. A thread that sleeps in
        // each I/O finds all of them evicted from its caches.
        // SAFETY: the caller guarantees that the descriptor is open, and that the buffer is valid for `len` bytes and
        // exclusively ours.
        let (fd, bytes) = unsafe {
            (
                BorrowedFd::borrow_raw(fd),
                std::slice::from_raw_parts_mut(buffer, request.len as usize),
            )
        };
        loop {
            let result = if request.op == Op::Read {
                rustix::io::pread(fd, &mut *bytes, request.offset)
            } else {
                rustix::io::pwrite(fd, bytes, request.offset)
            };
            match result {
                Ok(transferred) => return transferred as i64,
                Err(Errno::INTR) => {}
                Err(errno) => return -i64::from(errno.raw_os_error()),
            }
        }
    }
}

/// preadv(2) and pwritev(2), one buffer each.
#[derive(Debug)]
pub(crate) struct Vectored;

impl Call for Vectored {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64 {
        let iov = libc::iovec {
            iov_base: buffer.cast(),
            iov_len: request.len as usize,
        };
        let offset = request.offset as libc::off_t;
        // SAFETY: the vector outlives the call, and the caller guarantees its buffer.
        syscall_result(|| unsafe {
            if request.op == Op::Read {
                libc::preadv(fd, &iov, 1, offset)
            } else {
                libc::pwritev(fd, &iov, 1, offset)
            }
        })
    }
}

/// preadv2(2) and pwritev2(2) with these RWF flags.
#[derive(Debug)]
pub(crate) struct VectoredWithFlags(pub(crate) RwFlags);

impl Call for VectoredWithFlags {
    #[inline]
    unsafe fn transfer(&mut self, fd: RawFd, request: &Request, buffer: *mut u8) -> i64 {
        let iov = libc::iovec {
            iov_base: buffer.cast(),
            iov_len: request.len as usize,
        };
        let (offset, flags) = (request.offset as libc::off_t, self.0.of(request.op));
        // SAFETY: the vector outlives the call, and the caller guarantees its buffer.
        syscall_result(|| unsafe {
            if request.op == Op::Read {
                libc::preadv2(fd, &iov, 1, offset, flags)
            } else {
                libc::pwritev2(fd, &iov, 1, offset, flags)
            }
        })
    }
}

/// RWF_DONTCACHE of linux/fs.h, since Linux 6.14.
const RWF_DONTCACHE: i32 = 0x80;
/// RWF_ATOMIC of linux/fs.h, since Linux 6.11.
const RWF_ATOMIC: i32 = 0x40;

/// RWF flags of reads and of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RwFlags {
    reads: i32,
    writes: i32,
}

impl RwFlags {
    /// The flags of a read or write; no other operation has any.
    #[inline]
    pub(crate) fn of(self, op: Op) -> i32 {
        if op == Op::Write {
            self.writes
        } else {
            self.reads
        }
    }
}

/// The RWF flags for these settings. Polling is excluded if the engine requests it in another way.
pub(crate) fn rw_flags(settings: &EngineSettings, poll: bool) -> RwFlags {
    let mut flags = 0;
    for (wanted, flag) in [
        (settings.high_priority && poll, libc::RWF_HIPRI),
        (settings.nowait, libc::RWF_NOWAIT),
        (settings.uncached, RWF_DONTCACHE),
    ] {
        if wanted {
            flags |= flag;
        }
    }
    RwFlags {
        reads: flags,
        writes: if settings.atomic {
            flags | RWF_ATOMIC
        } else {
            flags
        },
    }
}

/// How a synchronous engine executes one request.
pub(crate) trait Perform {
    /// Executes a request and returns its result. Refuses one outside its file's range or a slot of
    /// `buffer_size` bytes.
    ///
    /// # Safety
    /// `buffer` must be valid for `buffer_size` bytes, and nobody else may access it until the call
    /// returns.
    unsafe fn perform(&mut self, request: &Request, buffer: *mut u8, buffer_size: u32) -> i64;
}

/// Requests executed by one system call each.
#[derive(Debug)]
pub(crate) struct Calls<C> {
    pub call: C,
    pub files: Arc<[EngineFile]>,
}

impl<C: Call> Perform for Calls<C> {
    #[inline]
    unsafe fn perform(&mut self, request: &Request, buffer: *mut u8, buffer_size: u32) -> i64 {
        let file = match admit(&self.files, request, buffer_size) {
            Ok(file) => file,
            Err(refused) => return refused,
        };
        match request.op {
            // SAFETY: `admit` limited `len` to the slot's size, and the caller lends us the slot.
            Op::Read | Op::Write => unsafe { self.call.transfer(file.raw(), request, buffer) },
            _ => trim_or_sync(file, request),
        }
    }
}

/// One I/O at a time, complete when [`Engine::submit`] returns.
#[derive(Debug)]
pub(crate) struct SyncEngine<P> {
    performer: P,
    arena: Arena,
    completed: Option<Completion>,
}

impl<P: Perform> SyncEngine<P> {
    pub(crate) fn new(performer: P, buffer_size: u32) -> Result<Self, EngineError> {
        Ok(Self {
            performer,
            arena: Arena::new(1, buffer_size)?,
            completed: None,
        })
    }
}

impl<P: Perform> Engine for SyncEngine<P> {
    #[inline]
    fn depth(&self) -> u32 {
        1
    }

    #[inline]
    fn is_synchronous(&self) -> bool {
        true
    }

    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let Some(request) = batch.first().filter(|_| self.completed.is_none()) else {
            return Ok(0);
        };
        let (buffer, size) = (self.arena.lend(request.slot), self.arena.size());
        // SAFETY: the slot is lent to this call until its completion is reaped.
        let result = unsafe { self.performer.perform(request, buffer, size) };
        self.completed = Some(Completion {
            slot: request.slot,
            result,
        });
        Ok(1)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if wait.at_most == 0 {
            return Ok(());
        }
        if let Some(completion) = self.completed.take() {
            self.arena.take_back(completion.slot);
            done.push(completion);
        }
        Ok(())
    }
}

impl<P> Drop for SyncEngine<P> {
    /// Nothing is in flight outside a call.
    fn drop(&mut self) {
        self.arena.end_loans();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_the_kernel_header() {
        let all = EngineSettings {
            high_priority: true,
            nowait: true,
            uncached: true,
            ..EngineSettings::default()
        };
        // linux/fs.h: HIPRI 1, NOWAIT 8, DONTCACHE 0x80.
        assert_eq!(
            rw_flags(&all, true),
            RwFlags {
                reads: 0x89,
                writes: 0x89
            }
        );
        assert_eq!(
            rw_flags(&all, false),
            RwFlags {
                reads: 0x88,
                writes: 0x88
            }
        );
        assert_eq!(
            rw_flags(&EngineSettings::default(), true),
            RwFlags::default()
        );
        // ATOMIC 0x40, only for writes.
        let atomic_write = EngineSettings {
            atomic: true,
            ..all
        };
        assert_eq!(
            (
                rw_flags(&atomic_write, true).of(Op::Read),
                rw_flags(&atomic_write, true).of(Op::Write)
            ),
            (0x89, 0xc9)
        );
    }
}
