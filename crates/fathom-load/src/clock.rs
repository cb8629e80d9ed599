//! The clock interface.

use fathom_model::Nanos;

/// A clock that starts at the run's epoch and never goes back.
pub trait Clock: Clone + Send {
    /// Time since the epoch.
    fn now(&self) -> Nanos;

    /// Returns at `at` or as soon after as the machine allows, and at once if `at` has passed.
    /// Sleeps for most of the time and spins only for the last tens of microseconds.
    fn sleep_until(&self, at: Nanos);

    /// Whether time passes only in [`Clock::sleep_until`] and in the engines: nothing polls, and the
    /// threads of a run take turns.
    const IS_VIRTUAL: bool = false;

    /// The coordinator is about to start a thread that uses this clock. The result is passed to
    /// [`Clock::thread_started`] and [`Clock::thread_ended`].
    fn thread_starts(&self) -> u64 {
        0
    }

    /// The first call of the new thread.
    fn thread_started(&self, _thread: u64) {}

    /// The last call of the new thread, or of the coordinator if it could not be started.
    fn thread_ended(&self, _thread: u64) {}
}

/// Calls [`Clock::thread_ended`] when it is dropped, also by a panic.
pub(crate) struct ThreadOfRun<C: Clock> {
    clock: C,
    thread: u64,
}

impl<C: Clock> ThreadOfRun<C> {
    /// Prepares a thread that is about to be started.
    pub fn starts(clock: C) -> Self {
        let thread = clock.thread_starts();
        ThreadOfRun { clock, thread }
    }

    /// The thread runs now.
    pub fn started(&self) {
        self.clock.thread_started(self.thread);
    }
}

impl<C: Clock> Drop for ThreadOfRun<C> {
    fn drop(&mut self) {
        self.clock.thread_ended(self.thread);
    }
}

/// A clock whose zero is a later moment: the start of the load, after its files are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Since<C> {
    clock: C,
    zero: Nanos,
}

impl<C: Clock> Since<C> {
    /// A clock that starts now.
    pub fn now(clock: C) -> Self {
        let zero = clock.now();
        Since { clock, zero }
    }

    /// Its zero on the clock below.
    pub fn zero(&self) -> Nanos {
        self.zero
    }
}

impl<C: Clock> Clock for Since<C> {
    const IS_VIRTUAL: bool = C::IS_VIRTUAL;

    fn thread_starts(&self) -> u64 {
        self.clock.thread_starts()
    }

    fn thread_started(&self, thread: u64) {
        self.clock.thread_started(thread);
    }

    fn thread_ended(&self, thread: u64) {
        self.clock.thread_ended(thread);
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now().saturating_sub(self.zero)
    }

    fn sleep_until(&self, at: Nanos) {
        self.clock.sleep_until(at.saturating_add(self.zero));
    }
}
