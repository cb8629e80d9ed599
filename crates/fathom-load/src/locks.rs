//! `lockfile`: I/O to a file keeps that of other jobs out while it lasts.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use fathom_model::FileLock;

use crate::engine::{Completion, Engine, EngineError, EngineUser, Op, Request, Wait};

/// The lock of one file, shared by the jobs that use it.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    /// All jobs take locks in the order of their places, so that no two wait for each other.
    place: usize,
    lock: Arc<RwLock<()>>,
}

impl Lock {
    pub fn new(place: usize) -> Self {
        Lock {
            place,
            lock: Arc::new(RwLock::new(())),
        }
    }
}

/// Held while a batch is under way; never read.
#[allow(dead_code, reason = "what counts is when it is dropped")]
enum Held<'a> {
    Shared(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

/// Hands its user an engine that locks.
pub(crate) struct Locking<U> {
    user: U,
    locks: Vec<Lock>,
    kind: FileLock,
}

impl<U> Locking<U> {
    /// `locks` are those of the files of the engine, in their order.
    pub fn new(user: U, locks: Vec<Lock>, kind: FileLock) -> Self {
        Locking { user, locks, kind }
    }
}

impl<U: EngineUser> EngineUser for Locking<U> {
    type Output = U::Output;

    /// One copy of the loop serves all engines here: it calls through a table, which a lock around each I/O outweighs.
    fn run<E: Engine>(self, engine: E, name: &'static str, fallback: Option<String>) -> U::Output {
        let Locking { user, locks, kind } = self;
        let mut engine = engine;
        user.run(
            Locked {
                inner: &mut engine,
                locks: &locks,
                kind,
                held: Vec::new(),
                in_flight: 0,
            },
            name,
            fallback,
        )
    }
}

/// One batch at a time: its locks are taken before it is handed over and given back when the last of it is over.
struct Locked<'a> {
    inner: &'a mut dyn Engine,
    locks: &'a [Lock],
    kind: FileLock,
    held: Vec<Held<'a>>,
    in_flight: u32,
}

impl<'a> Locked<'a> {
    fn take_locks(&mut self, batch: &[Request]) {
        let locks = self.locks;
        let mut wanted: Vec<(&'a Lock, bool)> = Vec::new();
        for request in batch {
            let Some(lock) = locks.get(request.file as usize) else {
                continue;
            };
            let alone = self.kind == FileLock::Exclusive || request.op != Op::Read;
            match wanted
                .iter_mut()
                .find(|(other, _)| other.place == lock.place)
            {
                Some((_, held_alone)) => *held_alone |= alone,
                None => wanted.push((lock, alone)),
            }
        }
        wanted.sort_by_key(|(lock, _)| lock.place);
        self.held
            .extend(wanted.into_iter().map(|(lock, alone)| match alone {
                true => Held::Alone(lock.lock.write().unwrap_or_else(PoisonError::into_inner)),
                false => Held::Shared(lock.lock.read().unwrap_or_else(PoisonError::into_inner)),
            }));
    }
}

impl Engine for Locked<'_> {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn is_synchronous(&self) -> bool {
        self.inner.is_synchronous()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        if self.in_flight > 0 || batch.is_empty() {
            return Ok(0);
        }
        self.take_locks(batch);
        let taken = self.inner.submit(batch)?;
        self.in_flight = taken as u32;
        if taken == 0 {
            self.held.clear();
        }
        Ok(taken)
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.inner.reap(wait, done)?;
        self.in_flight -= ((done.len() - before) as u32).min(self.in_flight);
        if self.in_flight == 0 {
            self.held.clear();
        }
        Ok(())
    }
}
