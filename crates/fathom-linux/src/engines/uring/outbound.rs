//! The way of a request to the ring.

use std::os::fd::RawFd;

use fathom_load::{Op, Request};
use fathom_model::EngineSettings;
use io_uring::squeue;

use super::super::file::{EngineFile, admit};
use super::super::inline::control;
use super::super::sync::rw_flags;
use super::entry::{BufferLocation, Form};

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    /// To the ring, on this descriptor.
    Ring(RawFd),
    /// Nowhere: it was refused or done on the spot, with this result.
    Over(i64),
}

/// Makes entries of requests.
pub(crate) struct Outbound {
    pub form: Form,
    /// One for each slot when requests are vectored, else none.
    vectors: Box<[libc::iovec]>,
    /// The registered buffer of each slot; none when none are registered.
    pieces: Box<[u16]>,
    /// The ring is polled.
    io_poll: bool,
    /// IOSQE_ASYNC on each N-th request; 0 is never.
    force_async: u32,
    until_async: u32,
}

impl Outbound {
    pub(crate) fn new(depth: u32, settings: &EngineSettings) -> Self {
        let nowhere = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        let vectors = if settings.vectored { depth as usize } else { 0 };
        Self {
            form: Form {
                fixed_files: false,
                fixed_buffers: false,
                vectored: settings.vectored,
                // Polling is a property of the ring; the flag would be refused.
                rw_flags: rw_flags(settings, false),
                noop: false,
            },
            vectors: vec![nowhere; vectors].into_boxed_slice(),
            pieces: Box::default(),
            io_poll: settings.high_priority,
            force_async: settings.force_async,
            until_async: settings.force_async,
        }
    }

    #[inline]
    pub(crate) fn route(&self, files: &[EngineFile], request: &Request, buffer_size: u32) -> Route {
        if self.form.noop {
            return Route::Ring(-1);
        }
        match admit(files, request, buffer_size) {
            Err(refused) => Route::Over(refused),
            Ok(file) if self.stays_outside(request.op, file) => Route::Over(control(file, request)),
            Ok(file) => Route::Ring(file.raw()),
        }
    }

    /// What has no opcode here (discarding blocks of a device) or is refused on a polled ring (all but reads and writes).
    #[inline]
    fn stays_outside(&self, op: Op, file: &EngineFile) -> bool {
        match op {
            Op::Read | Op::Write => false,
            Op::Trim => file.block_device || self.io_poll,
            Op::Fsync | Op::Fdatasync => self.io_poll,
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
        let entry = self.form.entry(
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

    fn mark_async(&mut self, entry: squeue::Entry) -> squeue::Entry {
        self.until_async -= 1;
        if self.until_async > 0 {
            return entry;
        }
        self.until_async = self.force_async;
        entry.flags(squeue::Flags::ASYNC)
    }

    /// The buffers of `depth` slots were registered, `slots` in each piece.
    pub(crate) fn use_pieces(&mut self, depth: u32, slots: usize) {
        self.pieces = (0..depth as usize)
            .map(|slot| (slot / slots) as u16)
            .collect();
        self.form.fixed_buffers = true;
    }

    pub(crate) fn take_vectors(&mut self) -> Box<[libc::iovec]> {
        std::mem::take(&mut self.vectors)
    }
}
