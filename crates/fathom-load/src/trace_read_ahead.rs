//! Reads the trace of a replay ahead of the load loop, in its own thread, by a bounded number of
//! I/Os. In virtual time reading takes no time, so that the load loop itself reads the next chunk.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use fathom_model::TraceEntry;

use crate::clock::Clock;
use crate::errno::EAGAIN;
use crate::host::{Host, HostError, ThreadBody};

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

type Chunk = Result<Vec<TraceEntry>, HostError>;

fn read_chunk(source: &mut dyn TraceSource) -> Chunk {
    let mut chunk = Vec::with_capacity(CHUNK);
    source.fill(&mut chunk, CHUNK).map(|()| chunk)
}

/// Where the chunks come from.
enum Chunks {
    Thread(Receiver<Chunk>),
    Direct(Box<dyn TraceSource>),
}

/// The thread that reads.
struct Reader {
    source: Box<dyn TraceSource>,
    chunks: SyncSender<Chunk>,
}

impl ThreadBody for Reader {
    fn run<H: Host>(mut self, _: &Arc<H>) {
        loop {
            let chunk = read_chunk(&mut *self.source);
            let over = chunk.as_ref().map_or(true, Vec::is_empty);
            if self.chunks.send(chunk).is_err() || over {
                return;
            }
        }
    }
}

/// A trace that is read ahead.
pub(crate) struct TraceReadAhead {
    chunks: Chunks,
    chunk: Vec<TraceEntry>,
    next: usize,
}

impl TraceReadAhead {
    /// Starts to read ahead. The thread ends with this value, at most one chunk later.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start<H: Host>(
        host: &Arc<H>,
        source: Box<dyn TraceSource>,
    ) -> Result<TraceReadAhead, HostError> {
        let chunks = if <H::Clock as Clock>::IS_VIRTUAL {
            Chunks::Direct(source)
        } else {
            let (sender, chunks) = sync_channel(AHEAD);
            let reader = Reader {
                source,
                chunks: sender,
            };
            host.spawn("iolog", reader).map_err(|error| HostError {
                errno: error.raw_os_error().unwrap_or(EAGAIN),
                what: "cannot start the thread that reads the trace ahead".to_owned(),
            })?;
            Chunks::Thread(chunks)
        };
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
        self.chunk = match &mut self.chunks {
            // A thread that has ended has sent its error, or the log is at its end.
            Chunks::Thread(chunks) => chunks.recv().unwrap_or(Ok(Vec::new()))?,
            Chunks::Direct(source) => read_chunk(&mut **source)?,
        };
        self.next = 0;
        Ok(())
    }
}
