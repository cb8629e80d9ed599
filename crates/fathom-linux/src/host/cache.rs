//! The page cache: which pages of a file it holds, and how to drop them.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, AtFlags, StatxFlags};
use rustix::io::Errno;

use super::kernel;
pub use super::kernel::CacheState;

/// The support of O_DIRECT that a file system reports for a file. See statx(2), STATX_DIOALIGN,
/// Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectIo {
    /// Not reported: the effect of O_DIRECT is unknown (btrfs, tmpfs, older kernels).
    Unknown,
    /// O_DIRECT is accepted but buffered, or refused.
    Buffered,
    /// O_DIRECT bypasses the page cache.
    Direct {
        /// Offsets and lengths must be multiples of this, bytes.
        offset_align: u32,
        /// Buffers must be aligned to this, bytes.
        memory_align: u32,
    },
}

/// Pages of a file's `range` that are in the page cache.
///
/// # Errors
/// ENOSYS before Linux 6.5; EOPNOTSUPP for hugetlbfs.
pub fn cache_state(file: impl AsFd, range: Range<u64>) -> io::Result<CacheState> {
    kernel::cache_state(file.as_fd(), range.start..range.end.max(range.start))
}

/// The support of O_DIRECT that the file system reports for this file or device.
///
/// # Errors
/// If it cannot be queried.
pub fn direct_io(file: impl AsFd) -> io::Result<DirectIo> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
    if facts.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Ok(DirectIo::Unknown);
    }
    Ok(
        match (facts.stx_dio_offset_align, facts.stx_dio_mem_align) {
            (0, _) | (_, 0) => DirectIo::Buffered,
            (offset_align, memory_align) => DirectIo::Direct {
                offset_align,
                memory_align,
            },
        },
    )
}

/// Drops a range of a file from the page cache. Dirty pages survive POSIX_FADV_DONTNEED, so they
/// are written back first. Partial pages survive too, so the range is rounded outward.
pub(super) fn drop_file(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    let range = whole_pages(range);
    match rustix::fs::fdatasync(file) {
        // Files of kernel file systems have nothing to write back.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS) => {}
        Err(error) => return Err(error.into()),
    }
    advise(file, range, Advice::DontNeed)
}

/// Drops a range of a block device from the page cache, or the whole device if the caller has the
/// privilege.
pub(super) fn drop_device(device: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    match kernel::flush_device(device) {
        Ok(()) => Ok(()),
        Err(_) => drop_file(device, range),
    }
}

fn whole_pages(range: Range<u64>) -> Range<u64> {
    let page = rustix::param::page_size() as u64;
    let end = range.end.checked_next_multiple_of(page).unwrap_or(u64::MAX);
    range.start / page * page..end.min(i64::MAX as u64)
}

/// posix_fadvise(2). An empty range is skipped, because a length of zero means "to the end".
pub(super) fn advise(file: BorrowedFd<'_>, range: Range<u64>, advice: Advice) -> io::Result<()> {
    let Some(length) = std::num::NonZeroU64::new(range.end.saturating_sub(range.start)) else {
        return Ok(());
    };
    Ok(rustix::fs::fadvise(
        file,
        range.start,
        Some(length),
        advice,
    )?)
}

/// Reads a file once to bring it into the page cache. Ends early on `stop`.
pub(super) fn pre_read(file: BorrowedFd<'_>, size: u64, stop: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![0_u8; 1 << 20];
    let mut at = 0;
    while at < size && !stop.load(Ordering::Relaxed) {
        match rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut buffer[..], at))? {
            0 => break,
            read => at += read as u64,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_to_whole_pages() {
        let page = rustix::param::page_size() as u64;
        assert_eq!(whole_pages(1..page + 1), 0..2 * page);
        assert_eq!(whole_pages(page..2 * page), page..2 * page);
        assert_eq!(whole_pages(0..u64::MAX), 0..i64::MAX as u64);
    }
}
