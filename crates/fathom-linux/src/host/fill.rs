//! Writes incompressible data to the parts of a file that hold none, with several threads,
//! bypassing the page cache if possible.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use fathom_load::fill_incompressible;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::cache::{DirectIo, direct_io};
use super::kernel;
use super::target::Target;

/// Size of one write in bytes.
const CHUNK: u64 = 1 << 20;
/// Limit of the threads, and the bytes that justify one more.
const THREADS: u64 = 4;
const WORTH_A_THREAD: u64 = 16 << 20;
/// Longest time between two progress reports to the caller.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Fills one file.
pub(super) struct Filler<'a> {
    buffered: OwnedFd,
    direct: Option<OwnedFd>,
    /// Direct I/O is known to bypass the page cache here.
    trusted: bool,
    align: u64,
    seed: u64,
    stop: &'a AtomicBool,
    /// Direct I/O turned out to be refused.
    refused: AtomicBool,
    /// Some data went through the page cache.
    cached: AtomicBool,
}

impl<'a> Filler<'a> {
    /// Opens `target` for filling.
    pub(super) fn open(target: &Target, seed: u64, stop: &'a AtomicBool) -> io::Result<Self> {
        let page = rustix::param::page_size() as u64;
        let (align, trusted) = match direct_io(target) {
            Ok(DirectIo::Direct { offset_align, .. }) => (page.max(u64::from(offset_align)), true),
            _ => (page, false),
        };
        Ok(Self {
            buffered: target.reopen(OFlags::WRONLY)?,
            direct: target.reopen(OFlags::WRONLY | OFlags::DIRECT).ok(),
            trusted,
            align,
            seed,
            stop,
            refused: AtomicBool::new(false),
            cached: AtomicBool::new(false),
        })
    }

    /// Writes every byte of `gaps`, with several threads if `any_order` is set, and leaves none of
    /// it dirty in the page cache. Returns the bytes written; fewer only if stopped.
    pub(super) fn fill(
        &self,
        gaps: Vec<Range<u64>>,
        any_order: bool,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<u64> {
        let total: u64 = gaps.iter().map(|gap| gap.end - gap.start).sum();
        let chunks = Mutex::new(Chunks::new(gaps, self.align));
        let threads = if any_order {
            total.div_ceil(WORTH_A_THREAD).clamp(1, THREADS)
        } else {
            1
        };
        let written = self.work(&chunks, threads, progress)?;
        if !self.trusted || self.cached.load(Ordering::Relaxed) {
            rustix::fs::fdatasync(&self.buffered)?;
        }
        Ok(written)
    }

    fn work(
        &self,
        chunks: &Mutex<Chunks>,
        threads: u64,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<u64> {
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for number in 0..threads {
                let (sender, failed) = (sender.clone(), &failed);
                let body = move || self.write_chunks(chunks, failed, &sender);
                match std::thread::Builder::new()
                    .name("fathom-fill".into())
                    .spawn_scoped(scope, body)
                {
                    Err(error) if number == 0 => return Err(error),
                    // The fill also works with fewer threads.
                    Err(_) => break,
                    Ok(_) => {}
                }
            }
            drop(sender);
            collect(&receiver, progress)
        })
    }

    fn write_chunks(
        &self,
        chunks: &Mutex<Chunks>,
        failed: &AtomicBool,
        sender: &mpsc::Sender<io::Result<u64>>,
    ) {
        let mut memory = vec![0_u8; (CHUNK + self.align) as usize];
        let skip = memory.as_ptr().align_offset(self.align as usize);
        while !self.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(chunk) = next else { return };
            let data = &mut memory[skip..][..(chunk.end - chunk.start) as usize];
            fill_incompressible(data, self.seed, chunk.start);
            let result = self.write_chunk(data, chunk.start);
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            let _ = sender.send(result.map(|()| data.len() as u64));
        }
    }

    fn write_chunk(&self, data: &[u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        let mut cached = !self.trusted;
        while done < data.len() {
            let direct = self.direct_for(done, data.len(), at);
            let written = rustix::io::pwrite(
                direct.unwrap_or(&self.buffered),
                &data[done..],
                at + done as u64,
            );
            match written {
                Ok(0) => return Err(Errno::IO.into()),
                Ok(bytes) => {
                    done += bytes;
                    cached |= direct.is_none();
                }
                Err(Errno::INTR) => {}
                Err(Errno::INVAL) if direct.is_some() => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if cached {
            // Keeps the number of dirty pages small, so that a stop is quick. Errors here are
            // reported by fdatasync at the end.
            let _ = kernel::write_back(self.buffered.as_fd(), at..at + data.len() as u64);
            self.cached.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The direct descriptor, if the rest of the chunk is aligned for it.
    fn direct_for(&self, done: usize, length: usize, at: u64) -> Option<&OwnedFd> {
        let aligned = (done as u64 | (length - done) as u64 | at).is_multiple_of(self.align);
        self.direct
            .as_ref()
            .filter(|_| aligned && !self.refused.load(Ordering::Relaxed))
    }
}

/// Adds up the bytes written until the last thread ends. Calls `progress` often even on a slow
/// disk, because the caller then checks whether to stop.
fn collect(
    receiver: &mpsc::Receiver<io::Result<u64>>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<u64> {
    let mut written = 0;
    let mut outcome = Ok(());
    loop {
        match receiver.recv_timeout(PROGRESS_INTERVAL) {
            Ok(Ok(bytes)) => written += bytes,
            Ok(Err(error)) => outcome = outcome.and(Err(error)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return outcome.map(|()| written),
        }
        progress(written);
    }
}

/// Splits gaps into pieces of at most [`CHUNK`] bytes. Unaligned edges become separate pieces.
struct Chunks {
    gaps: std::vec::IntoIter<Range<u64>>,
    now: Range<u64>,
    align: u64,
}

impl Chunks {
    fn new(gaps: Vec<Range<u64>>, align: u64) -> Self {
        Self {
            gaps: gaps.into_iter(),
            now: 0..0,
            align,
        }
    }
}

impl Iterator for Chunks {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        while self.now.is_empty() {
            self.now = self.gaps.next()?;
        }
        let start = self.now.start;
        let limit = if start.is_multiple_of(self.align) {
            (start / CHUNK + 1) * CHUNK
        } else {
            start.next_multiple_of(self.align)
        };
        let mut end = limit.min(self.now.end);
        if !end.is_multiple_of(self.align) && end - start > self.align {
            end = end / self.align * self.align;
        }
        self.now.start = end;
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_even_while_nothing_is_written() {
        let (sender, receiver) = mpsc::channel();
        let mut reports = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sender.send(Ok(1)).expect("the receiver exists");
                std::thread::sleep(5 * PROGRESS_INTERVAL);
                sender.send(Ok(2)).expect("the receiver exists");
            });
            assert_eq!(
                collect(&receiver, &mut |written| reports.push(written)).ok(),
                Some(3)
            );
        });
        assert!(
            reports.len() >= 4 && reports.first() == Some(&1) && reports.last() == Some(&3),
            "{reports:?}"
        );
    }

    #[test]
    fn chunks_cover_exactly_the_gaps() {
        let gaps = vec![
            5000..5001,
            8191..3 << 20,
            (4 << 20)..(4 << 20) + 10_000,
            9 << 20..9 << 20,
        ];
        let chunks: Vec<_> = Chunks::new(gaps.clone(), 4096).collect();
        let sum = |ranges: &[Range<u64>]| {
            ranges
                .iter()
                .map(|range| range.end - range.start)
                .sum::<u64>()
        };
        assert_eq!(sum(&chunks), sum(&gaps));
        assert!(
            chunks.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "in order, without overlap"
        );
        assert!(chunks.iter().all(|chunk| {
            gaps.iter()
                .any(|gap| gap.start <= chunk.start && chunk.end <= gap.end)
        }));
        let direct = |chunk: &&Range<u64>| (chunk.start | chunk.end).is_multiple_of(4096);
        let unaligned: u64 = chunks
            .iter()
            .filter(|chunk| !direct(chunk))
            .map(|chunk| chunk.end - chunk.start)
            .sum();
        assert_eq!(
            unaligned,
            1 + 1 + 10_000 % 4096,
            "one inside a page, the edge before 8192, the tail"
        );
        assert!(chunks.iter().all(|chunk| chunk.end - chunk.start <= CHUNK));
    }
}
