//! The buffers of an engine: one aligned mapping, cut into slots, with a flag for each slot that is in flight.
//!
//! The flags are why the engines are sound. The kernel (or a pool thread) touches a slot only between [`Arena::lend`] and
//! [`Arena::take_back`], and in that time [`Arena::buffer`] refuses to make a reference to it.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use fathom_load::EngineError;

use crate::engines::last_errno;

/// Slots start on this, which satisfies O_DIRECT on every file system there is.
const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// An anonymous private mapping.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to no thread; what may touch which part of it when is the business of `Arena`.
unsafe impl Send for Memory {}
// SAFETY: `&Memory` gives out nothing but addresses.
unsafe impl Sync for Memory {}

impl Memory {
    fn map(len: usize) -> Result<Self, i32> {
        let huge = len.next_multiple_of(HUGE_PAGE);
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

    /// A mapping none of whose pages is there yet.
    pub(crate) fn untouched(len: usize, flags: i32) -> Result<Self, i32> {
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address the kernel chooses touches nothing that exists.
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

    /// Where it begins.
    pub(crate) fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Keeps all of it in memory (mlock(2)). The error is an errno.
    pub(crate) fn lock(&self) -> Result<(), i32> {
        // SAFETY: the range is exactly our own mapping, whose content does not change.
        let done = unsafe { libc::mlock(self.base.as_ptr().cast(), self.len) };
        if done == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Asks for huge pages and takes all page faults now, so that no I/O pays for them. Both are only advice.
    fn prefault(&self) {
        for advice in [libc::MADV_HUGEPAGE, libc::MADV_POPULATE_WRITE] {
            if advice == libc::MADV_HUGEPAGE && self.len < HUGE_PAGE {
                continue;
            }
            // SAFETY: the range is exactly our own mapping, and neither advice changes its content.
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, advice) };
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is exactly our mapping, and the last owner is going: no address of it is used any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// One buffer for each slot, each starting on a page.
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
            what: format!(
                "no memory for {depth} buffers of {size} bytes; lower iodepth or bs, or raise the memory limit of this process or cgroup"
            ),
        };
        let stride = size.max(1).next_multiple_of(PAGE);
        let len = stride
            .checked_mul(depth)
            .ok_or_else(|| refused(libc::ENOMEM))?;
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

    /// Bytes of a slot that may be used.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size as u32
    }

    /// How many slots are in flight.
    #[inline]
    pub(crate) fn lent(&self) -> u32 {
        self.lent
    }

    /// A second owner of the memory, for those who may still touch it when the engine is gone.
    pub(crate) fn keeper(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    /// The whole memory in pieces of at most `limit` bytes that hold whole slots, and how many slots are in one.
    /// `None` when a slot is larger than `limit`.
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
    /// When it is in flight, or there is no such slot.
    #[inline]
    pub(crate) fn buffer(&mut self, slot: u32) -> &mut [u8] {
        assert!(!self.in_flight[slot as usize], "slot {slot} is in flight");
        // SAFETY: the slot lies within the mapping (its flag exists), nobody else touches it (it is not in flight),
        // slots do not overlap, and the exclusive borrow of `self` keeps it from being lent while the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.size) }
    }

    /// Gives a slot away until [`Self::take_back`]. The address is good for [`Self::size`] bytes.
    ///
    /// # Panics
    /// When it is in flight already, or there is no such slot.
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
    /// When it was not in flight: a completion nobody waits for.
    #[inline]
    pub(crate) fn take_back(&mut self, slot: u32) {
        let flag = &mut self.in_flight[slot as usize];
        assert!(*flag, "slot {slot} completed but was not in flight");
        *flag = false;
        self.lent -= 1;
    }

    /// Nobody touches the memory any more who does not own it too: it may go when its owners do.
    pub(crate) fn settle(&mut self) {
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
    /// Memory that is still lent is never given back to the kernel: whoever holds it may yet write to it.
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
    fn slots_are_aligned_apart_and_as_large_as_asked() {
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
    fn a_lent_slot_is_not_handed_out() {
        let mut arena = Arena::new(2, 4096).expect("small");
        arena.lend(1);
        arena.buffer(1);
    }

    #[test]
    #[should_panic(expected = "in flight")]
    fn a_slot_is_lent_once() {
        let mut arena = Arena::new(2, 4096).expect("small");
        arena.lend(1);
        arena.lend(1);
    }

    #[test]
    #[should_panic(expected = "was not in flight")]
    fn a_completion_out_of_nowhere_is_noticed() {
        Arena::new(2, 4096).expect("small").take_back(0);
    }

    /// msync(2) says ENOMEM for what is not mapped.
    fn is_mapped(address: *mut u8) -> bool {
        // SAFETY: msync of anonymous memory changes nothing, whether it is there or not.
        unsafe { libc::msync(address.cast(), PAGE, libc::MS_ASYNC) == 0 }
    }

    /// A size that no other test maps, so that its addresses are not taken again at once.
    fn mapped_after(lend: bool, settle: bool) -> bool {
        let mut arena = Arena::new(3, 40 * PAGE as u32).expect("small");
        let address = arena.address(1);
        if lend {
            arena.lend(1);
        }
        if settle {
            arena.settle();
        }
        drop(arena);
        is_mapped(address)
    }

    #[test]
    fn memory_in_flight_outlives_its_arena() {
        assert!(mapped_after(true, false));
        // Other tests map memory too; one of some tries has its addresses to itself.
        assert!((0..50).any(|_| !mapped_after(false, false)));
        assert!((0..50).any(|_| !mapped_after(true, true)));
    }

    #[test]
    fn more_memory_than_there_is_is_refused_in_words() {
        let refused = Arena::new(u32::MAX, u32::MAX).expect_err("2^64 bytes");
        assert_eq!(refused.errno, libc::ENOMEM);
        assert!(refused.what.contains("iodepth"), "{}", refused.what);
    }
}
