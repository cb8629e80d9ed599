//! Where the intervals of long runs go: a scratch file of the host, written by a thread of its own so that no load loop
//! ever waits for that disk, and read back when the run is over.

mod merge;

use std::io::{self, SeekFrom};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};

use fathom_model::{Interval, Nanos};

pub(crate) use self::merge::merge_neighbours;
use crate::host::Scratch;

/// Chunks that may wait for the disk, for each job or in all. Past that the workers keep their intervals until there is room.
const WAITING: usize = 64;
const WAITING_EACH: usize = 2;

/// Chunks of one job that follow each other are one piece up to this many bytes, which is read back at once.
const LONGEST_PIECE: u32 = 1 << 20;

/// Hears of intervals as they come: all that is new, by job. The part of an interval so far may come before the whole of
/// it, with the same start. Called by the archive's thread, never by a worker.
pub type KeepIntervals = Box<dyn FnMut(&[(usize, Vec<Interval>)]) + Send>;

/// Intervals passed on at once: some 10 to 100 KiB.
const AT_ONCE: usize = 64;
/// Where somebody keeps them, nothing older than this is with a worker alone, but for what lies before an I/O that a
/// synchronous engine waits for. It is as long as the longest interval: what a killed process loses is half of the second
/// that is promised, and the other half is for a busy machine.
const KEPT_AFTER: u64 = 500_000_000;

/// Makes the scratch file, at the first need.
pub(crate) type MakeScratch = Box<dyn FnOnce() -> io::Result<Box<dyn Scratch>> + Send>;

enum Message {
    Intervals(usize, Vec<Interval>),
    /// What an interval holds so far: for who keeps them, and for nobody else.
    SoFar(usize, Interval),
    Return(Sender<Shelves>),
}

/// The archive of a run.
pub(crate) struct Archive {
    sender: SyncSender<Message>,
    at_once: usize,
    kept: bool,
}

/// The place of one job in it.
#[derive(Clone)]
pub(crate) struct JobArchive {
    job: usize,
    sender: SyncSender<Message>,
    /// So many intervals are passed on together.
    pub at_once: usize,
    /// Somebody keeps them while the run lasts.
    kept: bool,
}

impl JobArchive {
    /// Nothing older than this is to be with the worker alone, in nanoseconds; nothing where nobody keeps it.
    pub fn kept_after(&self) -> Option<u64> {
        self.kept.then_some(KEPT_AFTER)
    }

    /// Tells who keeps intervals what the one being filled holds so far, when there is room. Never waits.
    pub fn show(&self, so_far: Interval) {
        // There will be more of it later, or the whole.
        let _ = self.sender.try_send(Message::SoFar(self.job, so_far));
    }

    /// Takes all of `intervals`, in order, or none when the archive has no room now. Never waits.
    pub fn take(&self, intervals: &mut Vec<Interval>) -> bool {
        let chunk = std::mem::replace(intervals, Vec::with_capacity(intervals.len()));
        match self.sender.try_send(Message::Intervals(self.job, chunk)) {
            Ok(()) => true,
            Err(
                TrySendError::Full(Message::Intervals(_, chunk))
                | TrySendError::Disconnected(Message::Intervals(_, chunk)),
            ) => {
                *intervals = chunk;
                false
            }
            Err(_) => false,
        }
    }
}

impl Archive {
    /// An archive of `jobs` jobs, each of which gets back at most `most` intervals of at first `step` nanoseconds; `None`
    /// when no thread can be had.
    pub fn open(
        jobs: usize,
        most: usize,
        step: u64,
        make: MakeScratch,
        keep: Option<KeepIntervals>,
    ) -> Option<Archive> {
        // All jobs end their intervals at the same moments.
        let (sender, inbox) = sync_channel(WAITING.max(jobs * WAITING_EACH));
        let kept = keep.is_some();
        let in_time = (KEPT_AFTER / step.max(1)).clamp(1, AT_ONCE as u64) as usize;
        let at_once = if kept { in_time } else { AT_ONCE };
        let shelves = Shelves {
            keep,
            file: File::New(make),
            end: 0,
            pieces: vec![Vec::new(); jobs],
            kept: Vec::new(),
            most,
            step,
            trouble: None,
        };
        let thread = std::thread::Builder::new()
            .name("intervals".into())
            .stack_size(256 << 10);
        thread.spawn(move || shelves.work(&inbox)).ok()?;
        Some(Archive {
            sender,
            at_once,
            kept,
        })
    }

    pub fn shelf(&self, job: usize) -> JobArchive {
        JobArchive {
            job,
            sender: self.sender.clone(),
            at_once: self.at_once,
            kept: self.kept,
        }
    }

    /// Everything that was taken.
    pub fn close(self) -> Option<Shelves> {
        let (reply, answer) = channel();
        self.sender.send(Message::Return(reply)).ok()?;
        answer.recv().ok()
    }
}

/// The scratch file's life.
enum File {
    New(MakeScratch),
    Open(Box<dyn Scratch>),
    /// It could not be made.
    None,
}

/// What an archive holds.
pub(crate) struct Shelves {
    keep: Option<KeepIntervals>,
    file: File,
    end: u64,
    /// Place and length of each job's pieces of the file: 16 bytes for each, which is 64 intervals or, of a job alone, 1 MiB.
    pieces: Vec<Vec<(u64, u32)>>,
    /// What the file would not take, by job; bounded, since neighbours are merged.
    kept: Vec<(usize, Merged)>,
    most: usize,
    step: u64,
    trouble: Option<String>,
}

impl Shelves {
    fn work(mut self, inbox: &Receiver<Message>) {
        while let Ok(first) = inbox.recv() {
            // What came meanwhile is kept together with it.
            let mut news = Vec::new();
            let (mut whole, mut end) = (Vec::new(), None);
            for message in std::iter::once(first).chain(inbox.try_iter().take(WAITING)) {
                let (job, intervals, is_whole) = match message {
                    Message::Intervals(job, intervals) => (job, intervals, true),
                    Message::SoFar(job, so_far) => (job, vec![so_far], false),
                    Message::Return(reply) => {
                        end = Some(reply);
                        break;
                    }
                };
                news.push((job, intervals));
                whole.push(is_whole);
            }
            if let Some(keep) = self.keep.as_mut().filter(|_| !news.is_empty()) {
                keep(&news);
            }
            news.into_iter()
                .zip(whole)
                .filter(|(_, whole)| *whole)
                .for_each(|((job, intervals), _)| self.put(job, intervals));
            if let Some(reply) = end {
                // Nobody may wait for it any more.
                let _ = reply.send(self);
                return;
            }
        }
    }

    fn put(&mut self, job: usize, intervals: Vec<Interval>) {
        let mut bytes = Vec::new();
        intervals
            .iter()
            .for_each(|interval| interval.put(&mut bytes));
        match self.trouble.is_none().then(|| self.append(&bytes)) {
            Some(Ok(())) => self.note(job, bytes.len() as u32),
            Some(Err(error)) => {
                self.trouble = Some(error.to_string());
                self.keep(job, intervals);
            }
            None => self.keep(job, intervals),
        }
    }

    /// `length` bytes of `job` were added at the end of the file.
    fn note(&mut self, job: usize, length: u32) {
        match self.pieces[job].last_mut() {
            Some((start, before))
                if *start + u64::from(*before) == self.end && *before + length <= LONGEST_PIECE =>
            {
                *before += length
            }
            _ => self.pieces[job].push((self.end, length)),
        }
        self.end += u64::from(length);
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let File::New(_) = self.file
            && let File::New(make) = std::mem::replace(&mut self.file, File::None)
        {
            self.file = File::Open(make()?);
        }
        let File::Open(file) = &mut self.file else {
            return Ok(());
        };
        // What a failed write left behind it is written over or never looked at.
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)
    }

    fn keep(&mut self, job: usize, intervals: Vec<Interval>) {
        let at = self
            .kept
            .iter()
            .position(|(of, _)| *of == job)
            .unwrap_or_else(|| {
                self.kept.push((job, Merged::new(self.most, self.step)));
                self.kept.len() - 1
            });
        intervals
            .into_iter()
            .for_each(|interval| self.kept[at].1.push(interval));
    }

    /// Puts what was taken from a job since `from`, when its measuring began, before `rest`, which is what it kept itself.
    pub fn give_back(&mut self, job: usize, from: Nanos, rest: &mut Vec<Interval>) {
        if self.pieces[job].is_empty() && self.kept.iter().all(|(of, _)| *of != job) {
            return;
        }
        let mut all = Merged {
            from,
            ..Merged::new(self.most, self.step)
        };
        for (start, length) in std::mem::take(&mut self.pieces[job]) {
            if let Err(error) = self.read(start, length, &mut all) {
                self.trouble
                    .get_or_insert(format!("a part could not be read back: {error}"));
            }
        }
        if let Some(at) = self.kept.iter().position(|(of, _)| *of == job) {
            self.kept
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
            into.push(Interval::pull(&mut left).ok_or(io::ErrorKind::InvalidData)?);
        }
        Ok(())
    }

    /// What went wrong, for the reader of the result.
    pub fn trouble(&self) -> Option<String> {
        let why = self.trouble.as_ref()?;
        Some(format!(
            "the scratch file for interval records failed ({why}): later ones were kept in memory, where a long run has fewer \
             and longer ones; free space there, or set TMPDIR to another folder"
        ))
    }
}

/// Intervals of which neighbours are merged when they become too many.
struct Merged {
    intervals: Vec<Interval>,
    most: usize,
    step: u64,
    /// Those before are dropped.
    from: Nanos,
}

impl Merged {
    fn new(most: usize, step: u64) -> Self {
        Merged {
            intervals: Vec::new(),
            most: most.max(2),
            step,
            from: Nanos::ZERO,
        }
    }

    fn push(&mut self, interval: Interval) {
        if interval.start < self.from {
            return;
        }
        self.intervals.push(interval);
        while self.intervals.len() >= self.most {
            // The newest are as short as they came.
            merge_neighbours(&mut self.intervals, self.step);
            if self.intervals.len() > self.most / 2 {
                self.step *= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests;
