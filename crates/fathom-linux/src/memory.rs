//! The buffers of an engine: one aligned mapping, divided into slots, with an in-flight flag for
//! each slot.
//!
//! The flags make the engines sound. The kernel (or a pool thread) accesses a slot only between
//! [`Arena::lend`] and [`Arena::take_back`], and during that time [`Arena::buffer`] refuses to
//! create a reference to it.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use fathom_load::EngineError;

use crate::control_groups::ControlGroups;
use crate::engines::last_errno;

/// Alignment of slots, sufficient for O_DIRECT on every known file system.
const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// The pages of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Huge pages where the kernel has them.
    HugeWhereAvailable,
    /// Ordinary pages, as those of fio.
    Ordinary,
    /// Huge pages of the system's pool (hugetlb), as fio with `mem=mmaphuge`; without free ones there are no buffers.
    Pool,
}

thread_local! {
    /// The pages of the buffers that this thread allocates.
    static PAGES: Cell<Pages> = const { Cell::new(Pages::HugeWhereAvailable) };
}

/// Sets in which pages the engines that this thread creates allocate their buffers.
pub(crate) fn set_pages(pages: Pages) {
    PAGES.set(pages);
}

/// An anonymous private mapping.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to no thread; `Arena` controls who may access which part of it.
unsafe impl Send for Memory {}
// SAFETY: `&Memory` returns only addresses.
unsafe impl Sync for Memory {}

impl Memory {
    fn map(len: usize) -> Result<Self, i32> {
        let huge = len.next_multiple_of(HUGE_PAGE);
        match PAGES.get() {
            Pages::HugeWhereAvailable => {}
            Pages::Ordinary => return Self::map_with(len, 0),
            Pages::Pool => return Self::map_with(huge, libc::MAP_HUGETLB),
        }
        let tries = [(huge, libc::MAP_HUGETLB), (len, 0)];
        let tries = if len >= HUGE_PAGE {
            &tries[..]
        } else {
            &tries[1..]
        };
        let mut errno = 0;
        for &(len, flags) in tries {
            match Self::map_with(len, flags) {
                Ok(memory) => return Ok(memory),
                Err(refused) => errno = refused,
            }
        }
        Err(errno)
    }

    fn map_with(len: usize, flags: i32) -> Result<Self, i32> {
        let memory = Self::untouched(len, flags)?;
        memory.prefault();
        Ok(memory)
    }

    /// A mapping without any allocated pages.
    pub(crate) fn untouched(len: usize, flags: i32) -> Result<Self, i32> {
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address chosen by the kernel touches nothing that
        // exists.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(last_errno());
        }
        let base =
            NonNull::new(base.cast()).expect("mmap without MAP_FIXED never returns address zero");
        Ok(Self { base, len })
    }

    /// Start address.
    pub(crate) fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Locks all of it in memory (mlock(2)). The error is an errno.
    pub(crate) fn lock(&self) -> Result<(), i32> {
        // SAFETY: the range is exactly our own mapping, whose contents do not change.
        let done = unsafe { libc::mlock(self.base.as_ptr().cast(), self.len) };
        if done == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Requests huge pages and takes all page faults now, so that no I/O pays for them. Both are
    /// optional.
    fn prefault(&self) {
        for advice in [libc::MADV_HUGEPAGE, libc::MADV_POPULATE_WRITE] {
            if advice == libc::MADV_HUGEPAGE
                && (self.len < HUGE_PAGE || PAGES.get() != Pages::HugeWhereAvailable)
            {
                continue;
            }
            // SAFETY: the range is exactly our own mapping, and neither advice changes its
            // contents.
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, advice) };
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is exactly our mapping, and the last owner is being dropped: none of
        // its addresses is used any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// One page-aligned buffer for each slot.
#[derive(Debug)]
pub(crate) struct Arena {
    memory: Arc<Memory>,
    stride: usize,
    size: usize,
    in_flight: Box<[bool]>,
    lent: u32,
}

impl Arena {
    /// `depth` slots of `buffer_size` bytes.
    pub(crate) fn new(depth: u32, buffer_size: u32) -> Result<Self, EngineError> {
        let (depth, size) = (depth.max(1) as usize, buffer_size as usize);
        let refused = |errno| EngineError {
            errno,
            what: if PAGES.get() == Pages::Pool {
                format!(
                    "the pool of huge pages has no room for {depth} buffers of {size} bytes; raise vm.nr_hugepages, or use mem=malloc"
                )
            } else {
                format!(
                    "cannot allocate memory for {depth} buffers of {size} bytes; lower iodepth or bs, or raise the memory limit of this process or cgroup"
                )
            },
        };
        let stride = size.max(1).next_multiple_of(PAGE);
        let len = stride
            .checked_mul(depth)
            .ok_or_else(|| refused(libc::ENOMEM))?;
        // The kernel would grant the memory, and kill the process when it is used.
        let left = ControlGroups::own().memory_left();
        if left.is_some_and(|left| len as u64 > left) {
            return Err(refused(libc::ENOMEM));
        }
        let memory = Arc::new(Memory::map(len).map_err(refused)?);
        Ok(Self {
            memory,
            stride,
            size,
            in_flight: vec![false; depth].into_boxed_slice(),
            lent: 0,
        })
    }

    #[inline]
    pub(crate) fn depth(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// Usable bytes of a slot.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size as u32
    }

    /// Number of slots in flight.
    #[inline]
    pub(crate) fn lent(&self) -> u32 {
        self.lent
    }

    /// Shared ownership of the memory, for those who may still access it after the engine is
    /// dropped.
    pub(crate) fn shared_memory(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    /// The whole memory in pieces of at most `limit` bytes that contain whole slots, and the number
    /// of slots per piece. `None` if a slot is larger than `limit`.
    pub(crate) fn pieces(&self, limit: usize) -> Option<(Vec<libc::iovec>, usize)> {
        let slots = (limit / self.stride).min(self.in_flight.len());
        let piece = slots.checked_mul(self.stride).filter(|&bytes| bytes > 0)?;
        let total = self.stride * self.in_flight.len();
        let at = |start: usize| libc::iovec {
            iov_base: self.memory.base.as_ptr().wrapping_add(start).cast(),
            iov_len: piece.min(total - start),
        };
        Some(((0..total).step_by(piece).map(at).collect(), slots))
    }

    /// The buffer of a slot.
    ///
    /// # Panics
    /// If it is in flight, or the slot does not exist.
    #[inline]
    pub(crate) fn buffer(&mut self, slot: u32) -> &mut [u8] {
        assert!(!self.in_flight[slot as usize], "slot {slot} is in flight");
        // SAFETY: the slot is inside the mapping (its flag exists), nobody else accesses it (it is
        // not in flight), slots do not overlap, and the exclusive borrow of `self` prevents lending
        // it while the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.size) }
    }

    /// Lends a slot until [`Self::take_back`]. The address is valid for [`Self::size`] bytes.
    ///
    /// # Panics
    /// If it is already in flight, or the slot does not exist.
    #[inline]
    pub(crate) fn lend(&mut self, slot: u32) -> *mut u8 {
        let flag = &mut self.in_flight[slot as usize];
        assert!(!*flag, "slot {slot} is in flight");
        *flag = true;
        self.lent += 1;
        self.address(slot)
    }

    /// Ends the loan of a slot.
    ///
    /// # Panics
    /// If it was not in flight: an unexpected completion.
    #[inline]
    pub(crate) fn take_back(&mut self, slot: u32) {
        let flag = &mut self.in_flight[slot as usize];
        assert!(*flag, "slot {slot} completed but was not in flight");
        *flag = false;
        self.lent -= 1;
    }

    /// Declares that only shared owners still access the memory, so it can be freed when they are
    /// dropped.
    pub(crate) fn end_loans(&mut self) {
        self.lent = 0;
    }

    #[inline]
    fn address(&self, slot: u32) -> *mut u8 {
        self.memory
            .base
            .as_ptr()
            .wrapping_add(slot as usize * self.stride)
    }
}

impl Drop for Arena {
    /// Memory that is still lent is never freed, because its user may still write to it.
    fn drop(&mut self) {
        if self.lent > 0 {
            std::mem::forget(Arc::clone(&self.memory));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_disjoint_and_of_the_requested_size() {
        for (depth, size) in [
            (1, 0),
            (1, 1),
            (3, 512),
            (7, 4096),
            (5, 5000),
            (3, 1 << 20),
            (2, 3 << 20),
        ] {
            let mut arena = Arena::new(depth, size).expect("a few MiB");
            for slot in 0..depth {
                let buffer = arena.buffer(slot);
                assert_eq!(buffer.len(), size as usize);
                assert_eq!(buffer.as_ptr() as usize % PAGE, 0);
                buffer.fill(slot as u8 + 1);
            }
            for slot in 0..depth {
                assert!(
                    arena
                        .buffer(slot)
                        .iter()
                        .all(|&byte| byte == slot as u8 + 1)
                );
            }
        }
    }

    #[test]
    fn pieces_cover_every_slot_once() {
        let arena = Arena::new(10, 4096).expect("small");
        let (pieces, slots) = arena.pieces(3 * 4096 + 5).expect("a slot fits");
        assert_eq!(slots, 3);
        assert_eq!(
            pieces.iter().map(|piece| piece.iov_len).collect::<Vec<_>>(),
            [12288, 12288, 12288, 4096]
        );
        assert!(arena.pieces(4095).is_none());
    }

    #[test]
    #[should_panic(expected = "in flight")]
    fn a_lent_slot_has_no_buffer() {
        let mut arena = Arena::new(2, 4096).expect("small");
        arena.lend(1);
        arena.buffer(1);
    }

    #[test]
    #[should_panic(expected = "in flight")]
    fn a_slot_is_lent_only_once() {
        let mut arena = Arena::new(2, 4096).expect("small");
        arena.lend(1);
        arena.lend(1);
    }

    #[test]
    #[should_panic(expected = "was not in flight")]
    fn an_unexpected_completion_panics() {
        Arena::new(2, 4096).expect("small").take_back(0);
    }

    /// msync(2) returns ENOMEM for memory that is not mapped.
    fn is_mapped(address: *mut u8) -> bool {
        // SAFETY: msync of anonymous memory changes nothing, whether it is mapped or not.
        unsafe { libc::msync(address.cast(), PAGE, libc::MS_ASYNC) == 0 }
    }

    /// Uses a size that no other test maps, so that its addresses are not reused at once.
    fn mapped_after(lend: bool, end_loans: bool) -> bool {
        let mut arena = Arena::new(3, 40 * PAGE as u32).expect("small");
        let address = arena.address(1);
        if lend {
            arena.lend(1);
        }
        if end_loans {
            arena.end_loans();
        }
        drop(arena);
        is_mapped(address)
    }

    #[test]
    fn memory_in_flight_outlives_its_arena() {
        assert!(mapped_after(true, false));
        // Other tests map memory too, so at least one of several attempts must see its addresses
        // unused.
        assert!((0..50).any(|_| !mapped_after(false, false)));
        assert!((0..50).any(|_| !mapped_after(true, true)));
    }

    #[test]
    fn too_much_memory_is_refused_with_a_message() {
        let refused = Arena::new(u32::MAX, u32::MAX).expect_err("2^64 bytes");
        assert_eq!(refused.errno, libc::ENOMEM);
        assert!(refused.what.contains("iodepth"), "{}", refused.what);
    }
}
