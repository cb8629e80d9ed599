//! The clock interface.

use fathom_model::Nanos;

/// A clock that starts at the run's epoch and never goes back.
pub trait Clock: Clone {
    /// Time since the epoch.
    fn now(&self) -> Nanos;

    /// Returns at `at` or as soon after as the machine allows, and at once if `at` has passed.
    /// Sleeps for most of the time and spins only for the last tens of microseconds.
    fn sleep_until(&self, at: Nanos);

    /// Whether time passes only in [`Clock::sleep_until`], [`Clock::wait_for_others`] and in the engines. The threads of a run
    /// then take turns on one thread of the machine: nothing polls, nothing else may block, and what a real machine does beside
    /// the load is done at once, in no time.
    const IS_VIRTUAL: bool = false;

    /// In virtual time: lets the other threads of the run go on until one of them calls [`Clock::wake_others`], at the latest
    /// until `at`. A real thread waits on a lock instead.
    fn wait_for_others(&self, at: Nanos) {
        self.sleep_until(at);
    }

    /// What a thread in [`Clock::wait_for_others`] waits for may have happened.
    fn wake_others(&self) {}
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

    /// The same clock for another thread: its zero is this time of `clock`.
    pub fn at(clock: C, zero: Nanos) -> Self {
        Since { clock, zero }
    }

    /// Its zero on the clock below.
    pub fn zero(&self) -> Nanos {
        self.zero
    }
}

impl<C: Clock> Clock for Since<C> {
    const IS_VIRTUAL: bool = C::IS_VIRTUAL;

    fn wait_for_others(&self, at: Nanos) {
        self.clock.wait_for_others(at.saturating_add(self.zero));
    }

    fn wake_others(&self) {
        self.clock.wake_others();
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now().saturating_sub(self.zero)
    }

    fn sleep_until(&self, at: Nanos) {
        self.clock.sleep_until(at.saturating_add(self.zero));
    }
}
