//! Converts signals to counters that the main loop reads.
#![allow(
    unsafe_code,
    reason = "sigaction and prctl have no safe form; the handlers only increment an atomic"
)]

use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
static DUMPS: AtomicU32 = AtomicU32::new(0);

/// The number of SIGINT, SIGTERM and SIGHUP signals since the first call, which installs the
/// handlers: one means drain, two mean abort. SIGHUP stays ignored where it is, as below nohup(1).
/// From then on SIGXFSZ and SIGPIPE are ignored, so that a file size limit or a closed pipe causes
/// an error instead of ending the process.
pub fn interrupts() -> &'static AtomicU32 {
    static TAKEN: Once = Once::new();
    TAKEN.call_once(|| {
        handle(libc::SIGINT, count_interrupt as *const () as usize);
        handle(libc::SIGTERM, count_interrupt as *const () as usize);
        if !is_ignored(libc::SIGHUP) {
            handle(libc::SIGHUP, count_interrupt as *const () as usize);
        }
        handle(libc::SIGXFSZ, libc::SIG_IGN);
        handle(libc::SIGPIPE, libc::SIG_IGN);
    });
    &INTERRUPTS
}

/// The number of SIGUSR1 signals, each a request for the state of the run, since the first call,
/// which installs the handler.
pub fn dump_requests() -> &'static AtomicU32 {
    static TAKEN: Once = Once::new();
    TAKEN.call_once(|| handle(libc::SIGUSR1, count_dump as *const () as usize));
    &DUMPS
}

/// Makes the kernel send SIGTERM to this process when the thread that started it ends. See
/// PR_SET_PDEATHSIG(2const).
///
/// # Errors
/// If the kernel refuses.
pub fn end_with_parent() -> std::io::Result<()> {
    // SAFETY: takes no memory.
    let done = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) };
    if done == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

extern "C" fn count_interrupt(_signal: libc::c_int) {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn count_dump(_signal: libc::c_int) {
    DUMPS.fetch_add(1, Ordering::Relaxed);
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero sigaction is valid, and the kernel only fills it in.
    unsafe {
        let done = libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr());
        done == 0 && (*now.as_ptr()).sa_sigaction == libc::SIG_IGN
    }
}

fn handle(signal: libc::c_int, action: libc::sighandler_t) {
    let mut wanted = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero sigaction is valid (no flags, empty mask). The handlers are functions of
    // the type that a sigaction without SA_SIGINFO calls, they live forever, and they only
    // increment an atomic, which is async-signal-safe. System calls of the load are restarted, so
    // that a signal never looks like a failed I/O.
    let done = unsafe {
        (*wanted.as_mut_ptr()).sa_sigaction = action;
        (*wanted.as_mut_ptr()).sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, wanted.as_ptr(), std::ptr::null_mut())
    };
    debug_assert_eq!(
        done, 0,
        "sigaction fails only for signals that cannot be caught"
    );
}
