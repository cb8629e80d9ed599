//! Storage for the intervals of long runs: a scratch file of the host. A separate thread writes it,
//! so that no load loop waits for that disk, and it is read back when the run is over. In virtual time
//! writing takes no time, so that the worker does it itself.

mod merge;

use std::io::{self, SeekFrom};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use fathom_model::{Interval, Nanos};

pub(crate) use self::merge::merge_neighbours;
use crate::clock::Clock;
use crate::host::{Host, Scratch, ThreadBody};

/// Chunks that may wait for the disk, for each job or in total. When the queue is full, the workers
/// keep their intervals until there is room.
const QUEUE_LEN: usize = 64;
const QUEUE_LEN_PER_JOB: usize = 2;

/// Consecutive chunks of one job are joined into one extent of up to this many bytes, which is read
/// back in one read.
const MAX_EXTENT: u32 = 1 << 20;

/// Receives intervals as they complete: everything new, by job. A partial interval may arrive
/// before the complete one, with the same start. The archive's thread calls it, never a worker.
pub type IntervalSink = Box<dyn FnMut(&[(usize, Vec<Interval>)]) + Send>;

/// Intervals sent in one batch: some 10 to 100 KiB.
const BATCH: usize = 64;
/// With a sink, a worker alone holds nothing older than this, except for what precedes an I/O that
/// a synchronous engine waits for. It equals the longest interval. A killed process may lose one
/// second: half of it is this delay, the other half is for a busy machine.
const MAX_UNSAVED_NS: u64 = 500_000_000;

enum Message {
    Intervals(usize, Vec<Interval>),
    /// The current content of an unfinished interval: for the sink only.
    Partial(usize, Interval),
    Return(Sender<ArchiveContents>),
}

/// How intervals reach the archive.
#[derive(Clone)]
enum Way {
    /// To its thread.
    Thread(SyncSender<Message>),
    /// At once; `None` after the archive was closed.
    Direct(Arc<Mutex<Option<ArchiveContents>>>),
}

impl Way {
    /// Sends a message. Returns it if there is no room.
    fn try_send(&self, message: Message) -> Option<Message> {
        match self {
            Way::Thread(sender) => match sender.try_send(message) {
                Ok(()) => None,
                Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) => {
                    Some(message)
                }
            },
            Way::Direct(contents) => {
                let mut contents = contents.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(contents) = &mut *contents {
                    contents.accept(vec![message]);
                }
                None
            }
        }
    }
}

/// The thread of an archive.
struct ArchiveThread {
    contents: ArchiveContents,
    inbox: Receiver<Message>,
}

impl ThreadBody for ArchiveThread {
    fn run<H: Host>(self, host: &Arc<H>) {
        self.contents.work(&self.inbox, &|| host.scratch());
    }
}

/// The archive of a run.
pub(crate) struct Archive {
    way: Way,
    batch: usize,
    has_sink: bool,
}

/// One job's handle to the archive.
#[derive(Clone)]
pub(crate) struct JobArchive {
    job: usize,
    way: Way,
    /// Number of intervals sent in one batch.
    pub batch: usize,
    /// The archive has a sink that receives intervals during the run.
    has_sink: bool,
}

impl JobArchive {
    /// Maximum age of intervals that only the worker holds, in nanoseconds; `None` without a sink.
    pub fn max_unsaved_ns(&self) -> Option<u64> {
        self.has_sink.then_some(MAX_UNSAVED_NS)
    }

    /// Sends the current content of the unfinished interval to the sink if the queue has room.
    /// Never waits.
    pub fn send_partial(&self, partial: Interval) {
        // A later partial or the complete interval replaces it.
        let _ = self.way.try_send(Message::Partial(self.job, partial));
    }

    /// Takes all of `intervals`, in order, or none if the queue is full. Never waits.
    pub fn take(&self, intervals: &mut Vec<Interval>) -> bool {
        let chunk = std::mem::replace(intervals, Vec::with_capacity(intervals.len()));
        let rejected = self.way.try_send(Message::Intervals(self.job, chunk));
        if let Some(Message::Intervals(_, chunk)) = rejected {
            *intervals = chunk;
            return false;
        }
        true
    }
}

impl Archive {
    /// An archive for `jobs` jobs. Each job gets back at most `max` intervals, initially of `step`
    /// nanoseconds. `None` if the thread cannot be started.
    pub fn open<H: Host>(
        host: &Arc<H>,
        jobs: usize,
        max: usize,
        step: u64,
        sink: Option<IntervalSink>,
    ) -> Option<Archive> {
        let has_sink = sink.is_some();
        let in_time = (MAX_UNSAVED_NS / step.max(1)).clamp(1, BATCH as u64) as usize;
        let batch = if has_sink { in_time } else { BATCH };
        let mut contents = ArchiveContents {
            sink,
            file: File::New,
            end: 0,
            extents: vec![Vec::new(); jobs],
            in_memory: Vec::new(),
            max,
            step,
            failure: None,
        };
        let way = if <H::Clock as Clock>::IS_VIRTUAL {
            contents.file = host.scratch().map_or(File::None, File::Open);
            Way::Direct(Arc::new(Mutex::new(Some(contents))))
        } else {
            // All jobs end their intervals at the same moments.
            let (sender, inbox) = sync_channel(QUEUE_LEN.max(jobs * QUEUE_LEN_PER_JOB));
            host.spawn("intervals", ArchiveThread { contents, inbox })
                .ok()?;
            Way::Thread(sender)
        };
        Some(Archive {
            way,
            batch,
            has_sink,
        })
    }

    pub fn for_job(&self, job: usize) -> JobArchive {
        JobArchive {
            job,
            way: self.way.clone(),
            batch: self.batch,
            has_sink: self.has_sink,
        }
    }

    /// Everything that the archive received.
    pub fn close(self) -> Option<ArchiveContents> {
        match self.way {
            Way::Thread(sender) => {
                let (reply, answer) = channel();
                sender.send(Message::Return(reply)).ok()?;
                answer.recv().ok()
            }
            Way::Direct(contents) => contents
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        }
    }
}

/// The state of the scratch file.
enum File {
    /// It is created when it is first needed.
    New,
    Open(Box<dyn Scratch>),
    /// It could not be created.
    None,
}

/// The contents of an archive.
pub(crate) struct ArchiveContents {
    sink: Option<IntervalSink>,
    file: File,
    end: u64,
    /// Offset and length of each job's extents in the file: 16 bytes for every 64 intervals or, for
    /// a single job, for every 1 MiB.
    extents: Vec<Vec<(u64, u32)>>,
    /// Intervals that could not be written to the file, by job; bounded, because neighbours are
    /// merged.
    in_memory: Vec<(usize, Merged)>,
    max: usize,
    step: u64,
    failure: Option<String>,
}

impl ArchiveContents {
    /// Takes messages until the contents are wanted back. `make` creates the scratch file.
    fn work(mut self, inbox: &Receiver<Message>, make: &dyn Fn() -> io::Result<Box<dyn Scratch>>) {
        while let Ok(first) = inbox.recv() {
            // Messages that arrived in the meantime are saved in the same call.
            let messages = std::iter::once(first).chain(inbox.try_iter().take(QUEUE_LEN));
            let messages: Vec<Message> = messages.collect();
            let is_kept = |message: &Message| matches!(message, Message::Intervals(..));
            if matches!(self.file, File::New) && messages.iter().any(is_kept) {
                match make() {
                    Ok(file) => self.file = File::Open(file),
                    Err(error) => {
                        self.file = File::None;
                        self.failure = Some(error.to_string());
                    }
                }
            }
            if let Some(reply) = self.accept(messages) {
                // The receiver may be gone.
                let _ = reply.send(self);
                return;
            }
        }
    }

    /// Gives the intervals to the sink and keeps the complete ones. Returns where the contents are wanted.
    fn accept(&mut self, messages: Vec<Message>) -> Option<Sender<ArchiveContents>> {
        let mut new = Vec::new();
        let (mut whole, mut end) = (Vec::new(), None);
        for message in messages {
            let (job, intervals, is_whole) = match message {
                Message::Intervals(job, intervals) => (job, intervals, true),
                Message::Partial(job, partial) => (job, vec![partial], false),
                Message::Return(reply) => {
                    end = Some(reply);
                    break;
                }
            };
            new.push((job, intervals));
            whole.push(is_whole);
        }
        if let Some(sink) = self.sink.as_mut().filter(|_| !new.is_empty()) {
            sink(&new);
        }
        new.into_iter()
            .zip(whole)
            .filter(|(_, whole)| *whole)
            .for_each(|((job, intervals), _)| self.store(job, intervals));
        end
    }

    fn store(&mut self, job: usize, intervals: Vec<Interval>) {
        let mut bytes = Vec::new();
        intervals
            .iter()
            .for_each(|interval| interval.encode(&mut bytes));
        let can_append = self.failure.is_none() && matches!(self.file, File::Open(_));
        match can_append.then(|| self.append(&bytes)) {
            Some(Ok(())) => self.add_extent(job, bytes.len() as u32),
            Some(Err(error)) => {
                self.failure = Some(error.to_string());
                self.keep_in_memory(job, intervals);
            }
            None => self.keep_in_memory(job, intervals),
        }
    }

    /// `length` bytes of `job` were appended to the file.
    fn add_extent(&mut self, job: usize, length: u32) {
        match self.extents[job].last_mut() {
            Some((start, before))
                if *start + u64::from(*before) == self.end && *before + length <= MAX_EXTENT =>
            {
                *before += length;
            }
            _ => self.extents[job].push((self.end, length)),
        }
        self.end += u64::from(length);
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let File::Open(file) = &mut self.file else {
            return Ok(());
        };
        // Whatever a failed write left behind is overwritten or never read.
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)
    }

    fn keep_in_memory(&mut self, job: usize, intervals: Vec<Interval>) {
        let at = self
            .in_memory
            .iter()
            .position(|(of, _)| *of == job)
            .unwrap_or_else(|| {
                self.in_memory.push((job, Merged::new(self.max, self.step)));
                self.in_memory.len() - 1
            });
        intervals
            .into_iter()
            .for_each(|interval| self.in_memory[at].1.push(interval));
    }

    /// Inserts what was received from a job since `from`, the start of its measurement, before
    /// `rest`, the intervals that the job still holds.
    pub fn read_back(&mut self, job: usize, from: Nanos, rest: &mut Vec<Interval>) {
        if self.extents[job].is_empty() && self.in_memory.iter().all(|(of, _)| *of != job) {
            return;
        }
        let mut all = Merged {
            from,
            ..Merged::new(self.max, self.step)
        };
        for (start, length) in std::mem::take(&mut self.extents[job]) {
            if let Err(error) = self.read(start, length, &mut all) {
                self.failure
                    .get_or_insert(format!("part of it could not be read back: {error}"));
            }
        }
        if let Some(at) = self.in_memory.iter().position(|(of, _)| *of == job) {
            self.in_memory
                .swap_remove(at)
                .1
                .intervals
                .into_iter()
                .for_each(|interval| all.push(interval));
        }
        rest.drain(..).for_each(|interval| all.push(interval));
        *rest = all.intervals;
    }

    fn read(&mut self, start: u64, length: u32, into: &mut Merged) -> io::Result<()> {
        let File::Open(file) = &mut self.file else {
            return Ok(());
        };
        let mut bytes = vec![0; length as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        let mut left = &bytes[..];
        while !left.is_empty() {
            into.push(Interval::decode(&mut left).ok_or(io::ErrorKind::InvalidData)?);
        }
        Ok(())
    }

    /// The failure, for the reader of the result.
    pub fn failure(&self) -> Option<String> {
        let why = self.failure.as_ref()?;
        Some(format!(
            "the scratch file for interval records failed ({why}): later intervals were kept in memory, where a long run has fewer \
              and longer ones; free space there, or set TMPDIR to another directory"
        ))
    }
}

/// Intervals; neighbours are merged when there are too many.
struct Merged {
    intervals: Vec<Interval>,
    max: usize,
    step: u64,
    /// Intervals before this time are dropped.
    from: Nanos,
}

impl Merged {
    fn new(max: usize, step: u64) -> Self {
        Merged {
            intervals: Vec::new(),
            max: max.max(2),
            step,
            from: Nanos::ZERO,
        }
    }

    fn push(&mut self, interval: Interval) {
        if interval.start < self.from {
            return;
        }
        self.intervals.push(interval);
        while self.intervals.len() >= self.max {
            // The newest intervals keep their length.
            merge_neighbours(&mut self.intervals, self.step);
            if self.intervals.len() > self.max / 2 {
                self.step *= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests;
