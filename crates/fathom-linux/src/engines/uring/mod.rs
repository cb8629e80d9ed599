//! io_uring.
#![allow(unsafe_code)]

mod bare;
mod entry;
mod outbound;
mod ring;

use std::sync::Arc;
use std::time::Duration;

use fathom_load::{Completion, Engine, EngineError, Op, Request, Wait};
use fathom_model::EngineSettings;

pub use self::bare::bare_noop_ring;
use self::outbound::{Outbound, Route};
use self::ring::{Ring, RingConfig};
use super::explain;
use super::file::EngineFile;
use super::ready::{Deadline, Ready, wanted};
use crate::memory::Arena;

/// The kernel registers no buffer larger than this, and no more than this many.
const LARGEST_PIECE: usize = 1 << 30;
const MOST_PIECES: usize = 1 << 14;

/// I/O through an io_uring of its own.
pub(crate) struct UringEngine {
    // First, so that it is gone before the memory its entries point to.
    ring: Ring,
    files: Arc<[EngineFile]>,
    arena: Arena,
    ready: Ready,
    outbound: Outbound,
}

impl UringEngine {
    pub(crate) fn new(
        files: Arc<[EngineFile]>,
        depth: u32,
        buffer_size: u32,
        settings: &EngineSettings,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::bare(files, depth, buffer_size, settings)?;
        if settings.register_files {
            engine.register_files()?;
        }
        if settings.fixed_buffers {
            engine.register_buffers()?;
        }
        if settings.register_where_possible {
            // What is refused (locked memory, too many files) only costs some CPU.
            let _ = engine.register_files();
            let _ = engine.register_buffers();
        }
        if settings.high_priority {
            engine.probe_polling()?;
        }
        Ok(engine)
    }

    /// An engine whose requests are sent through the ring as no-ops, to measure what the ring and the load cost.
    pub(crate) fn noop(depth: u32, buffer_size: u32) -> Result<Self, EngineError> {
        let mut engine = Self::bare(Arc::new([]), depth, buffer_size, &EngineSettings::default())?;
        engine.outbound.form.noop = true;
        Ok(engine)
    }

    fn bare(
        files: Arc<[EngineFile]>,
        depth: u32,
        buffer_size: u32,
        settings: &EngineSettings,
    ) -> Result<Self, EngineError> {
        let arena = Arena::new(depth, buffer_size)?;
        let depth = arena.depth();
        let config = RingConfig {
            depth,
            sq_poll: settings.sq_poll.then_some(settings.sq_poll_cpu),
            io_poll: settings.high_priority,
        };
        let ring = Ring::new(config)
            .map_err(|errno| explain::io_uring_refused(errno, "io_uring_setup"))?;
        Ok(Self {
            ring,
            files,
            arena,
            ready: Ready::new(depth),
            outbound: Outbound::new(depth, settings),
        })
    }

    fn register_files(&mut self) -> Result<(), EngineError> {
        let fds: Vec<_> = self.files.iter().map(EngineFile::raw).collect();
        let result = self.ring.submitter().register_files(&fds);
        result.map_err(|error| {
            explain::io_uring_refused(explain::errno_of(&error), "registering files")
        })?;
        self.outbound.form.fixed_files = true;
        Ok(())
    }

    fn register_buffers(&mut self) -> Result<(), EngineError> {
        let refused = |errno| explain::io_uring_refused(errno, "registering buffers");
        let (pieces, slots) = self
            .arena
            .pieces(LARGEST_PIECE)
            .ok_or_else(|| refused(libc::EFAULT))?;
        if pieces.len() > MOST_PIECES {
            return Err(refused(libc::EINVAL));
        }
        // SAFETY: the pieces are the arena, which the engine holds until the ring, declared before it, is gone; the kernel
        // pins the pages besides.
        let result = unsafe { self.ring.submitter().register_buffers(&pieces) };
        result.map_err(|error| refused(explain::errno_of(&error)))?;
        self.outbound.use_pieces(self.arena.depth(), slots);
        Ok(())
    }

    /// Polled completions are not refused at set-up when the device has no queue to poll: only an I/O tells.
    fn probe_polling(&mut self) -> Result<(), EngineError> {
        for file in 0..self.files.len() as u32 {
            let (start, end) = self.files[file as usize].range;
            // Whole pages, so that no device refuses it for its length.
            let len = u64::from(self.arena.size()).min(end.saturating_sub(start)) as u32 & !4095;
            let probe = Request {
                slot: 0,
                file,
                op: Op::Read,
                len,
                offset: start,
                prio: 0,
            };
            self.submit(&[probe])?;
            let result = self.probe_result();
            // A file that is only written cannot be asked this way.
            if result < 0 && result != -i64::from(libc::EBADF) {
                return Err(explain::polling_refused(-result as i32));
            }
        }
        Ok(())
    }

    fn probe_result(&mut self) -> i64 {
        let mut done = Vec::with_capacity(1);
        let outcome = self.reap(
            Wait {
                at_least: 1,
                at_most: 1,
                limit: None,
            },
            &mut done,
        );
        match (outcome, done.first()) {
            (Err(error), _) => -i64::from(error.errno),
            (Ok(()), Some(completion)) => completion.result,
            (Ok(()), None) => -i64::from(libc::ETIMEDOUT),
        }
    }

    #[inline]
    fn take(&mut self, at_most: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = self.ready.reap(at_most, &mut self.arena, done);
        let mut queue = self.ring.completion();
        while count < at_most {
            let Some(entry) = queue.next() else { break };
            // The upper half is what a no-op is taken to have moved; 0 for all others.
            let (slot, moved) = (entry.user_data() as u32, entry.user_data() >> 32);
            let completion = Completion {
                slot,
                result: i64::from(entry.result()) + moved as i64,
            };
            self.arena.take_back(completion.slot);
            done.push(completion);
            count += 1;
        }
        count
    }

    /// Errors of a call that only mean "not now": the loop of the caller comes again.
    fn tolerate(result: Result<(), i32>) -> Result<(), EngineError> {
        match result {
            Ok(()) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME) => Ok(()),
            Err(errno) => Err(explain::io_uring_refused(errno, "io_uring_enter")),
        }
    }

    /// The rest of a reap that did not find enough at once.
    #[inline(never)]
    fn wait(
        &mut self,
        wait: Wait,
        want: u32,
        mut count: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let deadline = Deadline::of(wait);
        loop {
            let limit = deadline.left().unwrap_or_default();
            Self::tolerate(self.ring.wait(want.saturating_sub(count), limit))?;
            count += self.take(wait.at_most - count, done);
            if count >= want || limit.is_zero() {
                return Ok(());
            }
        }
    }
}

impl Engine for UringEngine {
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
        let mut queue = self.ring.submission();
        let mut taken = 0;
        for request in batch {
            if queue.is_full() {
                break;
            }
            let route = self.outbound.route(&self.files, request, self.arena.size());
            let buffer = self.arena.lend(request.slot);
            match route {
                Route::Over(result) => self.ready.push(request.slot, result),
                Route::Ring(fd) => {
                    let entry = self.outbound.entry(request, fd, buffer);
                    // SAFETY: the slot is lent until the entry completes, `route` held its length to the slot's size, its
                    // vector lives in the engine, and both outlive the ring (see `drop`).
                    unsafe { queue.push(&entry) }.expect("the queue is not full");
                }
            }
            taken += 1;
        }
        drop(queue);
        Self::tolerate(self.ring.submit())?;
        Ok(taken)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let want = wanted(wait, self.arena.lent());
        let count = self.take(wait.at_most, done);
        if count == wait.at_most || (count >= want && (count > 0 || !self.ring.needs_a_call())) {
            return Ok(());
        }
        self.wait(wait, want, count, done)
    }
}

impl Drop for UringEngine {
    /// Cancels what can be cancelled and waits for the rest. When that takes too long, the arena keeps its memory from
    /// everyone but the kernel.
    fn drop(&mut self) {
        let (deadline, mut done) = (Deadline::last(), Vec::new());
        if self.arena.lent() > self.ready.len() {
            self.ring.cancel_all();
        }
        while self.arena.lent() > 0 && deadline.left().is_some() {
            let wait = Wait {
                at_least: u32::MAX,
                at_most: u32::MAX,
                limit: None,
            };
            if self.reap(wait, &mut done).is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if self.arena.lent() > 0 {
            // Entries the kernel has not taken yet point to these.
            std::mem::forget(self.outbound.take_vectors());
        }
    }
}
