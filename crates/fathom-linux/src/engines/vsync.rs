//! vsync: adjacent blocks of a batch merged into one readv(2) or writev(2).
#![allow(unsafe_code)]

use std::sync::Arc;

use fathom_load::{Completion, Engine, EngineError, Op, Request, Wait};

use super::file::{EngineFile, admit};
use super::ready::ReadyQueue;
use super::sync::Positions;
use super::syscall::{syscall_result, trim_or_sync};
use crate::memory::Arena;

/// Limit of the buffers of one call: IOV_MAX of the kernel.
const MAX_IOVECS: usize = 1024;

/// Merges requests that are adjacent in a batch and in the file. The calls are made before the
/// submission returns, so a batch of one is a call of one, as with fio's `iodepth_batch=1`.
#[derive(Debug)]
pub(crate) struct VsyncEngine {
    files: Arc<[EngineFile]>,
    positions: Positions,
    arena: Arena,
    vectors: Vec<libc::iovec>,
    ready: ReadyQueue,
}

impl VsyncEngine {
    pub(crate) fn new(
        files: Arc<[EngineFile]>,
        depth: u32,
        buffer_size: u32,
    ) -> Result<Self, EngineError> {
        let arena = Arena::new(depth, buffer_size)?;
        let (positions, ready) = (Positions::new(files.len()), ReadyQueue::new(arena.depth()));
        Ok(Self {
            files,
            positions,
            vectors: Vec::with_capacity(MAX_IOVECS.min(arena.depth() as usize)),
            arena,
            ready,
        })
    }

    /// Number of requests at the start of the batch that one call can execute.
    #[inline]
    fn run_length(&self, batch: &[Request]) -> usize {
        let follows = |pair: &[Request]| {
            let (one, next) = (&pair[0], &pair[1]);
            (one.op, one.file, one.offset.checked_add(u64::from(one.len)))
                == (next.op, next.file, Some(next.offset))
                && admit(&self.files, next, self.arena.size()).is_ok()
        };
        1 + batch
            .windows(2)
            .take(MAX_IOVECS - 1)
            .take_while(|pair| follows(pair))
            .count()
    }

    /// Executes a run of adjacent requests, all of them admitted.
    #[inline]
    fn transfer(&mut self, run: &[Request]) {
        let first = &run[0];
        self.vectors.clear();
        for request in run {
            let buffer = self.arena.lend(request.slot);
            self.vectors.push(libc::iovec {
                iov_base: buffer.cast(),
                iov_len: request.len as usize,
            });
        }
        let result = self.call(first);
        self.positions.record_transfer(first, result);
        self.distribute(run, result);
    }

    #[inline]
    fn call(&mut self, first: &Request) -> i64 {
        let fd = self.files[first.file as usize].raw();
        if let Err(refused) = self.positions.seek(fd, first) {
            return refused;
        }
        let (vector, count) = (self.vectors.as_ptr(), self.vectors.len() as i32);
        // SAFETY: every buffer is a slot lent to this call, `admit` limited its length to the
        // slot's size, and the vector outlives the call.
        syscall_result(|| unsafe {
            if first.op == Op::Read {
                libc::readv(fd, vector, count)
            } else {
                libc::writev(fd, vector, count)
            }
        })
    }

    /// Assigns the transferred bytes to the requests in order. An error applies to all of them.
    #[inline]
    fn distribute(&mut self, run: &[Request], result: i64) {
        let mut left = result;
        for request in run {
            let own = left.min(i64::from(request.len));
            self.ready.push(request.slot, own);
            if left > 0 {
                left -= own;
            }
        }
    }
}

impl Engine for VsyncEngine {
    #[inline]
    fn depth(&self) -> u32 {
        self.arena.depth()
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
        let mut rest = batch;
        while let Some(request) = rest.first() {
            let refused = match admit(&self.files, request, self.arena.size()) {
                Err(refused) => Some(refused),
                Ok(_) if matches!(request.op, Op::Read | Op::Write) => None,
                Ok(file) => Some(trim_or_sync(file, request)),
            };
            let taken = match refused {
                Some(result) => {
                    self.arena.lend(request.slot);
                    self.ready.push(request.slot, result);
                    1
                }
                None => {
                    let run = self.run_length(rest);
                    self.transfer(&rest[..run]);
                    run
                }
            };
            rest = &rest[taken..];
        }
        Ok(batch.len())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.ready.reap(wait.at_most, &mut self.arena, done);
        Ok(())
    }
}

impl Drop for VsyncEngine {
    /// Nothing is in flight outside a call.
    fn drop(&mut self) {
        self.arena.end_loans();
    }
}
