//! A log of every I/O of a job with its times, for a reader that runs beside the load.
//!
//! The load loop fills buffers that were allocated before it, and never waits: when the reader does not return buffers in
//! time, I/Os are counted and not logged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

use fathom_model::{Direction, Nanos, PerDirection};

/// I/Os in one chunk.
const CHUNK: usize = 1024;
/// The fewest buffers of one job.
const FEWEST_BUFFERS: usize = 6;
/// Buffers of all jobs together, 64 KiB each: at 200,000 I/Os per second the reader may pause for a second.
const BUFFERS: usize = 192;
/// A chunk is sent when its first I/O is this old, so that the reader follows slow loads too.
const LONGEST_DELAY: u64 = 100_000_000;

/// One I/O that completed in full. Times count from the start of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedIo {
    /// Read, write or trim.
    pub direction: Direction,
    /// Index into the job's files.
    pub file: u32,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// When it was due; in a closed loop, when its submission began.
    pub due: Nanos,
    /// When its submission began.
    pub submitted: Nanos,
    /// When its completion was seen.
    pub reaped: Nanos,
}

/// I/Os of one job, in the order of their completion.
#[derive(Debug)]
pub struct IoChunk {
    /// Index into [`fathom_model::Plan::jobs`].
    pub job: u32,
    /// The I/Os.
    pub ios: Vec<LoggedIo>,
    /// I/Os before these that were not logged.
    pub not_logged: PerDirection<u64>,
    spare: Sender<Vec<LoggedIo>>,
}

impl IoChunk {
    /// Gives the buffer back to the job.
    pub fn recycle(mut self) {
        self.ios.clear();
        // A job that has ended needs no buffers.
        let _ = self.spare.send(std::mem::take(&mut self.ios));
    }
}

/// Where the jobs of a run send their I/Os.
#[derive(Clone, Debug)]
pub struct IoLogSink {
    chunks: SyncSender<IoChunk>,
    /// Buffers of each job.
    buffers: usize,
    start: Arc<AtomicU64>,
    every_job: bool,
}

impl IoLogSink {
    /// A sink that sends to `chunks`, whose receiver must be read while the load runs, for so many jobs.
    #[must_use]
    pub fn new(chunks: SyncSender<IoChunk>, jobs: usize) -> Self {
        IoLogSink {
            chunks,
            buffers: (BUFFERS / jobs.max(1)).max(FEWEST_BUFFERS),
            start: Arc::new(AtomicU64::new(u64::MAX)),
            every_job: false,
        }
    }

    /// Takes the I/Os of all jobs, not only of those with a blame sheet.
    #[must_use]
    pub fn of_every_job(self) -> Self {
        IoLogSink {
            every_job: true,
            ..self
        }
    }

    pub(crate) fn takes(&self, has_blame: bool) -> bool {
        self.every_job || has_blame
    }

    /// The start of the load on the host's clock; `None` before it.
    #[must_use]
    pub fn start(&self) -> Option<Nanos> {
        let start = self.start.load(Relaxed);
        (start != u64::MAX).then_some(Nanos::new(start))
    }

    pub(crate) fn set_start(&self, start: Nanos) {
        self.start.store(start.get(), Relaxed);
    }
}

/// The log of one job.
#[derive(Debug)]
pub(crate) struct IoLog {
    job: u32,
    chunks: SyncSender<IoChunk>,
    spare: Sender<Vec<LoggedIo>>,
    returned: Receiver<Vec<LoggedIo>>,
    buffer: Vec<LoggedIo>,
    not_logged: PerDirection<u64>,
    /// When the buffer must be sent.
    send_at: u64,
}

impl IoLog {
    pub fn new(job: u32, sink: &IoLogSink) -> IoLog {
        let (spare, returned) = channel();
        for _ in 1..sink.buffers {
            let _ = spare.send(Vec::with_capacity(CHUNK));
        }
        IoLog {
            job,
            chunks: sink.chunks.clone(),
            spare,
            returned,
            buffer: Vec::with_capacity(CHUNK),
            not_logged: PerDirection::default(),
            send_at: 0,
        }
    }

    pub fn io(&mut self, io: LoggedIo) {
        if self.buffer.len() == CHUNK {
            self.send();
        }
        if self.buffer.len() == CHUNK {
            self.not_logged[io.direction] += 1;
            return;
        }
        let reaped = io.reaped.get();
        if self.buffer.is_empty() {
            self.send_at = reaped.saturating_add(LONGEST_DELAY);
        }
        self.buffer.push(io);
        if self.buffer.len() == CHUNK || reaped >= self.send_at {
            self.send();
        }
    }

    /// Sends the buffer if there is a spare one and room for the chunk.
    fn send(&mut self) {
        let Ok(empty) = self.returned.try_recv() else {
            return;
        };
        let chunk = IoChunk {
            job: self.job,
            ios: std::mem::replace(&mut self.buffer, empty),
            not_logged: std::mem::take(&mut self.not_logged),
            spare: self.spare.clone(),
        };
        if let Err(rejected) = self.chunks.try_send(chunk) {
            let (std::sync::mpsc::TrySendError::Full(chunk)
            | std::sync::mpsc::TrySendError::Disconnected(chunk)) = rejected;
            let empty = std::mem::replace(&mut self.buffer, chunk.ios);
            let _ = self.spare.send(empty);
            self.not_logged = chunk.not_logged;
        }
    }

    /// Sends the rest. The load has ended, so this may wait.
    pub fn finish(self) {
        let _ = self.chunks.send(IoChunk {
            job: self.job,
            ios: self.buffer,
            not_logged: self.not_logged,
            spare: self.spare,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn io(number: u64) -> LoggedIo {
        LoggedIo {
            direction: Direction::Write,
            file: 0,
            offset: number * 4096,
            len: 4096,
            due: Nanos::new(number),
            submitted: Nanos::new(number),
            reaped: Nanos::new(number + 1),
        }
    }

    #[test]
    fn every_io_is_logged_once_or_counted() {
        let (sender, chunks) = sync_channel(2);
        let mut log = IoLog::new(3, &IoLogSink::new(sender, 1));
        // The reader takes nothing: two chunks are in the channel, one in the buffer.
        let sent = 5_000;
        for number in 0..sent {
            log.io(io(number));
        }
        let reader = std::thread::spawn(move || {
            let (mut logged, mut missing, mut offsets) = (0, 0, Vec::new());
            for chunk in chunks {
                assert_eq!(chunk.job, 3);
                logged += chunk.ios.len() as u64;
                missing += chunk.not_logged[Direction::Write];
                offsets.extend(chunk.ios.iter().map(|io| io.offset));
                chunk.recycle();
            }
            (logged, missing, offsets)
        });
        log.finish();
        let (logged, missing, offsets) = reader.join().expect("no panic");
        assert_eq!((logged, missing), (3 * 1024, sent - 3 * 1024));
        assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_slow_load_is_sent_in_time() {
        let (sender, chunks) = sync_channel(8);
        let mut log = IoLog::new(0, &IoLogSink::new(sender, 1));
        log.io(io(0));
        assert!(chunks.try_recv().is_err());
        log.io(io(200_000_000));
        assert_eq!(chunks.try_recv().expect("it is due").ios.len(), 2);
    }
}
