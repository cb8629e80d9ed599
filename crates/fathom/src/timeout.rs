//! Queries to devices and file systems that may never answer.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest wait for an answer.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// A query on a thread of its own. One that hangs is abandoned.
pub struct Query<T> {
    answer: Receiver<T>,
    deadline: Instant,
}

/// Starts a query.
pub fn start_query<T: Send + 'static>(query: impl FnOnce() -> T + Send + 'static) -> Query<T> {
    let (sender, answer) = channel();
    std::thread::spawn(move || drop(sender.send(query())));
    Query {
        answer,
        deadline: Instant::now() + TIMEOUT,
    }
}

impl<T> Query<T> {
    /// The answer; `None` when it did not come in time.
    pub fn answer(self) -> Option<T> {
        let timeout = self.deadline.saturating_duration_since(Instant::now());
        self.answer.recv_timeout(timeout).ok()
    }
}
