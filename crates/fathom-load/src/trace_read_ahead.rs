//! Reads the trace of a replay ahead of the load loop, in its own thread, by a bounded number of
//! I/Os.

use std::sync::mpsc::{Receiver, sync_channel};

use fathom_model::TraceEntry;

use crate::host::HostError;

/// I/Os sent in one chunk, and the number of chunks that may wait: 80 KiB each.
const CHUNK: usize = 2048;
const AHEAD: usize = 4;

/// Returns the I/Os of a log in order.
pub trait TraceSource: Send {
    /// Appends up to `want` I/Os; none at the end of the log.
    ///
    /// # Errors
    /// If the log cannot be read further.
    fn fill(&mut self, out: &mut Vec<TraceEntry>, want: usize) -> Result<(), HostError>;
}

/// A trace that is read ahead.
pub(crate) struct TraceReadAhead {
    chunks: Receiver<Result<Vec<TraceEntry>, HostError>>,
    chunk: Vec<TraceEntry>,
    next: usize,
}

impl TraceReadAhead {
    /// Starts to read ahead. The thread ends with this value, at most one chunk later.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(mut source: Box<dyn TraceSource>) -> Result<TraceReadAhead, HostError> {
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
            what: "cannot start the thread that reads the trace ahead".to_owned(),
        })?;
        Ok(TraceReadAhead {
            chunks,
            chunk: Vec::new(),
            next: 0,
        })
    }

    /// The next I/O, without consuming it; `None` at the end.
    ///
    /// # Errors
    /// If the log could not be read further.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<TraceEntry>, HostError> {
        if self.next == self.chunk.len() {
            self.refill()?;
        }
        Ok(self.chunk.get(self.next).copied())
    }

    /// Consumes the next I/O.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
    }

    #[cold]
    fn refill(&mut self) -> Result<(), HostError> {
        // A thread that has ended has sent its error, or the log is at its end.
        self.chunk = self.chunks.recv().unwrap_or(Ok(Vec::new()))?;
        self.next = 0;
        Ok(())
    }
}
