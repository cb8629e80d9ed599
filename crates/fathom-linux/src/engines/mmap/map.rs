//! The range of a file, mapped into memory.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::OpenFile;
use fathom_model::Fadvise;

use super::super::syscall::{last_errno, syscall_result};
use super::{page_size, sigbus};

/// A shared mapping of the part of a file that may be accessed.
#[derive(Debug)]
pub(super) struct Map {
    fd: RawFd,
    base: *mut u8,
    len: usize,
    /// Offset in the file of the first mapped byte.
    first: u64,
    /// Size of the file when last queried.
    size: u64,
    prot: i32,
    /// A faulted page could not be mapped again, so the contents are unreliable.
    broken: bool,
}

impl Map {
    /// Maps the part of `range` that exists now. Later growth of the file is not mapped.
    pub(super) fn new(fd: RawFd, range: (u64, u64), open: &OpenFile) -> Result<Self, i32> {
        sigbus::install()?;
        let first = range.0 - range.0 % page_size() as u64;
        let size = size_of_file(fd)?;
        let len =
            usize::try_from(range.1.min(size).saturating_sub(first)).map_err(|_| libc::ENOMEM)?;
        let prot = libc::PROT_READ | if open.writes { libc::PROT_WRITE } else { 0 };
        let mut map = Self {
            fd,
            base: std::ptr::null_mut(),
            len,
            first,
            size,
            prot,
            broken: false,
        };
        if len > 0 {
            map.base = map.map_pages(std::ptr::null_mut(), len, 0, first)?;
            map.advise(open);
        }
        Ok(map)
    }

    fn map_pages(&self, at: *mut u8, len: usize, flags: i32, offset: u64) -> Result<*mut u8, i32> {
        let flags = flags | libc::MAP_SHARED;
        // SAFETY: without MAP_FIXED the call touches no existing mapping; with it, `restore` passes
        // pages of our own mapping.
        let base = unsafe {
            libc::mmap(
                at.cast(),
                len,
                self.prot,
                flags,
                self.fd,
                offset as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            Err(last_errno())
        } else {
            Ok(base.cast())
        }
    }

    fn advise(&self, open: &OpenFile) {
        let advice = match open.fadvise {
            Fadvise::ByPattern if open.random => libc::MADV_RANDOM,
            Fadvise::Random => libc::MADV_RANDOM,
            Fadvise::ByPattern | Fadvise::Sequential => libc::MADV_SEQUENTIAL,
            Fadvise::None | Fadvise::NoReuse => return,
        };
        // SAFETY: the range is exactly our mapping, and the advice changes no data.
        unsafe { libc::madvise(self.base.cast(), self.len, advice) };
    }

    /// Bytes of `[offset, offset + len)` that exist. The file size is queried again before some are
    /// reported missing.
    #[inline]
    fn available_bytes(&mut self, offset: u64, len: u32) -> usize {
        let past = offset + u64::from(len);
        if past > self.size {
            self.size = size_of_file(self.fd).unwrap_or(0);
        }
        let end = self.size.min(self.first + self.len as u64);
        end.saturating_sub(offset).min(u64::from(len)) as usize
    }

    /// Copies from the file to `buffer`. Fewer bytes at the end of the file; -EIO if a page is not
    /// readable.
    ///
    /// # Safety
    /// `buffer` must be valid for `len` bytes, and `offset` must not be below the mapped range.
    #[inline]
    pub(super) unsafe fn read(&mut self, offset: u64, len: u32, buffer: *mut u8) -> i64 {
        let count = self.available_bytes(offset, len);
        let mapped = self.at(offset);
        // SAFETY: `count` bytes from `mapped` are inside the mapping; the caller guarantees the
        // buffer.
        let complete = count == 0 || unsafe { sigbus::copy(mapped, buffer, count, mapped) };
        self.finish_copy(complete, offset, count)
    }

    /// Copies `buffer` to the file. A mapping cannot extend a file: past its end, fewer bytes are
    /// written, or -EIO.
    ///
    /// # Safety
    /// As for [`Self::read`], and the mapping must be writable.
    #[inline]
    pub(super) unsafe fn write(&mut self, offset: u64, len: u32, buffer: *const u8) -> i64 {
        let count = self.available_bytes(offset, len);
        if self.prot & libc::PROT_WRITE == 0 {
            return -i64::from(libc::EBADF);
        }
        if count == 0 && len > 0 {
            return -i64::from(libc::EIO);
        }
        let mapped = self.at(offset);
        // SAFETY: as in `read`, and the mapping is writable.
        let complete = count == 0 || unsafe { sigbus::copy(buffer, mapped, count, mapped) };
        self.finish_copy(complete, offset, count)
    }

    #[inline]
    fn at(&self, offset: u64) -> *mut u8 {
        self.base
            .wrapping_add(offset.wrapping_sub(self.first) as usize)
    }

    #[inline]
    fn finish_copy(&mut self, complete: bool, offset: u64, count: usize) -> i64 {
        if !complete {
            self.restore(offset, count);
        }
        if complete && !self.broken {
            count as i64
        } else {
            -i64::from(libc::EIO)
        }
    }

    /// Maps the file again where a fault left an empty page.
    fn restore(&mut self, offset: u64, count: usize) {
        let start = (offset - self.first) as usize & !(page_size() - 1);
        let len = ((offset - self.first) as usize + count).next_multiple_of(page_size()) - start;
        let restored = self.map_pages(
            self.base.wrapping_add(start),
            len,
            libc::MAP_FIXED,
            self.first + start as u64,
        );
        self.broken |= restored.is_err();
    }

    /// msync(2) of everything; with `metadata`, also fsync(2).
    pub(super) fn sync(&self, metadata: bool) -> i64 {
        if self.len > 0 {
            // SAFETY: the range is exactly our mapping.
            let result =
                syscall_result(
                    || unsafe { libc::msync(self.base.cast(), self.len, libc::MS_SYNC) } as isize,
                );
            if result < 0 || !metadata {
                return result;
            }
        }
        // SAFETY: fsync takes no memory.
        syscall_result(|| unsafe { libc::fsync(self.fd) } as isize)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the range is exactly our mapping, and no reference into it was ever created.
            unsafe { libc::munmap(self.base.cast(), self.len) };
        }
    }
}

/// Also works for block devices, where fstat reports 0. A character device such as /dev/zero has no
/// end.
fn size_of_file(fd: RawFd) -> Result<u64, i32> {
    if is_character_device(fd) {
        return Ok(u64::MAX);
    }
    // SAFETY: lseek takes no memory; nothing else here uses the position.
    let end = unsafe { libc::lseek(fd, 0, libc::SEEK_END) };
    u64::try_from(end).map_err(|_| last_errno())
}

fn is_character_device(fd: RawFd) -> bool {
    // SAFETY: the engine holds the descriptor open as long as its mapping.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    rustix::fs::fstat(fd).is_ok_and(|facts| {
        rustix::fs::FileType::from_raw_mode(facts.st_mode) == rustix::fs::FileType::CharacterDevice
    })
}
