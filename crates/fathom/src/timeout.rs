//! Queries to devices and file systems that may never answer.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest wait for an answer.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest wait for the samples that the code of a target covers, once the target has answered.
pub const SAMPLING_TIMEOUT: Duration = Duration::from_secs(30);

/// A query on a thread of its own. One that hangs is abandoned.
pub struct Query<T> {
    answer: Receiver<T>,
    deadline: Instant,
}

/// Starts a query. Without another thread it is done at once, however long it takes.
pub fn start_query<T: Send + 'static>(query: impl FnOnce() -> T + Send + 'static) -> Query<T> {
    start_query_for(TIMEOUT, query)
}

/// Starts a query that may take this long.
pub fn start_query_for<T: Send + 'static>(
    timeout: Duration,
    query: impl FnOnce() -> T + Send + 'static,
) -> Query<T> {
    let (sender, answer) = channel();
    let query = Arc::new(Mutex::new(Some(query)));
    let run = {
        let query = Arc::clone(&query);
        move || {
            let query = query.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(query) = query {
                drop(sender.send(query()));
            }
        }
    };
    if std::thread::Builder::new().spawn(run.clone()).is_err() {
        run();
    }
    Query {
        answer,
        deadline: Instant::now() + timeout,
    }
}

impl<T> Query<T> {
    /// The answer; `None` when it did not come in time.
    pub fn answer(self) -> Option<T> {
        let timeout = self.deadline.saturating_duration_since(Instant::now());
        self.answer.recv_timeout(timeout).ok()
    }
}
