//! Copies that survive SIGBUS.
//!
//! Touching a mapped page whose file was cut short, or that cannot be read from the device, raises SIGBUS. Here the page is
//! replaced by an empty one so that the copy can run to its end, and the copy then says that it failed. Faults that belong
//! to nobody here go to whoever handled SIGBUS before.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

use super::PAGE;
use crate::engines::last_errno;

thread_local! {
    // Only this thread and its own signal handler read and write these; atomics so that the compiler assumes nothing.
    static START: AtomicUsize = const { AtomicUsize::new(0) };
    static END: AtomicUsize = const { AtomicUsize::new(0) };
    static FAULTED: AtomicBool = const { AtomicBool::new(false) };
}

static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Puts the handler in place, once for the process.
pub(super) fn install() -> Result<(), i32> {
    static DONE: OnceLock<Result<(), i32>> = OnceLock::new();
    *DONE.get_or_init(|| {
        BEFORE.get_or_init(|| {
            // SAFETY: a sigaction is plain data for which zero is a value; the call only writes to it.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before);
                before
            }
        });
        // SAFETY: as above; the handler does nothing but what a signal handler may.
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
    hand_on(sent);
}

fn replace_page(address: usize) -> bool {
    let page = (address & !(PAGE - 1)) as *mut libc::c_void;
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
    );
    // SAFETY: the page lies in the guarded range, which is part of a mapping that the guarded copy owns.
    unsafe { libc::mmap(page, PAGE, prot, flags, -1, 0) != libc::MAP_FAILED }
}

/// Not ours: the fault happens again under the handler that was there before.
fn hand_on(sent: bool) {
    let Some(before) = BEFORE.get() else { return };
    // SAFETY: `before` is what the kernel gave us as the action of this signal.
    unsafe {
        libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut());
        if sent {
            libc::raise(libc::SIGBUS);
        }
    }
}

/// Copies `len` bytes, of which those in the mapped range `mapped` may fault. Returns whether none did.
///
/// # Safety
/// Both addresses must be good for `len` bytes, apart from SIGBUS in the one that starts at `mapped`; that range, widened to
/// whole pages, must belong to one mapping of the caller's, to which no references exist.
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, len: usize, mapped: *const u8) -> bool {
    FAULTED.with(|faulted| faulted.store(false, Ordering::Relaxed));
    START.with(|start| start.store(mapped as usize, Ordering::Relaxed));
    END.with(|end| end.store(mapped as usize + len, Ordering::Relaxed));
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the caller promises both ranges; one is a buffer slot and the other a file mapping, so they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
    compiler_fence(Ordering::SeqCst);
    END.with(|end| end.store(0, Ordering::Relaxed));
    !FAULTED.with(|faulted| faulted.load(Ordering::Relaxed))
}
