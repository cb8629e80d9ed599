//! Reads the first and last MiB of a target.

use fathom_device::{END_WINDOW, Ends};
use fathom_model::Bytes;
use rustix::fd::BorrowedFd;
use rustix::io::{Errno, Result, pread};

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
