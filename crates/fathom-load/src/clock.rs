//! The clock interface.

use fathom_model::Nanos;

/// A clock that starts at the run's epoch and never goes back.
pub trait Clock: Clone + Send {
    /// Time since the epoch.
    fn now(&self) -> Nanos;

    /// Returns at `at` or as soon after as the machine allows, and at once if `at` has passed.
    /// Sleeps for most of the time and spins only for the last tens of microseconds.
    fn sleep_until(&self, at: Nanos);
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
}

impl<C: Clock> Clock for Since<C> {
    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now().saturating_sub(self.zero)
    }

    fn sleep_until(&self, at: Nanos) {
        self.clock.sleep_until(at.saturating_add(self.zero));
    }
}
