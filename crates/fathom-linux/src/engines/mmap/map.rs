//! A file's range as memory.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use fathom_load::OpenFile;
use fathom_model::Fadvise;

use super::super::inline::{last_errno, outcome};
use super::{PAGE, bus};

/// A shared mapping of the part of a file that may be touched.
#[derive(Debug)]
pub(super) struct Map {
    fd: RawFd,
    base: *mut u8,
    len: usize,
    /// Offset in the file of the first mapped byte.
    first: u64,
    /// Size of the file when it was last asked.
    size: u64,
    prot: i32,
    /// A faulted page could not be mapped back: nothing here can be trusted.
    broken: bool,
}

impl Map {
    /// Maps what there is of `range` now; a file that grows later is not mapped further.
    pub(super) fn new(fd: RawFd, range: (u64, u64), open: &OpenFile) -> Result<Self, i32> {
        bus::install()?;
        let first = range.0 - range.0 % PAGE as u64;
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
            map.base = map.attach(std::ptr::null_mut(), len, 0, first)?;
            map.advise(open);
        }
        Ok(map)
    }

    fn attach(&self, at: *mut u8, len: usize, flags: i32, offset: u64) -> Result<*mut u8, i32> {
        let flags = flags | libc::MAP_SHARED;
        // SAFETY: without MAP_FIXED nothing existing is touched; with it, `restore` names pages of our own mapping.
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
        // SAFETY: the range is exactly our mapping, and the advice changes no content.
        unsafe { libc::madvise(self.base.cast(), self.len, advice) };
    }

    /// Bytes of `[offset, offset + len)` that are there, asking the file again before saying that some are not.
    fn reachable(&mut self, offset: u64, len: u32) -> usize {
        let past = offset + u64::from(len);
        if past > self.size {
            self.size = size_of_file(self.fd).unwrap_or(0);
        }
        let end = self.size.min(self.first + self.len as u64);
        end.saturating_sub(offset).min(u64::from(len)) as usize
    }

    /// Copies from the file to `buffer`. Less at the end of the file; -EIO when a page cannot be had.
    ///
    /// # Safety
    /// `buffer` must be good for `len` bytes, and `offset` not below the range this was made for.
    pub(super) unsafe fn read(&mut self, offset: u64, len: u32, buffer: *mut u8) -> i64 {
        let count = self.reachable(offset, len);
        let mapped = self.at(offset);
        // SAFETY: `count` bytes from `mapped` lie in the mapping, the caller promises the buffer.
        let whole = count == 0 || unsafe { bus::copy(mapped, buffer, count, mapped) };
        self.close(whole, offset, count)
    }

    /// Copies `buffer` to the file. A mapping cannot make a file longer: past its end less is moved, or -EIO.
    ///
    /// # Safety
    /// As for [`Self::read`], and the mapping must be writable.
    pub(super) unsafe fn write(&mut self, offset: u64, len: u32, buffer: *const u8) -> i64 {
        let count = self.reachable(offset, len);
        if self.prot & libc::PROT_WRITE == 0 {
            return -i64::from(libc::EBADF);
        }
        if count == 0 && len > 0 {
            return -i64::from(libc::EIO);
        }
        let mapped = self.at(offset);
        // SAFETY: as in `read`, and the mapping is writable.
        let whole = count == 0 || unsafe { bus::copy(buffer, mapped, count, mapped) };
        self.close(whole, offset, count)
    }

    fn at(&self, offset: u64) -> *mut u8 {
        self.base
            .wrapping_add(offset.wrapping_sub(self.first) as usize)
    }

    fn close(&mut self, whole: bool, offset: u64, count: usize) -> i64 {
        if !whole {
            self.restore(offset, count);
        }
        if whole && !self.broken {
            count as i64
        } else {
            -i64::from(libc::EIO)
        }
    }

    /// Maps the file again where a fault has put an empty page.
    fn restore(&mut self, offset: u64, count: usize) {
        let start = (offset - self.first) as usize & !(PAGE - 1);
        let len = ((offset - self.first) as usize + count).next_multiple_of(PAGE) - start;
        let restored = self.attach(
            self.base.wrapping_add(start),
            len,
            libc::MAP_FIXED,
            self.first + start as u64,
        );
        self.broken |= restored.is_err();
    }

    /// msync(2) of everything; `metadata` adds what fsync(2) does beyond it.
    pub(super) fn sync(&self, metadata: bool) -> i64 {
        if self.len > 0 {
            // SAFETY: the range is exactly our mapping.
            let result =
                outcome(
                    || unsafe { libc::msync(self.base.cast(), self.len, libc::MS_SYNC) } as isize,
                );
            if result < 0 || !metadata {
                return result;
            }
        }
        // SAFETY: fsync takes no memory.
        outcome(|| unsafe { libc::fsync(self.fd) } as isize)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the range is exactly our mapping, and no reference into it was ever made.
            unsafe { libc::munmap(self.base.cast(), self.len) };
        }
    }
}

/// Works for block devices too, where fstat says 0.
fn size_of_file(fd: RawFd) -> Result<u64, i32> {
    // SAFETY: lseek takes no memory; nothing else here uses the position.
    let end = unsafe { libc::lseek(fd, 0, libc::SEEK_END) };
    u64::try_from(end).map_err(|_| last_errno())
}
