//! Copies that survive SIGBUS.
//!
//! Accessing a mapped page raises SIGBUS if the file was truncated or the device cannot read the
//! page. The handler replaces the page by an empty one so that the copy can finish; the copy then
//! reports the failure. Other faults are passed to the previous handler.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

use super::page_size;
use crate::engines::last_errno;

thread_local! {
    // Only this thread and its own signal handler access these; they are atomics so that the
    // compiler makes no assumptions.
    static START: AtomicUsize = const { AtomicUsize::new(0) };
    static END: AtomicUsize = const { AtomicUsize::new(0) };
    static FAULTED: AtomicBool = const { AtomicBool::new(false) };
}

static PREVIOUS_ACTION: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once per process.
pub(super) fn install() -> Result<(), i32> {
    static DONE: OnceLock<Result<(), i32>> = OnceLock::new();
    *DONE.get_or_init(|| {
        PREVIOUS_ACTION.get_or_init(|| {
            // SAFETY: a sigaction is plain data for which zero is valid; the call only writes to
            // it.
            unsafe {
                let mut previous: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut previous);
                previous
            }
        });
        // SAFETY: as above; the handler only calls async-signal-safe functions.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
        };
        if result == 0 {
            Ok(())
        } else {
            Err(last_errno())
        }
    })
}

extern "C" fn on_bus_error(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo, whose address field SIGBUS fills.
    let (address, sent) = unsafe { ((*info).si_addr() as usize, (*info).si_code <= 0) };
    let guarded = !sent
        && address >= START.with(|start| start.load(Ordering::Relaxed))
        && address < END.with(|end| end.load(Ordering::Relaxed));
    if guarded && replace_page(address) {
        FAULTED.with(|faulted| faulted.store(true, Ordering::Relaxed));
        return;
    }
    pass_to_previous_handler(sent);
}

fn replace_page(address: usize) -> bool {
    let page = (address & !(page_size() - 1)) as *mut libc::c_void;
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
    );
    // SAFETY: the page is in the guarded range, which is part of a mapping owned by the guarded
    // copy.
    unsafe { libc::mmap(page, page_size(), prot, flags, -1, 0) != libc::MAP_FAILED }
}

/// Not our fault: it is raised again under the previous handler.
fn pass_to_previous_handler(sent: bool) {
    let Some(previous) = PREVIOUS_ACTION.get() else {
        return;
    };
    // SAFETY: `previous` is the action that the kernel returned for this signal.
    unsafe {
        libc::sigaction(libc::SIGBUS, previous, std::ptr::null_mut());
        if sent {
            libc::raise(libc::SIGBUS);
        }
    }
}

/// Copies `len` bytes, of which those in the mapped range at `mapped` may fault. Returns whether
/// none did.
///
/// # Safety
/// Both addresses must be valid for `len` bytes, apart from SIGBUS in the range that starts at
/// `mapped`. That range, widened to whole pages, must belong to one mapping of the caller to which
/// no references exist.
#[inline]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, len: usize, mapped: *const u8) -> bool {
    FAULTED.with(|faulted| faulted.store(false, Ordering::Relaxed));
    START.with(|start| start.store(mapped as usize, Ordering::Relaxed));
    END.with(|end| end.store(mapped as usize + len, Ordering::Relaxed));
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the caller guarantees both ranges; one is a buffer slot and the other a file mapping,
    // so they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
    compiler_fence(Ordering::SeqCst);
    END.with(|end| end.store(0, Ordering::Relaxed));
    !FAULTED.with(|faulted| faulted.load(Ordering::Relaxed))
}
