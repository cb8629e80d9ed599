//! posixaio: a thread pool with pread(2) and pwrite(2).
//!
//! glibc's aio(7) is also such a pool, but with at most 20 threads and one at a time per file. Here
//! each I/O in flight has its own thread, up to [`MOST_THREADS`].
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use fathom_load::{Completion, Engine, EngineError, Op, Request, Wait};

use super::file::{EngineFile, admit};
use super::ready::{Deadline, completions_wanted};
use super::sync::{Call, Positioned};
use super::syscall::trim_or_sync;
use crate::memory::{Arena, Memory};

/// With more I/Os in flight, some wait for a thread.
const MOST_THREADS: u32 = 256;

/// Stack size; a thread makes only shallow system calls.
const STACK_SIZE: usize = 64 << 10;

/// A request waiting for a thread.
struct Task {
    request: Request,
    buffer: *mut u8,
}

// SAFETY: the buffer is a slot lent to this task alone until its completion is reaped.
unsafe impl Send for Task {}

#[derive(Default)]
struct Queues {
    tasks: VecDeque<Task>,
    done: VecDeque<Completion>,
    /// Threads waiting for a task.
    idle: usize,
    /// Number of completions the engine waits for; 0 if it is not waiting.
    completions_wanted: usize,
    closed: bool,
}

struct Shared {
    queues: Mutex<Queues>,
    work: Condvar,
    finished: Condvar,
    files: Arc<[EngineFile]>,
    buffer_size: u32,
    /// Keeps the buffers alive until the last thread ends, even if the engine is dropped.
    _memory: Arc<Memory>,
}

impl Shared {
    /// No code that holds the lock can panic in the middle of a change, so the state behind a
    /// poisoned lock is valid.
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn next_task(&self) -> Option<Task> {
        let mut queues = self.lock();
        loop {
            if queues.closed {
                return None;
            }
            if let Some(task) = queues.tasks.pop_front() {
                return Some(task);
            }
            queues.idle += 1;
            queues = self
                .work
                .wait(queues)
                .unwrap_or_else(PoisonError::into_inner);
            queues.idle -= 1;
        }
    }

    #[inline]
    fn perform(&self, task: &Task) -> i64 {
        let request = &task.request;
        match (admit(&self.files, request, self.buffer_size), request.op) {
            (Err(refused), _) => refused,
            // SAFETY: `admit` limited the length to the slot's size; the slot is lent to this task,
            // and its memory is kept alive.
            (Ok(file), Op::Read | Op::Write) => unsafe {
                Positioned.transfer(file.raw(), request, task.buffer)
            },
            (Ok(file), _) => trim_or_sync(file, request),
        }
    }

    #[inline]
    fn work(&self) {
        while let Some(task) = self.next_task() {
            let completion = Completion {
                slot: task.request.slot,
                result: self.perform(&task),
            };
            let mut queues = self.lock();
            queues.done.push_back(completion);
            let awaited =
                queues.completions_wanted > 0 && queues.done.len() >= queues.completions_wanted;
            drop(queues);
            if awaited {
                self.finished.notify_one();
            }
        }
    }
}

/// Threads that execute one I/O each.
pub(crate) struct PoolEngine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    arena: Arena,
}

impl PoolEngine {
    pub(crate) fn new(
        files: Arc<[EngineFile]>,
        depth: u32,
        buffer_size: u32,
    ) -> Result<Self, EngineError> {
        let arena = Arena::new(depth, buffer_size)?;
        let capacity = arena.depth() as usize;
        let queues = Queues {
            tasks: VecDeque::with_capacity(capacity),
            done: VecDeque::with_capacity(capacity),
            ..Queues::default()
        };
        let shared = Arc::new(Shared {
            queues: Mutex::new(queues),
            work: Condvar::new(),
            finished: Condvar::new(),
            files,
            buffer_size: arena.size(),
            _memory: arena.shared_memory(),
        });
        let mut engine = Self {
            shared,
            threads: Vec::new(),
            arena,
        };
        for index in 0..engine.arena.depth().min(MOST_THREADS) {
            engine.start_thread(index)?;
        }
        Ok(engine)
    }

    fn start_thread(&mut self, index: u32) -> Result<(), EngineError> {
        let shared = Arc::clone(&self.shared);
        let builder = std::thread::Builder::new()
            .name(format!("posixaio-{index}"))
            .stack_size(STACK_SIZE);
        let thread = builder.spawn(move || shared.work()).map_err(|error| EngineError {
            errno: super::explain::errno_of(&error),
            what: format!(
                "cannot start thread {index} of posixaio; lower iodepth, or raise the thread limit (ulimit -u, pids.max)"
            ),
        })?;
        self.threads.push(thread);
        Ok(())
    }

    #[inline]
    fn take_completions(
        &mut self,
        queues: &mut Queues,
        at_most: u32,
        done: &mut Vec<Completion>,
    ) -> u32 {
        let count = queues.done.len().min(at_most as usize);
        for completion in queues.done.drain(..count) {
            self.arena.take_back(completion.slot);
            done.push(completion);
        }
        count as u32
    }
}

impl Engine for PoolEngine {
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
        let mut queues = self.shared.lock();
        for request in batch {
            queues.tasks.push_back(Task {
                request: *request,
                buffer: self.arena.lend(request.slot),
            });
        }
        let wake = queues.idle.min(batch.len());
        drop(queues);
        for _ in 0..wake {
            self.shared.work.notify_one();
        }
        Ok(batch.len())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let want = completions_wanted(wait, self.arena.lent()) as usize;
        let shared = Arc::clone(&self.shared);
        let mut queues = shared.lock();
        if queues.done.len() < want {
            let deadline = Deadline::for_reap(wait);
            queues.completions_wanted = want;
            while let Some(left) = deadline.remaining().filter(|_| queues.done.len() < want) {
                queues = shared
                    .finished
                    .wait_timeout(queues, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            queues.completions_wanted = 0;
        }
        self.take_completions(&mut queues, wait.at_most, done);
        Ok(())
    }
}

impl Drop for PoolEngine {
    /// Tasks that no thread has started are dropped. Running threads are waited for up to a time
    /// limit. Threads that still hang are abandoned; they keep their memory and files.
    fn drop(&mut self) {
        let mut queues = self.shared.lock();
        queues.closed = true;
        queues.tasks.clear();
        drop(queues);
        self.shared.work.notify_all();
        let deadline = Deadline::for_drop();
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && deadline.remaining().is_some() {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            if thread.is_finished() {
                // The panic of a thread was already reported.
                let _ = thread.join();
            }
        }
        // Each thread shares ownership of the memory.
        self.arena.end_loans();
    }
}
