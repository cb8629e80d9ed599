//! Completes requests at exact times of CLOCK_MONOTONIC.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::setpriority_process;
use rustix::thread::{gettid, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};

/// Time before the deadline at which sleeping ends and spinning begins, in nanoseconds.
///
/// A sleeping thread wakes up some tens of microseconds late; spinning hides that.
const SPIN_NS: u64 = 60_000;

/// Nanoseconds of CLOCK_MONOTONIC.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What is done at a time.
type Action = Box<dyn FnOnce() + Send>;

/// The actions that wait, in the order of their times. The second number of the key keeps actions of one time in their order.
#[derive(Default)]
struct Waiting {
    actions: BTreeMap<(u64, u64), Action>,
    added: u64,
    has_ended: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next action, shortly before its time; none when the timer ends and nothing waits.
    fn next(&self) -> Option<(u64, Action)> {
        let mut waiting = self.waiting();
        loop {
            let Some(first) = waiting.actions.first_entry() else {
                if waiting.has_ended {
                    return None;
                }
                let woken = self.changed.wait(waiting);
                waiting = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let due_ns = first.key().0;
            let wait_ns = due_ns.saturating_sub(monotonic_ns() + SPIN_NS);
            if wait_ns == 0 {
                return Some((due_ns, first.remove()));
            }
            let woken = self
                .changed
                .wait_timeout(waiting, Duration::from_nanos(wait_ns));
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A thread that does each action at its time. It ends when the timer is dropped and nothing waits.
pub(crate) struct Timer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    /// # Errors
    /// If no thread can be created.
    pub(crate) fn start() -> io::Result<Timer> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fault-timer".into())
            .spawn(move || {
                raise_timer_precision();
                while let Some((due_ns, action)) = of_thread.next() {
                    while monotonic_ns() < due_ns {
                        std::hint::spin_loop();
                    }
                    action();
                }
            })?;
        Ok(Timer {
            shared,
            thread: Some(thread),
        })
    }

    /// Does `action` at `due_ns` of CLOCK_MONOTONIC; at once, by the caller, if that has passed.
    pub(crate) fn at(&self, due_ns: u64, action: impl FnOnce() + Send + 'static) {
        if due_ns <= monotonic_ns() {
            return action();
        }
        let mut waiting = self.shared.waiting();
        let key = (due_ns, waiting.added);
        waiting.added += 1;
        waiting.actions.insert(key, Box::new(action));
        let is_first = waiting
            .actions
            .first_key_value()
            .is_some_and(|(first, _)| *first == key);
        drop(waiting);
        if is_first {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.waiting().has_ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic in an action has been printed.
            let _ = thread.join();
        }
    }
}

/// Asks the kernel not to group the timers of this thread with others (default slack: 50 us), and to schedule it before the load
/// generators that the device serves.
fn raise_timer_precision() {
    // If refused, waits are a little less exact, which the device's own log will show.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let _ = setpriority_process(Some(gettid()), -20);
}
