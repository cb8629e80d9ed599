//! Reads the first and last MiB of a target, and samples of the rest.

use fathom_device::{END_WINDOW, Ends, Samples, is_benchmark_fill};
use fathom_model::Bytes;
use rustix::fd::BorrowedFd;
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, Result, pread};
use std::num::NonZeroU64;
use std::ops::Range;

/// The first and last bytes of a target, at most [`END_WINDOW`] each.
pub(super) struct EndBytes {
    pub(super) head: Vec<u8>,
    pub(super) tail: Vec<u8>,
    pub(super) size: Bytes,
}

impl EndBytes {
    /// Reads both ends of a target of `size` bytes.
    ///
    /// # Errors
    /// The kernel's error, or `EIO` if it returns fewer bytes than the reported size.
    pub(super) fn read(fd: BorrowedFd<'_>, size: Bytes) -> Result<Self> {
        let window = size.get().min(END_WINDOW as u64);
        let head = exactly(fd, 0, window)?;
        let tail = exactly(fd, size.get() - window, window)?;
        Ok(Self { head, tail, size })
    }
    pub(super) fn ends(&self) -> Ends {
        Ends::of(&self.head, &self.tail, self.size)
    }
    /// Whether both ends hold nothing but what fio and fathom fill files with.
    pub(super) fn is_benchmark_fill(&self) -> bool {
        let start = self.size.get() - self.tail.len() as u64;
        let unaligned = (start.next_multiple_of(512) - start) as usize;
        let tail = self.tail.get(unaligned..).unwrap_or_default();
        is_benchmark_fill(&self.head) && is_benchmark_fill(tail)
    }
}

/// SHA-256 over the samples of a target of `size` bytes, and whether they hold nothing but what fio and
/// fathom fill files with.
pub(super) fn sample(fd: BorrowedFd<'_>, size: Bytes) -> ([u8; 32], bool) {
    let ranges: Vec<Range<u64>> = Samples::of(size.get()).ranges().collect();
    // The device reads them all at once, which is much faster than one by one. It is a hint only.
    for range in &ranges {
        let _ = fadvise(
            fd,
            range.start,
            NonZeroU64::new(range.end - range.start),
            Advice::WillNeed,
        );
    }
    let mut benchmark = true;
    let digest = Samples::of(size.get()).digest(|range| {
        let bytes = exactly(fd, range.start, range.end - range.start).map_err(Errno::raw_os_error);
        benchmark &= bytes.as_ref().is_ok_and(|bytes| is_benchmark_fill(bytes));
        bytes
    });
    (digest, benchmark)
}

fn exactly(fd: BorrowedFd<'_>, offset: u64, length: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::INVAL)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match pread(fd, &mut bytes[filled..], offset + filled as u64) {
            Ok(0) => return Err(Errno::IO),
            Ok(more) => filled += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}
