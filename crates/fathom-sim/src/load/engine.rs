//! The engine: requests of a worker to the simulated device.

use std::sync::Arc;

use fathom_load::{Completion, Engine, EngineError, EngineRequest, Op, Request, Wait};

use super::world::World;
use crate::device::{SimOp, SimRequest, SimTime};

const EIO: i64 = 5;
const EINVAL: i64 = 22;
const ENOMEM: i32 = 12;
/// How long a reap waits without a limit, as the engines of Linux: below one second.
const LONGEST_WAIT: SimTime = 500_000_000;

/// One file of a worker on the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileOnDevice {
    /// Where it starts on the device.
    pub base: u64,
    /// The bytes of the file that may be accessed.
    pub range: (u64, u64),
    /// Writes are durable when they complete (O_SYNC, O_DSYNC).
    pub durable: bool,
}

/// Submits the requests of one worker to the device of its run.
pub struct SimEngine {
    world: Arc<World>,
    files: Vec<FileOnDevice>,
    /// No data are kept, so that all slots share one buffer.
    buffer: Vec<u8>,
    depth: u32,
    synchronous: bool,
    /// Bytes of each slot's request.
    lengths: Vec<u32>,
    /// Completions that did not reach the device.
    refused: Vec<Completion>,
    requests: Vec<SimRequest>,
}

impl SimEngine {
    /// An engine for these files.
    ///
    /// # Errors
    /// If there is not enough memory for a buffer.
    pub(crate) fn new(
        world: Arc<World>,
        request: &EngineRequest<'_>,
        files: Vec<FileOnDevice>,
    ) -> Result<Self, EngineError> {
        let synchronous = request.spec.is_synchronous();
        let depth = if synchronous { 1 } else { request.depth.max(1) };
        let size = request.buffer_size as usize;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(size).map_err(|_| EngineError {
            errno: ENOMEM,
            what: format!("not enough memory for a buffer of {size} bytes; lower bs"),
        })?;
        buffer.resize(size, 0);
        Ok(SimEngine {
            world,
            files,
            buffer,
            depth,
            synchronous,
            lengths: vec![0; depth as usize],
            refused: Vec::new(),
            requests: Vec::with_capacity(depth as usize),
        })
    }

    /// The request as the device gets it; `None` outside of the permitted range.
    fn on_device(&self, request: &Request) -> Option<SimRequest> {
        let id = u64::from(request.slot);
        if request.op.is_sync() {
            return Some(SimRequest {
                id,
                op: SimOp::Flush,
                // A machine with several devices flushes that of the file.
                offset: self
                    .files
                    .get(request.file as usize)
                    .map_or(0, |file| file.base),
                bytes: 0,
                fua: false,
            });
        }
        let file = self.files.get(request.file as usize)?;
        let end = request.offset.checked_add(u64::from(request.len))?;
        if request.offset < file.range.0 || end > file.range.1 {
            return None;
        }
        Some(SimRequest {
            id,
            op: match request.op {
                Op::Read => SimOp::Read,
                Op::Write => SimOp::Write,
                _ => SimOp::Trim,
            },
            offset: file.base.checked_add(request.offset)?,
            bytes: request.len,
            fua: file.durable,
        })
    }
}

impl Engine for SimEngine {
    fn depth(&self) -> u32 {
        self.depth
    }

    fn is_synchronous(&self) -> bool {
        self.synchronous
    }

    fn buffer(&mut self, _: u32) -> &mut [u8] {
        &mut self.buffer
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        self.requests.clear();
        for request in batch {
            self.lengths[request.slot as usize] = match request.op {
                Op::Read | Op::Write => request.len,
                _ => 0,
            };
            match self.on_device(request) {
                Some(on_device) => self.requests.push(on_device),
                None => self.refused.push(Completion {
                    slot: request.slot,
                    result: -EINVAL,
                }),
            }
        }
        self.world.submit(self.requests.drain(..));
        Ok(batch.len())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let most = wait.at_most as usize;
        let refused = self.refused.len().min(most);
        done.extend(self.refused.drain(..refused));
        if refused > 0 {
            return Ok(());
        }
        let limit = wait.limit.map_or(LONGEST_WAIT, fathom_model::Nanos::get);
        let lengths = &self.lengths;
        let goes_on = self
            .world
            .reap((wait.at_least as usize, most), limit, |completion| {
                let slot = completion.id as u32;
                done.push(Completion {
                    slot,
                    result: if completion.failed {
                        -EIO
                    } else {
                        i64::from(lengths[slot as usize])
                    },
                });
            });
        if goes_on {
            return Ok(());
        }
        Err(EngineError {
            errno: EIO as i32,
            what: "the simulated device has requests in flight that it never completes".to_owned(),
        })
    }
}
