//! `lockfile`: I/O to a file excludes the I/O of other jobs to it.

use std::sync::{
    Arc, LockResult, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
    TryLockResult,
};

use fathom_model::{FileLock, Nanos};

use crate::clock::Clock;
use crate::engine::{Completion, Engine, Op, Request};
use crate::engine_filter::SubmitFilter;

/// In virtual time, the maximum time without a new attempt to take a lock.
const RETRY_AFTER: Nanos = Nanos::from_millis(100);

/// The lock of one file, shared by the jobs that use it.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    /// All jobs take locks in the order of these numbers, so that no two wait for each other.
    number: usize,
    lock: Arc<RwLock<()>>,
}

impl Lock {
    pub fn new(number: usize) -> Self {
        Lock {
            number,
            lock: Arc::new(RwLock::new(())),
        }
    }
}

/// Held while a batch is in flight; never read.
#[allow(dead_code, reason = "only its lifetime matters")]
enum Held<'a> {
    Shared(RwLockReadGuard<'a, ()>),
    Exclusive(RwLockWriteGuard<'a, ()>),
}

/// Takes the locks of the files of each batch. One batch at a time: its locks are taken before it
/// is submitted and released when all of it has completed.
pub(crate) struct FileLocks<'a, C: Clock> {
    clock: C,
    /// The locks of the files of the engine, in their order.
    locks: &'a [Lock],
    kind: FileLock,
    held: Vec<Held<'a>>,
}

impl<'a, C: Clock> FileLocks<'a, C> {
    pub fn new(locks: &'a [Lock], kind: FileLock, clock: C) -> Self {
        FileLocks {
            clock,
            locks,
            kind,
            held: Vec::new(),
        }
    }

    fn take_locks(&mut self, batch: &[Request]) {
        let locks = self.locks;
        let mut wanted: Vec<(&'a Lock, bool)> = Vec::new();
        for request in batch {
            let Some(lock) = locks.get(request.file as usize) else {
                continue;
            };
            let exclusive = self.kind == FileLock::Exclusive || request.op != Op::Read;
            match wanted
                .iter_mut()
                .find(|(other, _)| other.number == lock.number)
            {
                Some((_, is_exclusive)) => *is_exclusive |= exclusive,
                None => wanted.push((lock, exclusive)),
            }
        }
        wanted.sort_by_key(|(lock, _)| lock.number);
        for (Lock { lock, .. }, exclusive) in wanted {
            let held = if exclusive {
                Held::Exclusive(self.wait_for(|| lock.write(), || lock.try_write()))
            } else {
                Held::Shared(self.wait_for(|| lock.read(), || lock.try_read()))
            };
            self.held.push(held);
        }
    }

    /// Takes a lock. In virtual time all jobs share one thread of the machine, which must not block.
    fn wait_for<T>(
        &self,
        take: impl Fn() -> LockResult<T>,
        try_take: impl Fn() -> TryLockResult<T>,
    ) -> T {
        if !C::IS_VIRTUAL {
            return take().unwrap_or_else(PoisonError::into_inner);
        }
        loop {
            match try_take() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    let retry_at = self.clock.now().saturating_add(RETRY_AFTER);
                    self.clock.wait_for_others(retry_at);
                }
            }
        }
    }

    fn release(&mut self) {
        self.held.clear();
        self.clock.wake_others();
    }
}

impl<C: Clock> Drop for FileLocks<'_, C> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<C: Clock> SubmitFilter for FileLocks<'_, C> {
    fn admit(&mut self, _engine: &mut dyn Engine, batch: &[Request], in_flight: u32) -> usize {
        if in_flight > 0 {
            return 0;
        }
        self.take_locks(batch);
        batch.len()
    }

    fn submitted(&mut self, _admitted: &[Request], accepted: usize) {
        if accepted == 0 {
            self.release();
        }
    }

    fn completed(&mut self, _completions: &mut [Completion], in_flight: u32) {
        if in_flight == 0 {
            self.release();
        }
    }
}
