//! io_uring.
#![allow(unsafe_code)]

mod entry;
mod noop_ring;
mod ring;
mod router;

use std::sync::Arc;
use std::time::Duration;

use fathom_load::{Completion, Engine, EngineError, Op, Request, Wait};
use fathom_model::EngineSettings;

pub use self::noop_ring::bare_noop_ring;
use self::ring::{Ring, RingConfig};
use self::router::{RequestRouter, Route};
use super::explain;
use super::file::EngineFile;
use super::ready::{Deadline, ReadyQueue, WAIT_FOR_ALL, completions_wanted, reap_until};
use crate::memory::Arena;

/// The kernel's limits of the size and number of registered buffers.
const MAX_BUFFER_BYTES: usize = 1 << 30;
const MAX_BUFFERS: usize = 1 << 14;

/// I/O through an io_uring owned by this engine.
pub(crate) struct UringEngine {
    // Declared first, so that it is dropped before the memory its entries point to.
    ring: Ring,
    files: Arc<[EngineFile]>,
    arena: Arena,
    ready: ReadyQueue,
    router: RequestRouter,
}

impl UringEngine {
    pub(crate) fn new(
        files: Arc<[EngineFile]>,
        depth: u32,
        buffer_size: u32,
        settings: &EngineSettings,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::with_unregistered_files(files, depth, buffer_size, settings)?;
        if settings.register_files {
            engine.register_files()?;
        }
        if settings.fixed_buffers {
            engine.register_buffers()?;
        }
        if settings.register_where_possible {
            // A refusal (locked memory, too many files) only costs some CPU time.
            let _ = engine.register_files();
            let _ = engine.register_buffers();
        }
        if settings.high_priority {
            engine.probe_polling()?;
        }
        Ok(engine)
    }

    /// An engine that sends its requests through the ring as no-ops, to measure the cost of the
    /// ring and the load generator.
    pub(crate) fn noop(depth: u32, buffer_size: u32) -> Result<Self, EngineError> {
        let mut engine = Self::with_unregistered_files(
            Arc::new([]),
            depth,
            buffer_size,
            &EngineSettings::default(),
        )?;
        engine.router.format.noop = true;
        Ok(engine)
    }

    fn with_unregistered_files(
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
        let ring =
            Ring::new(config).map_err(|errno| explain::io_uring_error(errno, "io_uring_setup"))?;
        Ok(Self {
            ring,
            files,
            arena,
            ready: ReadyQueue::new(depth),
            router: RequestRouter::new(depth, settings),
        })
    }

    fn register_files(&mut self) -> Result<(), EngineError> {
        let fds: Vec<_> = self.files.iter().map(EngineFile::raw).collect();
        let result = self.ring.submitter().register_files(&fds);
        result.map_err(|error| {
            explain::io_uring_error(explain::errno_of(&error), "registering files")
        })?;
        self.router.format.fixed_files = true;
        Ok(())
    }

    fn register_buffers(&mut self) -> Result<(), EngineError> {
        let refused = |errno| explain::io_uring_error(errno, "registering buffers");
        let (pieces, slots) = self
            .arena
            .pieces(MAX_BUFFER_BYTES)
            .ok_or_else(|| refused(libc::EFAULT))?;
        if pieces.len() > MAX_BUFFERS {
            return Err(refused(libc::EINVAL));
        }
        // SAFETY: the pieces are the arena, which the engine keeps until the ring, declared before
        // it, is dropped; the kernel also pins the pages.
        let result = unsafe { self.ring.submitter().register_buffers(&pieces) };
        result.map_err(|error| refused(explain::errno_of(&error)))?;
        self.router.set_registered_pieces(self.arena.depth(), slots);
        Ok(())
    }

    /// The set-up succeeds even if the device has no poll queue; only an I/O shows whether polling
    /// works.
    fn probe_polling(&mut self) -> Result<(), EngineError> {
        for file in 0..self.files.len() as u32 {
            let (start, end) = self.files[file as usize].range;
            // Whole pages, so that no device rejects the length.
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
            // A file open only for writing cannot be tested this way.
            if result < 0 && result != -i64::from(libc::EBADF) {
                return Err(explain::polling_error(-result as i32));
            }
        }
        Ok(())
    }

    fn probe_result(&mut self) -> i64 {
        let mut done = Vec::with_capacity(1);
        let syscall_result = self.reap(
            Wait {
                at_least: 1,
                at_most: 1,
                limit: None,
            },
            &mut done,
        );
        match (syscall_result, done.first()) {
            (Err(error), _) => -i64::from(error.errno),
            (Ok(()), Some(completion)) => completion.result,
            (Ok(()), None) => -i64::from(libc::ETIMEDOUT),
        }
    }

    #[inline]
    fn take_completions(&mut self, at_most: u32, done: &mut Vec<Completion>) -> u32 {
        let mut count = self.ready.reap(at_most, &mut self.arena, done);
        let mut queue = self.ring.completion();
        while count < at_most {
            let Some(entry) = queue.next() else { break };
            // The upper half is the length that a no-op reports as transferred; 0 for other
            // operations.
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

    /// Ignores the errors of a call that mean "not now"; the caller's loop tries again.
    fn ignore_transient(result: Result<(), i32>) -> Result<(), EngineError> {
        match result {
            Ok(()) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME) => Ok(()),
            Err(errno) => Err(explain::io_uring_error(errno, "io_uring_enter")),
        }
    }

    /// The slow path of a reap that did not find enough completions immediately.
    #[inline(never)]
    fn wait(
        &mut self,
        wait: Wait,
        want: u32,
        count: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        reap_until(wait, want, count, |at_least, at_most, limit| {
            Self::ignore_transient(self.ring.wait(at_least, limit))?;
            Ok(self.take_completions(at_most, done))
        })
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
            let route = self.router.route(&self.files, request, self.arena.size());
            let buffer = self.arena.lend(request.slot);
            match route {
                Route::Done(result) => self.ready.push(request.slot, result),
                Route::Ring(fd) => {
                    let entry = self.router.entry(request, fd, buffer);
                    // SAFETY: the slot is lent until the entry completes, `route` limited its
                    // length to the slot's size, its vector is owned by the engine, and both
                    // outlive the ring (see `drop`).
                    unsafe { queue.push(&entry) }.expect("the queue is not full");
                }
            }
            taken += 1;
        }
        drop(queue);
        Self::ignore_transient(self.ring.submit())?;
        Ok(taken)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let want = completions_wanted(wait, self.arena.lent());
        let count = self.take_completions(wait.at_most, done);
        if count == wait.at_most || (count >= want && (count > 0 || !self.ring.needs_enter())) {
            return Ok(());
        }
        self.wait(wait, want, count, done)
    }
}

impl Drop for UringEngine {
    /// Cancels what can be cancelled and waits for the rest. If that takes too long, the arena
    /// leaves its memory to the kernel.
    fn drop(&mut self) {
        let (deadline, mut done) = (Deadline::for_drop(), Vec::new());
        if self.arena.lent() > self.ready.len() {
            self.ring.cancel_all();
        }
        while self.arena.lent() > 0 && deadline.remaining().is_some() {
            if self.reap(WAIT_FOR_ALL, &mut done).is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if self.arena.lent() > 0 {
            // Entries that the kernel has not taken yet point to these.
            std::mem::forget(self.router.take_vectors());
        }
    }
}
