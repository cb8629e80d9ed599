//! Asynchronous I/O on an image: one completion of librbd for each request.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fathom_load::{Completion, Engine, EngineError, EngineRequest, Op, Request, Wait};

use super::image::Image;
use super::library::Handle;
use crate::engines::file::admit_range;
use crate::engines::ready::{Deadline, WAIT_FOR_ALL, completions_wanted};
use crate::memory::Arena;

/// Completions that threads of librbd have delivered.
#[derive(Default)]
struct Queue {
    done: VecDeque<Completion>,
    /// Number of completions the engine waits for; 0 if it is not waiting.
    wanted: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    finished: Condvar,
    /// `rbd_aio_get_return_value` and `rbd_aio_release`.
    library: &'static super::library::Library,
}

impl Shared {
    /// No code that holds the lock can panic in the middle of a change, so the state behind a
    /// poisoned lock is valid.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, completion: Completion) {
        let mut queue = self.lock();
        queue.done.push_back(completion);
        let awaited = queue.wanted > 0 && queue.done.len() >= queue.wanted;
        drop(queue);
        if awaited {
            self.finished.notify_one();
        }
    }
}

/// The argument of a completion: its slot and where to deliver it.
struct Slot {
    shared: Arc<Shared>,
    number: u32,
    /// Bytes of the request in flight, which a write completes with.
    written: AtomicI64,
}

/// Called by a thread of librbd when an I/O has completed.
unsafe extern "C" fn completed(completion: Handle, slot: *mut c_void) {
    // SAFETY: `slot` is an element of `RbdEngine::slots`, which are freed only after all I/O has completed.
    let slot = unsafe { &*slot.cast::<Slot>() };
    // SAFETY: the completion is complete, and released once.
    let result = unsafe {
        let result = (slot.shared.library.rbd_aio_get_return_value)(completion) as i64;
        (slot.shared.library.rbd_aio_release)(completion);
        result
    };
    slot.shared.deliver(Completion {
        slot: slot.number,
        result: if result == 0 {
            slot.written.load(Relaxed)
        } else {
            result
        },
    });
}

/// I/O on one image. Each engine has its own connection to the cluster, as in fio.
pub(crate) struct RbdEngine {
    /// Never dropped while an I/O is in flight, since closing would wait for it without a limit.
    image: ManuallyDrop<Image>,
    ranges: Box<[(u64, u64)]>,
    slots: ManuallyDrop<Box<[Slot]>>,
    shared: Arc<Shared>,
    arena: Arena,
    busy_poll: bool,
}

impl RbdEngine {
    /// Opens the image of the request.
    ///
    /// # Errors
    /// If it cannot be opened, or is smaller than the job's region.
    pub(crate) fn new(request: &EngineRequest<'_>) -> Result<Self, EngineError> {
        let Some(spec) = &request.spec.settings.rbd else {
            return Err(EngineError {
                errno: libc::EINVAL,
                what: "rbd needs pool= and rbdname=".to_owned(),
            });
        };
        let image = Image::open(spec, request.files.iter().any(|file| file.writes))?;
        let size = image.size()?;
        if let Some(file) = request.files.iter().find(|file| file.range.1 > size) {
            return Err(EngineError {
                errno: libc::ENOSPC,
                what: format!(
                    "{}: the job ends at byte {}, the image at {size}; reduce size= or offset=",
                    file.path.display(),
                    file.range.1
                ),
            });
        }
        image.start_cache();
        let arena = Arena::new(request.depth, request.buffer_size)?;
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                done: VecDeque::with_capacity(arena.depth() as usize),
                wanted: 0,
            }),
            finished: Condvar::new(),
            library: image.library(),
        });
        let slots = (0..arena.depth())
            .map(|number| Slot {
                shared: Arc::clone(&shared),
                number,
                written: AtomicI64::new(0),
            })
            .collect();
        Ok(Self {
            image: ManuallyDrop::new(image),
            ranges: request.files.iter().map(|file| file.range).collect(),
            slots: ManuallyDrop::new(slots),
            shared,
            arena,
            busy_poll: spec.busy_poll,
        })
    }

    /// Starts one I/O. An error is the result with which it completes.
    fn start(&self, request: &Request, buffer: *mut u8) -> Result<(), i64> {
        let range = self
            .ranges
            .get(request.file as usize)
            .ok_or(-i64::from(libc::EBADF))?;
        admit_range(*range, request, self.arena.size())?;
        let slot = &self.slots[request.slot as usize];
        let written = match request.op {
            Op::Write => i64::from(request.len),
            _ => 0,
        };
        slot.written.store(written, Relaxed);
        let library = self.image.library();
        let image = self.image.handle();
        let mut completion: Handle = null_mut();
        // SAFETY: the slot's place is fixed for the life of the engine, see `completed`.
        let code = unsafe {
            (library.rbd_aio_create_completion)(
                (&raw const *slot).cast_mut().cast(),
                completed,
                &mut completion,
            )
        };
        if code < 0 {
            return Err(i64::from(code));
        }
        let (offset, length) = (request.offset, request.len as usize);
        // SAFETY: the image is open. The buffer has at least `length` bytes, as `admit_range` checked, and is lent to
        // librbd until the completion is reaped.
        let code = unsafe {
            match request.op {
                Op::Read => {
                    (library.rbd_aio_read)(image, offset, length, buffer.cast(), completion)
                }
                Op::Write => {
                    (library.rbd_aio_write)(image, offset, length, buffer.cast(), completion)
                }
                Op::Trim => {
                    (library.rbd_aio_discard)(image, offset, u64::from(request.len), completion)
                }
                Op::Fsync | Op::Fdatasync | Op::SyncFileRange(_) => {
                    (library.rbd_aio_flush)(image, completion)
                }
            }
        };
        if code < 0 {
            // SAFETY: the I/O was not started, so that the callback is not called.
            unsafe { (library.rbd_aio_release)(completion) };
            return Err(i64::from(code));
        }
        Ok(())
    }

    fn take_completions(&mut self, queue: &mut Queue, at_most: u32, done: &mut Vec<Completion>) {
        let count = queue.done.len().min(at_most as usize);
        for completion in queue.done.drain(..count) {
            self.arena.take_back(completion.slot);
            done.push(completion);
        }
    }
}

impl Engine for RbdEngine {
    fn depth(&self) -> u32 {
        self.arena.depth()
    }

    fn is_synchronous(&self) -> bool {
        false
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for request in batch {
            let buffer = self.arena.lend(request.slot);
            if let Err(result) = self.start(request, buffer) {
                self.shared.deliver(Completion {
                    slot: request.slot,
                    result,
                });
            }
        }
        Ok(batch.len())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let want = completions_wanted(wait, self.arena.lent()) as usize;
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.lock();
        if queue.done.len() < want {
            let deadline = Deadline::for_reap(wait);
            queue.wanted = want;
            while let Some(left) = deadline.remaining().filter(|_| queue.done.len() < want) {
                queue = if self.busy_poll {
                    drop(queue);
                    std::hint::spin_loop();
                    shared.lock()
                } else {
                    shared
                        .finished
                        .wait_timeout(queue, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                };
            }
            queue.wanted = 0;
        }
        self.take_completions(&mut queue, wait.at_most, done);
        Ok(())
    }
}

impl Drop for RbdEngine {
    /// Waits for the I/O in flight up to a time limit. If some still hangs, the image stays open, and the memory and the
    /// slots that librbd may use are not freed.
    fn drop(&mut self) {
        let deadline = Deadline::for_drop();
        let mut done = Vec::new();
        while self.arena.lent() > 0 && deadline.remaining().is_some() {
            if self.reap(WAIT_FOR_ALL, &mut done).is_err() {
                break;
            }
        }
        if self.arena.lent() > 0 {
            return;
        }
        // SAFETY: neither is used again, and no I/O is in flight.
        unsafe {
            ManuallyDrop::drop(&mut self.image);
            ManuallyDrop::drop(&mut self.slots);
        }
    }
}
