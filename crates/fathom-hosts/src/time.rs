//! The time of a controller or an agent, and how its threads wait: in real time, or in that of a simulation.

use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time of a host, and its threads.
pub trait Clock: Debug + Send + Sync {
    /// A clock that is never set: the time since a zero of its own.
    fn now(&self) -> Duration;

    /// The wall clock: the time since 1970.
    fn wall(&self) -> Duration;

    /// Waits until `at`, or until the bell has been rung after somebody counted `heard`.
    fn wait(&self, bell: &Arc<Bell>, heard: u64, at: Duration);

    /// Starts a thread, which may wait.
    ///
    /// # Errors
    /// When the system has none.
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<JoinHandle<()>>;
}

/// What a thread does.
pub type ThreadBody = Box<dyn FnOnce() + Send>;

impl dyn Clock + '_ {
    /// The time since `since`.
    pub(crate) fn elapsed(&self, since: Duration) -> Duration {
        self.now().saturating_sub(since)
    }

    /// [`Clock::now`] in nanoseconds.
    pub(crate) fn now_ns(&self) -> u64 {
        self.now().as_nanos() as u64
    }

    /// [`Clock::wall`] in nanoseconds.
    pub(crate) fn wall_ns(&self) -> u64 {
        self.wall().as_nanos() as u64
    }

    /// Waits until `at`.
    pub fn sleep_until(&self, at: Duration) {
        self.wait(&Arc::default(), 0, at);
    }
}

/// Counts how often something happened for which threads wait.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Mutex<u64>,
    changed: Condvar,
}

impl Bell {
    /// It has happened: whoever waits goes on.
    pub fn ring(&self) {
        *lock(&self.rung) += 1;
        self.changed.notify_all();
    }

    /// How often it has happened. To be counted before a thread looks for what it waits for, so that it misses nothing.
    #[must_use]
    pub fn count(&self) -> u64 {
        *lock(&self.rung)
    }
}

/// The clocks of the system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        static ZERO: OnceLock<Instant> = OnceLock::new();
        ZERO.get_or_init(Instant::now).elapsed()
    }

    fn wall(&self) -> Duration {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
    }

    fn wait(&self, bell: &Arc<Bell>, heard: u64, at: Duration) {
        let left = at.saturating_sub(self.now());
        let is_silent = |rung: &mut u64| *rung == heard;
        let waited = bell
            .changed
            .wait_timeout_while(lock(&bell.rung), left, is_silent);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<JoinHandle<()>> {
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)
    }
}

/// The clock of this machine.
#[must_use]
pub fn system_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
