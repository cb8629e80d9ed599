//! System calls of the host without a safe wrapper elsewhere: file maps, page cache, whole-device
//! flush, usage.
#![allow(
    unsafe_code,
    reason = "raw system calls; each passes memory that this module owns and sizes"
)]

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::engines::last_errno;

const FS_IOC_FIEMAP: u32 = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// The physical address is not that of the data: unknown, delayed allocation, encoded, not aligned, inline, tail.
const FIEMAP_EXTENT_NO_ADDRESS: u32 = 0x2 | 0x4 | 0x8 | 0x100 | 0x200 | 0x400;
const BLKFLSBUF: u32 = 0x1261;
const BLKGETSIZE64: u32 = 0x8008_1272;
/// The number is the same on every architecture except alpha.
const SYS_CACHESTAT: libc::c_long = 451;
const BATCH: usize = 128;

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with space for [`BATCH`] extents.
#[repr(C)]
struct RawMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// A contiguous range of blocks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// Where it starts on the device, bytes; `None` where its data has no address of its own.
    pub physical: Option<u64>,
    /// Allocated but never written: reads return zeros without accessing the medium.
    pub unwritten: bool,
    /// The last extent of the file.
    pub last: bool,
}

/// Pages of a file range in the page cache. See cachestat(2), Linux 6.5.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheState {
    /// Resident pages.
    pub resident: u64,
    /// Pages not yet written back.
    pub dirty: u64,
    /// Pages being written back.
    pub writeback: u64,
    /// Pages that were resident and were evicted.
    pub evicted: u64,
    /// Pages evicted so recently that a little more memory would have kept them.
    pub recently_evicted: u64,
}

/// The first extents of a file in `range`, dirty data written back first. See
/// Documentation/filesystems/fiemap.rst.
pub(super) fn extents(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<Vec<Extent>> {
    extents_with(file, range, FIEMAP_FLAG_SYNC)
}

/// As [`extents`], without writing anything back: the load is not disturbed.
pub(super) fn extents_as_they_are(
    file: BorrowedFd<'_>,
    range: Range<u64>,
) -> io::Result<Vec<Extent>> {
    extents_with(file, range, 0)
}

fn extents_with(file: BorrowedFd<'_>, range: Range<u64>, flags: u32) -> io::Result<Vec<Extent>> {
    let mut map = RawMap {
        start: range.start,
        length: range.end - range.start,
        flags,
        mapped: 0,
        count: BATCH as u32,
        reserved: 0,
        extents: [RawExtent::default(); BATCH],
    };
    // SAFETY: `map` has the layout of struct fiemap followed by `count` extents, and outlives the
    // call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) })?;
    let found = &map.extents[..(map.mapped as usize).min(BATCH)];
    Ok(found.iter().map(Extent::of).collect())
}

impl Extent {
    fn of(raw: &RawExtent) -> Self {
        Self {
            start: raw.logical,
            end: raw.logical.saturating_add(raw.length),
            physical: (raw.flags & FIEMAP_EXTENT_NO_ADDRESS == 0).then_some(raw.physical),
            unwritten: raw.flags & FIEMAP_EXTENT_UNWRITTEN != 0,
            last: raw.flags & FIEMAP_EXTENT_LAST != 0,
        }
    }
}

/// Pages of `range` in the page cache.
pub(super) fn cache_state(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<CacheState> {
    let bounds: [u64; 2] = [range.start, range.end - range.start];
    let mut state = CacheState::default();
    // SAFETY: struct cachestat_range is two u64, struct cachestat five, as here; both outlive the
    // call.
    let done = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            &raw const bounds,
            &raw mut state,
            0_u32,
        )
    };
    if done == 0 {
        Ok(state)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Starts the write-back of a range and waits for it. Does not cover metadata or the drive's cache.
pub(super) fn write_back(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (start, length) = (range.start as i64, (range.end - range.start) as i64);
    // SAFETY: takes no memory.
    check(unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, flags) })
}

/// ioprio_set(2) for the calling thread. The error is an errno.
pub(super) fn set_io_priority(prio: u16) -> Result<(), i32> {
    const IOPRIO_WHO_PROCESS: libc::c_long = 1;
    // SAFETY: takes no memory.
    let done = unsafe {
        libc::syscall(
            libc::SYS_ioprio_set,
            IOPRIO_WHO_PROCESS,
            0,
            libc::c_long::from(prio),
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Changes the user or group of the calling thread only; the library calls would change all
/// threads.
pub(super) fn become_user(user: Option<u32>, group: Option<u32>) -> Result<(), i32> {
    let same = u32::MAX;
    for (call, id) in [(libc::SYS_setresgid, group), (libc::SYS_setresuid, user)] {
        let Some(id) = id else { continue };
        // SAFETY: takes no memory; -1 keeps the saved id.
        if unsafe { libc::syscall(call, id, id, same) } != 0 {
            return Err(last_errno());
        }
    }
    Ok(())
}

/// Names the calling thread; the kernel keeps 15 bytes. See PR_SET_NAME in prctl(2).
pub(super) fn name_thread(name: &std::ffi::CStr) {
    // SAFETY: the name ends with a zero byte and outlives the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Sets the expected lifetime of data written to the file. See F_SET_RW_HINT in fcntl(2).
pub(super) fn hint_life(fd: BorrowedFd<'_>, life: u8) -> Result<(), i32> {
    const F_SET_RW_HINT: i32 = 1036;
    let life = u64::from(life);
    // SAFETY: the call reads one u64, which outlives it.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), F_SET_RW_HINT, &raw const life) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Modes of set_mempolicy(2), linux/mempolicy.h.
pub(super) const MPOL_PREFERRED: i32 = 1;
pub(super) const MPOL_BIND: i32 = 2;
pub(super) const MPOL_INTERLEAVE: i32 = 3;
pub(super) const MPOL_LOCAL: i32 = 4;

/// set_mempolicy(2) for the calling thread. The error is an errno.
pub(super) fn set_memory_policy(mode: i32, nodes: &[u32]) -> Result<(), i32> {
    const BITS: u32 = 64;
    let mut mask = [0_u64; 16];
    for node in nodes {
        *mask.get_mut((node / BITS) as usize).ok_or(libc::EINVAL)? |= 1 << (node % BITS);
    }
    let (address, length) = if nodes.is_empty() {
        (std::ptr::null(), 0)
    } else {
        (mask.as_ptr(), mask.len() as u64 * 64)
    };
    // SAFETY: the kernel reads at most `length` bits at `address`, which is the mask or null; the
    // mask outlives the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            libc::c_long::from(mode),
            address,
            length,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// posix_fallocate(3): without fallocate in the file system, the C library writes to each block.
pub(super) fn posix_fallocate(file: BorrowedFd<'_>, length: u64) -> io::Result<()> {
    // SAFETY: takes no memory.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as i64) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Writes back and drops the whole page cache of a block device. Needs CAP_SYS_ADMIN.
pub(super) fn flush_device(device: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKFLSBUF as _, 0) })
}

/// Capacity of a block device in bytes.
pub(super) fn capacity(device: BorrowedFd<'_>) -> io::Result<u64> {
    let mut size = 0_u64;
    // SAFETY: BLKGETSIZE64 writes one u64.
    check(unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64 as _, &raw mut size) })?;
    Ok(size)
}

/// getrusage(2) of the calling thread.
pub(super) fn thread_usage() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one rusage. All zeros would be valid if it failed, which it cannot
    // with RUSAGE_THREAD.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn check(done: libc::c_int) -> io::Result<()> {
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
