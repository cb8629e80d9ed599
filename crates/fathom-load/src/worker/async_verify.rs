//! `verify_async`: threads that check read data, concurrently with the worker that reads.
//!
//! A block is copied out of its slot, so that the slot is free for the next read while the block is
//! checked. At most twice as many blocks as there are threads are being checked: memory is bounded,
//! and a worker that reads faster than the threads check waits for them.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use fathom_model::Verify;

use super::block_check::{BadBlock, CheckContext, Method, check_block};
use super::write_replay::ExpectedWrite;
use crate::host::Host;
use crate::recorder::InFlight;

/// A block to be checked.
struct Task {
    io: InFlight,
    expected: Option<ExpectedWrite>,
    block: Vec<u8>,
    method: Method,
    context: CheckContext,
}

/// The result of a check.
pub(super) struct Checked {
    pub io: InFlight,
    pub expected: Option<ExpectedWrite>,
    pub result: Result<(), BadBlock>,
}

/// The threads of one worker; they end when this is dropped.
pub(super) struct Helpers {
    tasks: SyncSender<Task>,
    checked: Receiver<(Checked, Vec<u8>)>,
    /// Blocks being checked.
    pending: usize,
    max_pending: usize,
    /// Memory of blocks that were checked.
    spare: Vec<Vec<u8>>,
}

impl Helpers {
    /// Starts the threads of `verify`; `None` without any. The second value is a message for the
    /// user.
    pub fn start<'s, H: Host>(
        scope: &'s Scope<'s, '_>,
        host: &'s H,
        verify: Option<&Verify>,
    ) -> (Option<Box<Helpers>>, Vec<String>) {
        let Some(verify) = verify.filter(|verify| verify.threads > 0) else {
            return (None, Vec::new());
        };
        let max_pending = verify.threads as usize * 2;
        let (tasks, inbox) = sync_channel::<Task>(max_pending);
        let (results, checked) = channel();
        let (inbox, mut notes, mut started) = (Arc::new(Mutex::new(inbox)), Vec::new(), 0);
        for _ in 0..verify.threads {
            let (inbox, results, cpus, (bound, bindings)) = (
                Arc::clone(&inbox),
                results.clone(),
                verify.thread_cpus.clone(),
                channel(),
            );
            let body = move || {
                let _ = bound.send(
                    host.bind_cpus(&cpus, None)
                        .err()
                        .map(|error| error.to_string()),
                );
                while let Some(task) = next(&inbox) {
                    let Task {
                        io,
                        expected,
                        block,
                        method,
                        context,
                    } = task;
                    let result = check_block(&method, &context, &block, &io);
                    let checked = Checked {
                        io,
                        expected,
                        result,
                    };
                    if results.send((checked, block)).is_err() {
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
                        bindings
                            .recv()
                            .ok()
                            .flatten()
                            .filter(|note| !notes.contains(note)),
                    );
                }
                Err(error) => notes.push(format!(
                    "only {started} of {} threads of verify_async started: {error}",
                    verify.threads
                )),
            }
        }
        let helpers = (started > 0).then(|| {
            Box::new(Helpers {
                tasks,
                checked,
                pending: 0,
                max_pending,
                spare: Vec::new(),
            })
        });
        (helpers, notes)
    }

    /// Whether another block must wait until one is checked.
    pub fn is_full(&self) -> bool {
        self.pending == self.max_pending
    }

    /// Whether blocks are being checked.
    pub fn has_work(&self) -> bool {
        self.pending > 0
    }

    /// Sends a copy of a block that was read to the threads.
    pub fn send(
        &mut self,
        io: &InFlight,
        expected: Option<ExpectedWrite>,
        context: CheckContext,
        method: Method,
        block: &[u8],
    ) {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(block);
        self.pending += 1;
        // The threads live as long as the worker holds their sender.
        let _ = self.tasks.send(Task {
            io: *io,
            expected,
            block: copy,
            method,
            context,
        });
    }

    /// The next result, if there is one; with `wait` it waits for one.
    pub fn receive(&mut self, wait: bool) -> Option<Checked> {
        let received = if wait {
            self.checked.recv().ok()
        } else {
            self.checked.try_recv().ok()
        };
        let Some((checked, block)) = received else {
            // A thread that ended took its block with it: do not wait for that one.
            self.pending = if wait { 0 } else { self.pending };
            return None;
        };
        self.pending -= 1;
        self.spare.push(block);
        Some(checked)
    }
}

fn next(inbox: &Mutex<Receiver<Task>>) -> Option<Task> {
    inbox
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .recv()
        .ok()
}
