//! Questions to devices and file systems that may never answer.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What does not answer is not waited for longer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A question that was put, on a thread of its own. One that hangs is left behind; nobody waits for it.
pub struct Answer<T>(Receiver<T>, Instant);

/// Puts a question.
pub fn ask<T: Send + 'static>(question: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let (send, answer) = channel();
    std::thread::spawn(move || drop(send.send(question())));
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
