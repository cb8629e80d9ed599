//! The ring with requests that do nothing: what driving io_uring costs, without a device behind it.

use fathom_load::{Completion, Engine, EngineError, Request, Wait};

use super::UringEngine;

/// An [`UringEngine`] whose entries are no-ops; the kernel answers each with 0, which stands for all its bytes here.
pub(crate) struct NoopRing {
    ring: UringEngine,
    lengths: Box<[i64]>,
}

impl NoopRing {
    pub(crate) fn new(depth: u32, buffer_size: u32) -> Result<Self, EngineError> {
        let ring = UringEngine::noop(depth, buffer_size)?;
        Ok(Self { lengths: vec![0; ring.depth() as usize].into_boxed_slice(), ring })
    }
}

impl Engine for NoopRing {
    #[inline]
    fn depth(&self) -> u32 {
        self.ring.depth()
    }
    #[inline]
    fn is_synchronous(&self) -> bool {
        self.ring.is_synchronous()
    }
    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.ring.buffer(slot)
    }
    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for request in batch {
            self.lengths[request.slot as usize] = i64::from(request.len);
        }
        self.ring.submit(batch)
    }
    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let from = done.len();
        self.ring.reap(wait, done)?;
        for completion in &mut done[from..] {
            if completion.result == 0 {
                completion.result = self.lengths[completion.slot as usize];
            }
        }
        Ok(())
    }
}
