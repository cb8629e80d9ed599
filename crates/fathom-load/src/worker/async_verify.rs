//! `verify_async`: threads that check what was read, beside the worker that reads.
//!
//! A block is copied out of its slot, so that the slot is free for the next read while the block is
//! checked. No more blocks than twice the number of threads are out at once: memory is bounded, and
//! a worker that reads faster than they can check waits for them.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use fathom_model::Verify;

use super::Worker;
use super::check::Method;
use super::verify_pass::{Wrong, judge};
use super::write_replay::ExpectedWrite;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::host::Host;
use crate::recorder::InFlight;
use crate::verify::{Expected, Wanted};

/// What a block is checked against.
#[derive(Clone, Copy)]
pub(super) struct CheckContext {
    pub expected: Expected,
    pub wanted: Wanted,
    pub dump: bool,
}

/// A block on its way to a thread and back.
struct Task {
    io: InFlight,
    sought: Option<ExpectedWrite>,
    block: Vec<u8>,
    method: Method,
    terms: CheckContext,
}

/// A block that was checked.
struct Checked {
    io: InFlight,
    sought: Option<ExpectedWrite>,
    block: Vec<u8>,
    found: Result<(), Wrong>,
}

/// The threads of one worker; they end when this is dropped.
pub(super) struct Helpers {
    tasks: SyncSender<Task>,
    checked: Receiver<Checked>,
    /// Blocks that are with a thread.
    out: usize,
    most: usize,
    spare: Vec<Vec<u8>>,
}

impl Helpers {
    /// Starts the threads that `verify` asks for; `None` without any. The second value says what
    /// went wrong with them.
    pub fn start<'s, H: Host>(
        scope: &'s Scope<'s, '_>,
        host: &'s H,
        verify: Option<&Verify>,
    ) -> (Option<Box<Helpers>>, Vec<String>) {
        let Some(verify) = verify.filter(|verify| verify.threads > 0) else {
            return (None, Vec::new());
        };
        let most = verify.threads as usize * 2;
        let (tasks, inbox) = sync_channel::<Task>(most);
        let (results, checked) = channel();
        let (inbox, mut notes, mut started) = (Arc::new(Mutex::new(inbox)), Vec::new(), 0);
        for _ in 0..verify.threads {
            let (inbox, results, cpus, (told, tells)) = (
                Arc::clone(&inbox),
                results.clone(),
                verify.thread_cpus.clone(),
                channel(),
            );
            let body = move || {
                let _ = told.send(
                    host.bind_cpus(&cpus, None)
                        .err()
                        .map(|error| error.to_string()),
                );
                while let Some(task) = next(&inbox) {
                    let Task {
                        io,
                        sought,
                        block,
                        method,
                        terms,
                    } = task;
                    let found = judge(&method, &terms, &block, &io);
                    if results
                        .send(Checked {
                            io,
                            sought,
                            block,
                            found,
                        })
                        .is_err()
                    {
                        return;
                    }
                }
            };
            match std::thread::Builder::new()
                .name("verify".to_owned())
                .stack_size(1 << 20)
                .spawn_scoped(scope, body)
            {
                Ok(_) => {
                    started += 1;
                    notes.extend(
                        tells
                            .recv()
                            .ok()
                            .flatten()
                            .filter(|note| !notes.contains(note)),
                    );
                }
                Err(error) => notes.push(format!(
                    "only {started} of {} threads check data (verify_async): {error}",
                    verify.threads
                )),
            }
        }
        let helpers = (started > 0).then(|| {
            Box::new(Helpers {
                tasks,
                checked,
                out: 0,
                most,
                spare: Vec::new(),
            })
        });
        (helpers, notes)
    }

    /// Whether another block must wait until one has come back.
    fn is_full(&self) -> bool {
        self.out == self.most
    }
}

fn next(inbox: &Mutex<Receiver<Task>>) -> Option<Task> {
    inbox
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .recv()
        .ok()
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Hands the block of a read to the threads.
    pub(super) fn check_beside(
        &mut self,
        slot: u32,
        io: &InFlight,
        sought: Option<ExpectedWrite>,
        terms: CheckContext,
    ) {
        self.take_checked(false);
        while self
            .helpers
            .as_ref()
            .is_some_and(|helpers| helpers.is_full())
        {
            self.take_checked(true);
        }
        let (Some(helpers), Some(checker)) = (&mut self.helpers, &self.checker) else {
            return;
        };
        let method = checker.method.clone();
        let mut block = helpers.spare.pop().unwrap_or_default();
        block.clear();
        block.extend_from_slice(&self.engine.buffer(slot)[..io.len as usize]);
        helpers.out += 1;
        // The threads live as long as the worker holds their sender.
        let _ = helpers.tasks.send(Task {
            io: *io,
            sought,
            block,
            method,
            terms,
        });
    }

    /// Waits for all blocks that are with the threads.
    pub(super) fn join_checks(&mut self) {
        while self.helpers.as_ref().is_some_and(|helpers| helpers.out > 0) {
            self.take_checked(true);
        }
    }

    /// Takes what the threads have found; waits for one answer with `wait`.
    fn take_checked(&mut self, wait: bool) {
        let mut wait = wait;
        while let Some(helpers) = &mut self.helpers {
            let answer = if wait {
                helpers.checked.recv().ok()
            } else {
                helpers.checked.try_recv().ok()
            };
            let Some(Checked {
                io,
                sought,
                block,
                found,
            }) = answer
            else {
                // A thread that is gone took its block with it: nobody waits for that one.
                helpers.out = if wait { 0 } else { helpers.out };
                return;
            };
            helpers.out -= 1;
            helpers.spare.push(block);
            wait = false;
            self.found(&io, sought, found);
        }
    }
}
