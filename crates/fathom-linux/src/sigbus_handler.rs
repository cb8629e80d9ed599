//! What is said when a page of a mapped file finds no place.
//!
//! The log of a store has an index that its connections share in a mapped file. On a file system that writes every page to a
//! new place (btrfs), a full disk is told to who touches such a page, with SIGBUS: what is on disk by then is whole, but
//! nobody could say why the process ended. See signal(7) and mmap(2).
#![allow(unsafe_code)]

use std::sync::OnceLock;

static WORDS: OnceLock<String> = OnceLock::new();

/// From now on a page that cannot be kept ends the process with exit code 1, and `words` on the standard error. The first
/// words count. The engine that maps its targets looks after its own pages.
pub fn sigbus_handler(words: String) {
    if WORDS.set(words + "\n").is_err() {
        return;
    }
    // SAFETY: a sigaction is plain data for which zero is a value; the handler does nothing but what a signal handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_bus_error(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo; all that is called may be called in a signal handler
    // (signal-safety(7)), and the words live as long as the process.
    unsafe {
        if (*info).si_code <= 0 {
            // Somebody sent it: it does what it does elsewhere.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        }
        if let Some(words) = WORDS.get() {
            libc::write(2, words.as_ptr().cast(), words.len());
        }
        libc::_exit(1)
    }
}
