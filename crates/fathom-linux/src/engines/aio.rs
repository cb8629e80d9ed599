//! libaio: Linux native asynchronous I/O, io_submit(2) and io_getevents(2), without the libaio
//! library.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fathom_load::{Completion, Engine, EngineError, Op, Request, Wait};
use fathom_model::EngineSettings;

use super::file::{EngineFile, admit};
use super::ready::{Deadline, ReadyQueue, WAIT_FOR_ALL, completions_wanted, reap_until};
use super::sync::{RwFlags, rw_flags};
use super::syscall::{last_errno, trim_or_sync};
use crate::memory::Arena;

/// linux/aio_abi.h.
const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FSYNC: u16 = 2;
const IOCB_CMD_FDSYNC: u16 = 3;
/// `aio_reqprio` holds a priority.
const IOCB_FLAG_IOPRIO: u32 = 2;

/// Identifies a ring with the layout below (fs/aio.c).
const RING_MAGIC: u32 = 0xa10a_10a1;
/// Incompatible layout features that this reader supports; the kernel has defined none so far.
const RING_FEATURES: u32 = 0;

/// linux/aio_abi.h: one completion.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// fs/aio.c: the header of the ring that the kernel maps at the address that is also the context
/// id.
#[repr(C)]
struct RingHeader {
    id: u32,
    count: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_length: u32,
}

/// A context of io_setup(2).
#[derive(Debug)]
struct Context {
    id: usize,
    /// Completions can be taken from the ring without a system call.
    readable: bool,
}

impl Context {
    fn new(depth: u32) -> Result<Self, i32> {
        let mut id: usize = 0;
        // SAFETY: io_setup writes one word to `id`, which outlives the call.
        let result =
            unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut id) };
        if result < 0 {
            return Err(last_errno());
        }
        let mut context = Self {
            id,
            readable: false,
        };
        let header = context.header();
        context.readable = header.magic == RING_MAGIC
            && header.incompatible_features == RING_FEATURES
            && header.header_length as usize == size_of::<RingHeader>();
        Ok(context)
    }

    #[inline]
    fn header(&self) -> &RingHeader {
        // SAFETY: the id of a context is the address of its ring, mapped until io_destroy. The
        // kernel always maps at least a page there. The two words that change are atomics.
        unsafe { &*(self.id as *const RingHeader) }
    }

    /// Takes the oldest completion from the ring. Only this thread consumes completions, here or by
    /// io_getevents.
    #[inline]
    fn pop(&self) -> Option<Event> {
        let header = self.header();
        let head = header.head.load(Ordering::Relaxed);
        if head == header.tail.load(Ordering::Acquire) {
            return None;
        }
        let events = (self.id + size_of::<RingHeader>()) as *const Event;
        // SAFETY: `head` is below the ring's length, so the event is inside the mapping. The kernel
        // has published it (acquire on the tail) and does not overwrite it until the head has
        // advanced.
        let event = unsafe { events.add(head as usize).read() };
        header
            .head
            .store((head + 1) % header.count, Ordering::Release);
        Some(event)
    }

    /// io_getevents: waits for `at_least` completions or until `limit`.
    #[inline]
    fn wait(&self, at_least: u32, events: &mut [Event], limit: Duration) -> Result<usize, i32> {
        let limit = libc::timespec {
            tv_sec: limit.as_secs() as libc::time_t,
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: the kernel writes at most `events.len()` events to the slice and reads `limit`;
        // both outlive the call.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                libc::c_long::from(at_least),
                events.len() as libc::c_long,
                events.as_mut_ptr(),
                &raw const limit,
            )
        };
        if count < 0 {
            Err(last_errno())
        } else {
            Ok(count as usize)
        }
    }

    /// io_submit. Returns how many control blocks the kernel accepted.
    ///
    /// # Safety
    /// Each pointer must point to a control block whose buffer stays valid until its completion.
    #[inline]
    unsafe fn submit(&self, blocks: &[*mut libc::iocb]) -> Result<usize, i32> {
        // SAFETY: the slice has the given length, and the caller guarantees what it points to.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.id,
                blocks.len() as libc::c_long,
                blocks.as_ptr(),
            )
        };
        if count < 0 {
            Err(last_errno())
        } else {
            Ok(count as usize)
        }
    }

    fn destroy(&self) {
        // SAFETY: the context is ours and ends here; nothing reads its ring afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

/// Native asynchronous I/O. It is asynchronous only with O_DIRECT: buffered I/O completes inside
/// io_submit.
#[derive(Debug)]
pub(crate) struct AioEngine {
    context: Context,
    files: Arc<[EngineFile]>,
    arena: Arena,
    /// One control block for each slot.
    blocks: Box<[libc::iocb]>,
    queue: Vec<*mut libc::iocb>,
    events: Box<[Event]>,
    ready: ReadyQueue,
    rw_flags: RwFlags,
}

impl AioEngine {
    pub(crate) fn new(
        files: Arc<[EngineFile]>,
        depth: u32,
        buffer_size: u32,
        settings: &EngineSettings,
    ) -> Result<Self, EngineError> {
        let arena = Arena::new(depth, buffer_size)?;
        let depth = arena.depth();
        let context = Context::new(depth).map_err(|errno| setup_error(errno, depth))?;
        // SAFETY: an iocb consists of plain numbers, for which zero is valid.
        let block: libc::iocb = unsafe { std::mem::zeroed() };
        Ok(Self {
            context,
            files,
            arena,
            blocks: (0..depth).map(|_| block).collect(),
            queue: Vec::with_capacity(depth as usize),
            events: vec![Event::default(); depth as usize].into_boxed_slice(),
            ready: ReadyQueue::new(depth),
            rw_flags: rw_flags(settings, true),
        })
    }

    /// Queues a request, or returns the result of one that the kernel cannot do asynchronously.
    #[inline]
    fn enqueue(&mut self, request: &Request) -> Option<i64> {
        let file = match admit(&self.files, request, self.arena.size()) {
            Err(setup_error) => return Some(setup_error),
            Ok(file) if matches!(request.op, Op::Trim | Op::SyncFileRange(_)) => {
                return Some(trim_or_sync(file, request));
            }
            Ok(file) => file.raw() as u32,
        };
        let buffer = self.arena.lend(request.slot);
        let block = &mut self.blocks[request.slot as usize];
        fill_block(block, request, file, buffer, self.rw_flags);
        self.queue.push(block);
        None
    }

    /// Submits the queue and empties it. Returns how many requests the kernel did not accept for
    /// now. A control block that it rejects permanently completes with the errno.
    #[inline]
    fn flush(&mut self) -> Result<usize, EngineError> {
        let mut taken = 0;
        while taken < self.queue.len() {
            // SAFETY: the control blocks belong to slots lent until their completion. They live as
            // long as the engine, which waits for them when dropped.
            match unsafe { self.context.submit(&self.queue[taken..]) } {
                Ok(count) => taken += count,
                Err(libc::EAGAIN) => break,
                Err(libc::EINTR) => {}
                Err(errno @ (libc::ENOSYS | libc::EPERM)) => {
                    return Err(setup_error(errno, self.depth()));
                }
                Err(errno) => {
                    self.ready
                        .push(slot_of(self.queue[taken]), -i64::from(errno));
                    taken += 1;
                }
            }
        }
        let left = self.queue.len() - taken;
        for &block in &self.queue[taken..] {
            self.arena.take_back(slot_of(block));
        }
        self.queue.clear();
        Ok(left)
    }

    /// Requests in flight in the kernel.
    #[inline]
    fn pending(&self) -> u32 {
        self.arena.lent() - self.ready.len()
    }

    #[inline]
    fn take_ready(&mut self, at_most: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = self.ready.reap(at_most, &mut self.arena, done);
        while self.context.readable && count < at_most {
            let Some(event) = self.context.pop() else {
                break;
            };
            self.complete(event, done);
            count += 1;
        }
        count
    }

    #[inline]
    fn complete(&mut self, event: Event, done: &mut Vec<Completion>) {
        self.arena.take_back(event.data as u32);
        done.push(Completion {
            slot: event.data as u32,
            result: event.result,
        });
    }

    /// One io_getevents. Returns the number of completions.
    #[inline]
    fn wait_once(
        &mut self,
        at_least: u32,
        at_most: u32,
        limit: Duration,
        done: &mut Vec<Completion>,
    ) -> Result<u32, EngineError> {
        let capacity = (at_most as usize).min(self.events.len());
        let count = match self
            .context
            .wait(at_least, &mut self.events[..capacity], limit)
        {
            Ok(count) => count,
            Err(libc::EINTR) => 0,
            Err(errno) => {
                return Err(EngineError {
                    errno,
                    what: "io_getevents failed".to_owned(),
                });
            }
        };
        for index in 0..count {
            let event = self.events[index];
            self.complete(event, done);
        }
        Ok(count as u32)
    }
}

/// Fills the control block of a request.
#[inline]
fn fill_block(
    block: &mut libc::iocb,
    request: &Request,
    fd: u32,
    buffer: *mut u8,
    rw_flags: RwFlags,
) {
    let transfer = matches!(request.op, Op::Read | Op::Write);
    block.aio_data = u64::from(request.slot);
    block.aio_fildes = fd;
    block.aio_lio_opcode = match request.op {
        Op::Read => IOCB_CMD_PREAD,
        Op::Write => IOCB_CMD_PWRITE,
        Op::Fsync => IOCB_CMD_FSYNC,
        Op::Trim | Op::Fdatasync | Op::SyncFileRange(_) => IOCB_CMD_FDSYNC,
    };
    // fsync takes nothing else; the kernel rejects it if it has a buffer.
    block.aio_buf = if transfer { buffer as u64 } else { 0 };
    block.aio_nbytes = if transfer { u64::from(request.len) } else { 0 };
    block.aio_offset = if transfer { request.offset as i64 } else { 0 };
    block.aio_rw_flags = if transfer { rw_flags.of(request.op) } else { 0 };
    let prio = if transfer { request.prio } else { 0 };
    block.aio_reqprio = prio.cast_signed();
    block.aio_flags = if prio == 0 { 0 } else { IOCB_FLAG_IOPRIO };
}

#[inline]
fn slot_of(block: *mut libc::iocb) -> u32 {
    // SAFETY: the queue contains only addresses of the engine's own control blocks.
    unsafe { (*block).aio_data as u32 }
}

/// Explains why no context could be created, and what to do.
fn setup_error(errno: i32, depth: u32) -> EngineError {
    let why = match errno {
        libc::EAGAIN => format!(
            "{depth} more asynchronous I/Os exceed the system limit (fs.aio-nr is {}, fs.aio-max-nr is {}); lower iodepth or raise fs.aio-max-nr",
            super::explain::sysctl("fs/aio-nr"),
            super::explain::sysctl("fs/aio-max-nr"),
        ),
        libc::ENOSYS => "this kernel was built without CONFIG_AIO, or a seccomp profile hides it; use ioengine=io_uring or psync".to_owned(),
        libc::EPERM => "a seccomp profile (container, sandbox) denies io_setup; allow it there or use ioengine=psync".to_owned(),
        _ => "the kernel rejects it".to_owned(),
    };
    EngineError {
        errno,
        what: format!("cannot set up libaio: {why}"),
    }
}

impl Engine for AioEngine {
    #[inline]
    fn depth(&self) -> u32 {
        self.arena.depth()
    }

    #[inline]
    fn is_synchronous(&self) -> bool {
        false
    }

    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for (index, request) in batch.iter().enumerate() {
            let Some(result) = self.enqueue(request) else {
                continue;
            };
            let left = self.flush()?;
            if left > 0 {
                return Ok(index - left);
            }
            self.arena.lend(request.slot);
            self.ready.push(request.slot, result);
        }
        Ok(batch.len() - self.flush()?)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let want = completions_wanted(wait, self.arena.lent());
        let count = self.take_ready(wait.at_most, done);
        if count >= want && (self.context.readable || count == wait.at_most || self.pending() == 0)
        {
            return Ok(());
        }
        reap_until(wait, want, count, |at_least, at_most, limit| {
            self.wait_once(at_least, at_most, limit, done)
        })
    }
}

impl Drop for AioEngine {
    /// Waits for the I/O in flight. If that takes too long, the context and the memory are left to
    /// the kernel.
    fn drop(&mut self) {
        let (deadline, mut done) = (Deadline::for_drop(), Vec::new());
        while self.arena.lent() > 0 {
            if self.reap(WAIT_FOR_ALL, &mut done).is_err() || deadline.remaining().is_none() {
                break;
            }
        }
        if self.arena.lent() == 0 {
            self.context.destroy();
        }
    }
}
