//! Time is handed in.

use fathom_model::Nanos;

/// A clock that starts at the run's epoch and never goes back.
pub trait Clock: Clone + Send {
    /// Time since the epoch.
    fn now(&self) -> Nanos;

    /// Returns at `at` or as soon after as the machine allows; at once when it has passed. Sleeps for the long part and
    /// spins only for the last tens of microseconds.
    fn sleep_until(&self, at: Nanos);
}
