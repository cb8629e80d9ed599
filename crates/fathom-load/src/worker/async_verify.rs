//! `verify_async`: threads that check read data, concurrently with the worker that reads.
//!
//! A block is copied out of its slot, so that the slot is free for the next read while the block is
//! checked. At most twice as many blocks as there are threads are being checked: memory is bounded,
//! and a worker that reads faster than the threads check waits for them. In virtual time checking takes no time, so that the
//! worker checks each block itself.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use fathom_model::Verify;

use super::block_check::{BadBlock, CheckContext, Method, check_block};
use super::write_replay::ExpectedWrite;
use crate::clock::Clock;
use crate::host::{Host, ThreadBody};
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

/// One of the threads.
struct CheckThread {
    cpus: Vec<u32>,
    /// Takes the note that it could not be bound to its CPUs.
    bound: Sender<Option<String>>,
    inbox: Arc<Mutex<Receiver<Task>>>,
    results: Sender<(Checked, Vec<u8>)>,
}

impl ThreadBody for CheckThread {
    fn run<H: Host>(self, host: &Arc<H>) {
        let bound = host.bind_cpus(&self.cpus, None);
        let _ = self.bound.send(bound.err().map(|error| error.to_string()));
        while let Some(task) = next(&self.inbox) {
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
            if self.results.send((checked, block)).is_err() {
                return;
            }
        }
    }
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
    pub fn start<H: Host>(
        host: &Arc<H>,
        verify: Option<&Verify>,
    ) -> (Option<Box<Helpers>>, Vec<String>) {
        let is_virtual = <H::Clock as Clock>::IS_VIRTUAL;
        let Some(verify) = verify.filter(|verify| verify.threads > 0 && !is_virtual) else {
            return (None, Vec::new());
        };
        let max_pending = verify.threads as usize * 2;
        let (tasks, inbox) = sync_channel::<Task>(max_pending);
        let (results, checked) = channel();
        let (inbox, mut notes, mut started) = (Arc::new(Mutex::new(inbox)), Vec::new(), 0);
        for _ in 0..verify.threads {
            let (bound, bindings) = channel();
            let thread = CheckThread {
                cpus: verify.thread_cpus.clone(),
                bound,
                inbox: Arc::clone(&inbox),
                results: results.clone(),
            };
            match host.spawn("verify", thread) {
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

    /// Ends the threads and waits until they have ended.
    pub fn stop(self) {
        drop(self.tasks);
        while self.checked.recv().is_ok() {}
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
