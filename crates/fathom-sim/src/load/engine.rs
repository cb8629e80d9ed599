//! The engine: requests of a worker to the disks of the simulated machine.

use fathom_load::{Completion, Engine, EngineError, EngineRequest, Op, Request, Wait};

use super::thread::SimThread;
use crate::device::{SimOp, SimRequest, SimTime};

const EIO: i64 = 5;
const EINVAL: i64 = 22;
const ENOMEM: i32 = 12;
/// How long a reap waits without a limit, as the engines of Linux: below one second.
const LONGEST_WAIT: SimTime = 500_000_000;

/// One file of a worker on a disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileOnDisk {
    /// The number of the disk.
    pub disk: usize,
    /// Where it starts on the disk.
    pub base: u64,
    /// The bytes of the file that may be accessed.
    pub range: (u64, u64),
    /// Writes are durable when they complete (O_SYNC, O_DSYNC).
    pub durable: bool,
}

/// Submits the requests of one worker to the disks.
pub(super) struct SimEngine<'y> {
    thread: SimThread<'y>,
    files: Vec<FileOnDisk>,
    /// One buffer after the other; without data all slots share the first.
    buffers: Vec<u8>,
    /// Bytes of a buffer.
    size: usize,
    /// The disks keep what is written, and each slot has its buffer.
    keeps: bool,
    depth: u32,
    synchronous: bool,
    /// Bytes of each slot's request.
    lengths: Vec<u32>,
    /// Completions that did not reach the device.
    refused: Vec<Completion>,
}

impl<'y> SimEngine<'y> {
    /// An engine for these files.
    ///
    /// # Errors
    /// If there is not enough memory for a buffer.
    pub fn new(
        thread: SimThread<'y>,
        request: &EngineRequest<'_>,
        files: Vec<FileOnDisk>,
    ) -> Result<Self, EngineError> {
        let synchronous = request.spec.is_synchronous();
        let depth = if synchronous { 1 } else { request.depth.max(1) };
        let size = request.buffer_size as usize;
        let keeps = thread.keeps_contents();
        let count = if keeps { depth as usize } else { 1 };
        let total = size.saturating_mul(count);
        let mut buffers = Vec::new();
        buffers.try_reserve_exact(total).map_err(|_| EngineError {
            errno: ENOMEM,
            what: format!(
                "not enough memory for {count} buffers of {size} bytes; lower bs or iodepth"
            ),
        })?;
        buffers.resize(total, 0);
        Ok(SimEngine {
            thread,
            files,
            buffers,
            size,
            keeps,
            depth,
            synchronous,
            lengths: vec![0; depth as usize],
            refused: Vec::new(),
        })
    }
}

/// The request as the disk gets it, and the number of the disk; `None` outside of the permitted range.
#[inline]
fn on_disk(files: &[FileOnDisk], request: &Request) -> Option<(usize, SimRequest)> {
    let id = u64::from(request.slot);
    let file = files.get(request.file as usize)?;
    if request.op.is_sync() {
        let flush = SimRequest {
            id,
            op: SimOp::Flush,
            offset: 0,
            bytes: 0,
            fua: false,
        };
        return Some((file.disk, flush));
    }
    let end = request.offset.checked_add(u64::from(request.len))?;
    if request.offset < file.range.0 || end > file.range.1 {
        return None;
    }
    let on_disk = SimRequest {
        id,
        op: match request.op {
            Op::Read => SimOp::Read,
            Op::Write => SimOp::Write,
            _ => SimOp::Trim,
        },
        offset: file.base.checked_add(request.offset)?,
        bytes: request.len,
        fua: file.durable,
    };
    Some((file.disk, on_disk))
}

impl Engine for SimEngine<'_> {
    fn depth(&self) -> u32 {
        self.depth
    }

    fn is_synchronous(&self) -> bool {
        self.synchronous
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let start = if self.keeps {
            slot as usize * self.size
        } else {
            0
        };
        &mut self.buffers[start..start + self.size]
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        let SimEngine {
            thread,
            files,
            lengths,
            refused,
            buffers,
            size,
            keeps,
            ..
        } = self;
        let bytes_of = |request: &Request| match request.op {
            Op::Write if *keeps => {
                let start = request.slot as usize * *size;
                &buffers[start..start + (request.len as usize).min(*size)]
            }
            _ => &[],
        };
        thread.compute(batch.len());
        thread.submit(batch.iter().filter_map(|request| {
            lengths[request.slot as usize] = match request.op {
                Op::Read | Op::Write => request.len,
                _ => 0,
            };
            let on_disk = on_disk(files, request);
            if on_disk.is_none() {
                refused.push(Completion {
                    slot: request.slot,
                    result: -EINVAL,
                });
            }
            let (disk, on_disk) = on_disk?;
            Some((disk, on_disk, bytes_of(request)))
        }));
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
        let SimEngine {
            lengths,
            buffers,
            size,
            ..
        } = self;
        let wait = (wait.at_least as usize, most, limit);
        let goes_on = self.thread.reap(wait, |slot, failed, found| {
            if let Some(found) = found {
                let start = slot as usize * *size;
                buffers[start..start + found.len()].copy_from_slice(&found);
            }
            let result = if failed {
                -EIO
            } else {
                i64::from(lengths[slot as usize])
            };
            done.push(Completion { slot, result });
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
