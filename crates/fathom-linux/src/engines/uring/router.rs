//! Routes requests to the ring.

use std::os::fd::RawFd;

use fathom_load::{Op, Request};
use fathom_model::EngineSettings;
use io_uring::squeue;

use super::super::file::{EngineFile, admit};
use super::super::sync::rw_flags;
use super::super::syscall::trim_or_sync;
use super::entry::{BufferLocation, EntryFormat};

/// The destination of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    /// To the ring, on this descriptor.
    Ring(RawFd),
    /// Already complete with this result: it was refused or executed immediately.
    Done(i64),
}

/// Converts requests to entries.
pub(crate) struct RequestRouter {
    pub format: EntryFormat,
    /// One for each slot if requests are vectored, otherwise empty.
    vectors: Box<[libc::iovec]>,
    /// The registered buffer of each slot; empty if none are registered.
    pieces: Box<[u16]>,
    /// The ring is polled.
    io_poll: bool,
    /// Sets IOSQE_ASYNC on every N-th request; 0 means never.
    force_async: u32,
    until_async: u32,
}

impl RequestRouter {
    pub(crate) fn new(depth: u32, settings: &EngineSettings) -> Self {
        let empty = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        let vectors = if settings.vectored { depth as usize } else { 0 };
        Self {
            format: EntryFormat {
                fixed_files: false,
                fixed_buffers: false,
                vectored: settings.vectored,
                // Polling is a property of the ring; the kernel would reject the flag.
                rw_flags: rw_flags(settings, false),
                noop: false,
            },
            vectors: vec![empty; vectors].into_boxed_slice(),
            pieces: Box::default(),
            io_poll: settings.high_priority,
            force_async: settings.force_async,
            until_async: settings.force_async,
        }
    }

    #[inline]
    pub(crate) fn route(&self, files: &[EngineFile], request: &Request, buffer_size: u32) -> Route {
        if self.format.noop {
            return Route::Ring(-1);
        }
        match admit(files, request, buffer_size) {
            Err(refused) => Route::Done(refused),
            Ok(file) if self.bypasses_ring(request.op, file) => {
                Route::Done(trim_or_sync(file, request))
            }
            Ok(file) => Route::Ring(file.raw()),
        }
    }

    /// Operations without an opcode (discarding blocks of a device) or rejected on a polled ring
    /// (all but reads and writes).
    #[inline]
    fn bypasses_ring(&self, op: Op, file: &EngineFile) -> bool {
        match op {
            Op::Read | Op::Write => false,
            Op::Trim => file.block_device || self.io_poll,
            Op::Fsync | Op::Fdatasync | Op::SyncFileRange(_) => self.io_poll,
        }
    }

    #[inline]
    pub(crate) fn entry(&mut self, request: &Request, fd: RawFd, buffer: *mut u8) -> squeue::Entry {
        let mut vector = std::ptr::null();
        if let Some(own) = self.vectors.get_mut(request.slot as usize) {
            *own = libc::iovec {
                iov_base: buffer.cast(),
                iov_len: request.len as usize,
            };
            vector = &raw const *own;
        }
        let piece = self.pieces.get(request.slot as usize).copied().unwrap_or(0);
        let entry = self.format.entry(
            request,
            fd,
            BufferLocation {
                buffer,
                piece,
                vector,
            },
        );
        if self.force_async > 0 {
            self.mark_async(entry)
        } else {
            entry
        }
    }

    #[inline]
    fn mark_async(&mut self, entry: squeue::Entry) -> squeue::Entry {
        self.until_async -= 1;
        if self.until_async > 0 {
            return entry;
        }
        self.until_async = self.force_async;
        entry.flags(squeue::Flags::ASYNC)
    }

    /// Records that the buffers of `depth` slots were registered, `slots` in each piece.
    pub(crate) fn set_registered_pieces(&mut self, depth: u32, slots: usize) {
        self.pieces = (0..depth as usize)
            .map(|slot| (slot / slots) as u16)
            .collect();
        self.format.fixed_buffers = true;
    }

    pub(crate) fn take_vectors(&mut self) -> Box<[libc::iovec]> {
        std::mem::take(&mut self.vectors)
    }
}
