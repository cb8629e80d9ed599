//! The message of a process that SIGBUS ends.
//!
//! The store's write-ahead log has an index that its connections share in a mapped file. On a
//! copy-on-write file system (btrfs), a full disk raises SIGBUS in the process that touches such a
//! page. The data on disk is intact by then, but the process would end without an explanation. See
//! signal(7) and mmap(2).
#![allow(unsafe_code)]

use std::sync::OnceLock;

static MESSAGE: OnceLock<String> = OnceLock::new();

/// Installs a handler: an access to a mapped page that cannot be stored then ends the process with
/// exit code 1 and prints `message` on standard error. Only the first call has an effect. The mmap
/// engine handles its own pages.
pub fn sigbus_handler(message: String) {
    if MESSAGE.set(message + "\n").is_err() {
        return;
    }
    // SAFETY: a sigaction is plain data for which zero is valid; the handler only calls
    // async-signal-safe functions.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_bus_error(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo. Everything called here may be
    // called in a signal handler (signal-safety(7)), and the message lives as long as the process.
    unsafe {
        if (*info).si_code <= 0 {
            // Sent by a process: apply the default action.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            return;
        }
        if let Some(message) = MESSAGE.get() {
            libc::write(2, message.as_ptr().cast(), message.len());
        }
        libc::_exit(1)
    }
}
