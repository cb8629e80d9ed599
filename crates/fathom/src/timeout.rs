//! Queries to devices and file systems that may never answer.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest wait for an answer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A query on a thread of its own. One that hangs is abandoned.
pub struct Answer<T>(Receiver<T>, Instant);

/// Starts a query.
pub fn ask<T: Send + 'static>(query: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let (send, answer) = channel();
    std::thread::spawn(move || drop(send.send(query())));
    Answer(answer, Instant::now() + PATIENCE)
}

impl<T> Answer<T> {
    /// The answer; `None` when it did not come in time.
    pub fn answer(self) -> Option<T> {
        self.0
            .recv_timeout(self.1.saturating_duration_since(Instant::now()))
            .ok()
    }
}
