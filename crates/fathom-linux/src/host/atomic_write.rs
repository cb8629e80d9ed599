//! Checks whether a file supports atomic writes (RWF_ATOMIC), and of which size.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use fathom_load::HostError;

use super::error::refused;

/// linux/stat.h, since Linux 6.11.
const STATX_WRITE_ATOMIC: u32 = 0x0001_0000;
/// linux/stat.h: offset of `stx_atomic_write_unit_min` in `struct statx`;
/// `stx_atomic_write_unit_max` follows it.
const UNIT_MIN: usize = 0xa8;

/// Refuses a file that does not support atomic writes of `block` bytes, and explains what they
/// require.
pub(super) fn check(fd: &OwnedFd, path: &Path, block: u32) -> Result<(), HostError> {
    let path = path.display();
    let what = match limits(fd) {
        Some((min, max)) if (min..=max).contains(&block) => return Ok(()),
        Some((min, max)) => format!(
            "{path} supports atomic writes of {min} to {max} bytes, not of {block}; change bs="
        ),
        None => format!(
            "{path} does not support atomic writes: they need Linux 6.11 and a device whose atomic_write_unit_max_bytes below \
             /sys/block/DEVICE/queue is not 0, or a file of XFS with reflink on Linux 6.16; leave out atomic="
        ),
    };
    Err(refused(libc::EOPNOTSUPP, what))
}

/// Smallest and largest atomic write in bytes; `None` if unsupported.
fn limits(fd: &OwnedFd) -> Option<(u32, u32)> {
    // SAFETY: a `struct statx` consists of plain numbers, for which zero is valid.
    let mut facts: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_BASIC_STATS | STATX_WRITE_ATOMIC;
    // SAFETY: with the empty path statx reads the descriptor, which is open; it fills `facts`,
    // which outlives the call.
    let result = unsafe {
        libc::statx(
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            mask,
            &raw mut facts,
        )
    };
    if result != 0 || facts.stx_mask & STATX_WRITE_ATOMIC == 0 {
        return None;
    }
    const { assert!(size_of::<libc::statx>() >= UNIT_MIN + 8) };
    let number = |at: usize| {
        // SAFETY: the four bytes are inside `facts`, as asserted above, and every value of them is
        // a valid number.
        unsafe {
            (&raw const facts)
                .cast::<u8>()
                .add(at)
                .cast::<u32>()
                .read_unaligned()
        }
    };
    let (min, max) = (number(UNIT_MIN), number(UNIT_MIN + 4));
    (max > 0).then_some((min, max))
}
