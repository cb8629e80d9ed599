//! The log of a replay on its way into the load loop: read ahead by a thread of its own, a bounded number of I/Os deep.

use std::sync::mpsc::{Receiver, sync_channel};

use fathom_model::TraceEntry;

use crate::host::HostError;

/// I/Os handed over at once, and how many such chunks wait: 64 KiB each.
const CHUNK: usize = 2048;
const AHEAD: usize = 4;

/// Gives the I/Os of a log in its order.
pub trait TraceSource: Send {
    /// Appends up to `want` I/Os; none is the end of the log.
    ///
    /// # Errors
    /// When the log cannot be read on, in words.
    fn fill(&mut self, out: &mut Vec<TraceEntry>, want: usize) -> Result<(), HostError>;
}

/// A log that is read ahead.
pub(crate) struct Feed {
    chunks: Receiver<Result<Vec<TraceEntry>, HostError>>,
    chunk: Vec<TraceEntry>,
    next: usize,
}

impl Feed {
    /// Starts reading ahead. Ends with the feed, at most one chunk later.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(mut source: Box<dyn TraceSource>) -> Result<Feed, HostError> {
        let (sender, chunks) = sync_channel(AHEAD);
        let body = move || {
            loop {
                let mut chunk = Vec::with_capacity(CHUNK);
                let filled = source.fill(&mut chunk, CHUNK).map(|()| chunk);
                let over = filled.as_ref().map_or(true, Vec::is_empty);
                if sender.send(filled).is_err() || over {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("iolog".to_owned())
            .spawn(body);
        thread.map_err(|error| HostError {
            errno: error.raw_os_error().unwrap_or(11),
            what: "no thread to read the log of I/O ahead".to_owned(),
        })?;
        Ok(Feed {
            chunks,
            chunk: Vec::new(),
            next: 0,
        })
    }

    /// The next I/O without taking it; `None` at the end.
    ///
    /// # Errors
    /// When the log could not be read on.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<TraceEntry>, HostError> {
        if self.next == self.chunk.len() {
            self.refill()?;
        }
        Ok(self.chunk.get(self.next).copied())
    }

    /// Takes the I/O that was seen.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    #[cold]
    fn refill(&mut self) -> Result<(), HostError> {
        // A reader that has gone has said why, or is at its end.
        self.chunk = self.chunks.recv().unwrap_or(Ok(Vec::new()))?;
        self.next = 0;
        Ok(())
    }
}
