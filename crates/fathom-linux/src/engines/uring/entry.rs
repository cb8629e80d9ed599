//! Converts a request to a submission queue entry.
//!
//! Entries are built here and not by the crate's builders. Those write an entry to memory in pieces
//! that the copy into the ring then waits for, which took more time than the rest of a submission.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::{Op, Request};
use io_uring::squeue;

use super::super::sync::RwFlags;
use super::super::syscall::PUNCH_HOLE;

/// linux/io_uring.h: `enum io_uring_op`.
mod opcode {
    pub const NOP: u8 = 0;
    pub const READV: u8 = 1;
    pub const WRITEV: u8 = 2;
    pub const FSYNC: u8 = 3;
    pub const READ_FIXED: u8 = 4;
    pub const WRITE_FIXED: u8 = 5;
    pub const SYNC_FILE_RANGE: u8 = 8;
    pub const FALLOCATE: u8 = 17;
    pub const READ: u8 = 22;
    pub const WRITE: u8 = 23;
}

/// linux/io_uring.h: the file is an index into the ring's table of registered files
/// (IOSQE_FIXED_FILE).
const FIXED_FILE: u8 = 1 << 0;
/// linux/io_uring.h: IORING_FSYNC_DATASYNC.
const DATASYNC: u32 = 1 << 0;

/// linux/io_uring.h: `struct io_uring_sqe`, with the union members used by the operations here.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Sqe {
    opcode: u8,
    flags: u8,
    ioprio: u16,
    fd: i32,
    offset: u64,
    address: u64,
    len: u32,
    op_flags: u32,
    user_data: u64,
    buffer_index: u16,
    personality: u16,
    splice_fd: i32,
    unused: [u64; 2],
}

impl Sqe {
    #[inline]
    fn entry(self) -> squeue::Entry {
        const { assert!(size_of::<Sqe>() == 64 && size_of::<squeue::Entry>() == 64) };
        // SAFETY: both are the kernel's `struct io_uring_sqe`, the other by `repr(C)` around its
        // bindings: 64 bytes of plain numbers, for which any value is valid. What they point to is
        // guaranteed where the entry is pushed.
        unsafe { std::mem::transmute::<Sqe, squeue::Entry>(self) }
    }
}

/// How the entries of a ring are built, fixed when the engine is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryFormat {
    /// Files are named by their index in the ring's table of registered files.
    pub fixed_files: bool,
    /// The slots' buffers are registered.
    pub fixed_buffers: bool,
    /// Uses readv and writev instead of read and write.
    pub vectored: bool,
    /// RWF flags of reads and writes.
    pub rw_flags: RwFlags,
    /// Sends no-ops, to measure the ring itself.
    pub noop: bool,
}

/// The location of an entry's data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferLocation {
    pub buffer: *mut u8,
    /// The registered buffer that contains it, if buffers are registered.
    pub piece: u16,
    /// An `iovec` of this buffer, for vectored requests.
    pub vector: *const libc::iovec,
}

impl EntryFormat {
    #[inline]
    pub(crate) fn entry(
        &self,
        request: &Request,
        fd: RawFd,
        location: BufferLocation,
    ) -> squeue::Entry {
        let slot = u64::from(request.slot);
        if self.noop {
            // The length that the no-op reports as transferred, returned in the upper half.
            let user_data = u64::from(request.len) << 32 | slot;
            return Sqe {
                opcode: opcode::NOP,
                fd: -1,
                user_data,
                ..Sqe::default()
            }
            .entry();
        }
        let (fd, flags) = if self.fixed_files {
            (request.file as i32, FIXED_FILE)
        } else {
            (fd, 0)
        };
        let base = Sqe {
            fd,
            flags,
            user_data: slot,
            ..Sqe::default()
        };
        match request.op {
            Op::Read | Op::Write => self.transfer(base, request, location).entry(),
            // The length is in the address field, the mode in the length field.
            Op::Trim => Sqe {
                opcode: opcode::FALLOCATE,
                offset: request.offset,
                address: u64::from(request.len),
                len: PUNCH_HOLE as u32,
                ..base
            }
            .entry(),
            Op::Fsync => Sqe {
                opcode: opcode::FSYNC,
                ..base
            }
            .entry(),
            Op::Fdatasync => Sqe {
                opcode: opcode::FSYNC,
                op_flags: DATASYNC,
                ..base
            }
            .entry(),
            Op::SyncFileRange(flags) => Sqe {
                opcode: opcode::SYNC_FILE_RANGE,
                offset: request.offset,
                len: request.len,
                op_flags: flags.into(),
                ..base
            }
            .entry(),
        }
    }

    #[inline]
    fn transfer(&self, base: Sqe, request: &Request, location: BufferLocation) -> Sqe {
        let base = Sqe {
            offset: request.offset,
            ioprio: request.prio,
            op_flags: self.rw_flags.of(request.op) as u32,
            ..base
        };
        let reads = request.op == Op::Read;
        if self.vectored && !self.fixed_buffers {
            let opcode = if reads { opcode::READV } else { opcode::WRITEV };
            return Sqe {
                opcode,
                address: location.vector as u64,
                len: 1,
                ..base
            };
        }
        let opcode = match (self.fixed_buffers, reads) {
            (true, true) => opcode::READ_FIXED,
            (true, false) => opcode::WRITE_FIXED,
            (false, true) => opcode::READ,
            (false, false) => opcode::WRITE,
        };
        Sqe {
            opcode,
            address: location.buffer as u64,
            len: request.len,
            buffer_index: location.piece,
            ..base
        }
    }
}
