//! A request as a submission queue entry.

use std::os::fd::RawFd;

use fathom_load::{Op, Request};
use io_uring::{opcode, squeue, types};

use super::super::inline::PUNCH_HOLE;

/// How a ring's entries are made, fixed when the engine is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Files are named by their index in the ring's table.
    pub fixed_files: bool,
    /// Slots in one registered buffer; 0 when none are registered.
    pub slots_per_piece: u32,
    /// readv and writev instead of read and write.
    pub vectored: bool,
    /// RWF flags of reads and writes.
    pub rw_flags: i32,
    /// Entries that move nothing, to measure the ring itself.
    pub noop: bool,
}

/// Where an entry's data is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub buffer: *mut u8,
    /// An `iovec` of this buffer, for vectored requests.
    pub vector: *const libc::iovec,
}

impl Form {
    #[inline]
    pub(crate) fn entry(&self, request: &Request, fd: RawFd, place: Place) -> squeue::Entry {
        let entry = if self.noop {
            let moved = u64::from(request.len) << 32;
            return opcode::Nop::new().build().user_data(moved | u64::from(request.slot));
        } else if self.fixed_files {
            self.on(types::Fixed(request.file), request, place)
        } else {
            self.on(types::Fd(fd), request, place)
        };
        entry.user_data(u64::from(request.slot))
    }

    #[inline]
    fn on<F: Target>(&self, file: F, request: &Request, place: Place) -> squeue::Entry {
        match request.op {
            Op::Read | Op::Write if self.slots_per_piece > 0 => self.fixed(file, request, place),
            Op::Read | Op::Write if self.vectored => self.vectored(file, request, place),
            Op::Read => file.read(request, place.buffer, self.rw_flags),
            Op::Write => file.write(request, place.buffer, self.rw_flags),
            Op::Trim => file.punch(request),
            Op::Fsync => file.sync(types::FsyncFlags::empty()),
            Op::Fdatasync => file.sync(types::FsyncFlags::DATASYNC),
        }
    }

    #[inline]
    fn fixed<F: Target>(&self, file: F, request: &Request, place: Place) -> squeue::Entry {
        let piece = (request.slot / self.slots_per_piece) as u16;
        match request.op {
            Op::Read => file.read_fixed(request, place.buffer, piece, self.rw_flags),
            _ => file.write_fixed(request, place.buffer, piece, self.rw_flags),
        }
    }

    #[inline]
    fn vectored<F: Target>(&self, file: F, request: &Request, place: Place) -> squeue::Entry {
        match request.op {
            Op::Read => file.readv(request, place.vector, self.rw_flags),
            _ => file.writev(request, place.vector, self.rw_flags),
        }
    }
}

/// The two ways to name a file. The crate's own trait for them is sealed, hence one method for each opcode.
trait Target {
    fn read(self, request: &Request, buffer: *mut u8, flags: i32) -> squeue::Entry;
    fn write(self, request: &Request, buffer: *mut u8, flags: i32) -> squeue::Entry;
    fn read_fixed(self, request: &Request, buffer: *mut u8, piece: u16, flags: i32) -> squeue::Entry;
    fn write_fixed(self, request: &Request, buffer: *mut u8, piece: u16, flags: i32) -> squeue::Entry;
    fn readv(self, request: &Request, vector: *const libc::iovec, flags: i32) -> squeue::Entry;
    fn writev(self, request: &Request, vector: *const libc::iovec, flags: i32) -> squeue::Entry;
    fn punch(self, request: &Request) -> squeue::Entry;
    fn sync(self, flags: types::FsyncFlags) -> squeue::Entry;
}

macro_rules! target {
    ($kind:ty) => {
        impl Target for $kind {
            #[inline]
            fn read(self, request: &Request, buffer: *mut u8, flags: i32) -> squeue::Entry {
                opcode::Read::new(self, buffer, request.len).offset(request.offset).rw_flags(flags).build()
            }
            #[inline]
            fn write(self, request: &Request, buffer: *mut u8, flags: i32) -> squeue::Entry {
                opcode::Write::new(self, buffer, request.len).offset(request.offset).rw_flags(flags).build()
            }
            #[inline]
            fn read_fixed(self, request: &Request, buffer: *mut u8, piece: u16, flags: i32) -> squeue::Entry {
                opcode::ReadFixed::new(self, buffer, request.len, piece).offset(request.offset).rw_flags(flags).build()
            }
            #[inline]
            fn write_fixed(self, request: &Request, buffer: *mut u8, piece: u16, flags: i32) -> squeue::Entry {
                opcode::WriteFixed::new(self, buffer, request.len, piece).offset(request.offset).rw_flags(flags).build()
            }
            #[inline]
            fn readv(self, request: &Request, vector: *const libc::iovec, flags: i32) -> squeue::Entry {
                opcode::Readv::new(self, vector, 1).offset(request.offset).rw_flags(flags).build()
            }
            #[inline]
            fn writev(self, request: &Request, vector: *const libc::iovec, flags: i32) -> squeue::Entry {
                opcode::Writev::new(self, vector, 1).offset(request.offset).rw_flags(flags).build()
            }
            fn punch(self, request: &Request) -> squeue::Entry {
                opcode::Fallocate::new(self, u64::from(request.len)).offset(request.offset).mode(PUNCH_HOLE).build()
            }
            fn sync(self, flags: types::FsyncFlags) -> squeue::Entry {
                opcode::Fsync::new(self).flags(flags).build()
            }
        }
    };
}
target!(types::Fd);
target!(types::Fixed);
