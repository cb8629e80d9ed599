//! Whether a file takes writes that are done whole or not at all (RWF_ATOMIC), and of what size.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use fathom_load::HostError;

use super::error::refused;

/// linux/stat.h, since Linux 6.11.
const STATX_WRITE_ATOMIC: u32 = 0x0001_0000;
/// linux/stat.h: where `stx_atomic_write_unit_min` and, behind it, `stx_atomic_write_unit_max` stand in `struct statx`.
const UNIT_MIN: usize = 0xa8;

/// Refuses a file that does not take such writes of `block` bytes, and says what it would need.
pub(super) fn check(fd: &OwnedFd, path: &Path, block: u32) -> Result<(), HostError> {
    let path = path.display();
    let what = match limits(fd) {
        Some((min, max)) if (min..=max).contains(&block) => return Ok(()),
        Some((min, max)) => format!(
            "{path} takes atomic writes of {min} to {max} bytes, not of {block}; change bs="
        ),
        None => format!(
            "{path} takes no atomic writes: they need Linux 6.11 and a device whose atomic_write_unit_max_bytes below \
             /sys/block/DEVICE/queue is not 0, or a file of XFS with reflink on Linux 6.16; leave out atomic="
        ),
    };
    Err(refused(libc::EOPNOTSUPP, what))
}

/// Smallest and largest such write, bytes; `None` where there are none.
fn limits(fd: &OwnedFd) -> Option<(u32, u32)> {
    // SAFETY: a `struct statx` is plain numbers, for which zero is a value.
    let mut facts: libc::statx = unsafe { std::mem::zeroed() };
    let mask = libc::STATX_BASIC_STATS | STATX_WRITE_ATOMIC;
    // SAFETY: the empty path makes statx look at the descriptor, which is open; it fills `facts`, which lives through the call.
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
        // SAFETY: the four bytes lie inside `facts`, as was just asserted, and every value of them is a number.
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
