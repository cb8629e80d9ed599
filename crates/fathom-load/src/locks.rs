//! `lockfile`: I/O to a file excludes the I/O of other jobs to it.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use fathom_model::FileLock;

use crate::engine::{Completion, Engine, Op, Request};
use crate::engine_filter::SubmitFilter;

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
pub(crate) struct FileLocks<'a> {
    /// The locks of the files of the engine, in their order.
    locks: &'a [Lock],
    kind: FileLock,
    held: Vec<Held<'a>>,
}

impl<'a> FileLocks<'a> {
    pub fn new(locks: &'a [Lock], kind: FileLock) -> Self {
        FileLocks {
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
        self.held
            .extend(wanted.into_iter().map(|(lock, exclusive)| match exclusive {
                true => Held::Exclusive(lock.lock.write().unwrap_or_else(PoisonError::into_inner)),
                false => Held::Shared(lock.lock.read().unwrap_or_else(PoisonError::into_inner)),
            }));
    }
}

impl SubmitFilter for FileLocks<'_> {
    fn admit(&mut self, _engine: &mut dyn Engine, batch: &[Request], in_flight: u32) -> usize {
        if in_flight > 0 {
            return 0;
        }
        self.take_locks(batch);
        batch.len()
    }

    fn submitted(&mut self, _admitted: &[Request], accepted: usize) {
        if accepted == 0 {
            self.held.clear();
        }
    }

    fn completed(&mut self, _completions: &mut [Completion], in_flight: u32) {
        if in_flight == 0 {
            self.held.clear();
        }
    }
}
