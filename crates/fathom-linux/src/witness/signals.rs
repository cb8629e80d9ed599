//! Signals that are passed on to the command.
#![allow(
    unsafe_code,
    reason = "sigaction has no safe form; the handler only writes a byte to a pipe"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::pipe::PipeFlags;

/// Signals that a user sends to a program to end it or to ask it for something.
pub(super) const FORWARDED: [i32; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];
/// Sent by the kernel, as by a terminal to all of its processes: si_code of sigaction(2). libc has no name for it.
const SI_KERNEL: i32 = 0x80;
/// Added to the number of such a signal.
const FROM_KERNEL: u8 = 0x80;

static PIPE: AtomicI32 = AtomicI32::new(-1);

/// Receives the signals from now on, in place of their actions; the bytes of the returned pipe are decoded by [`forwarded`].
pub(super) fn receive() -> io::Result<OwnedFd> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // Stays open for the handler until the process ends.
    let previous = PIPE.swap(write.into_raw_fd(), Ordering::SeqCst);
    if previous >= 0 {
        // SAFETY: the pipe of an earlier command, which nothing else owns; the handler uses the new one from now on.
        drop(unsafe { OwnedFd::from_raw_fd(previous) });
    }
    for signal in FORWARDED {
        handle_unless_ignored(signal, pass_on as *const () as usize);
    }
    Ok(read)
}

/// Signals that arrived, and whether the kernel sent them, so that the command has them already.
pub(super) fn forwarded(pipe: &OwnedFd) -> Vec<(i32, bool)> {
    let mut bytes = [0; 64];
    let read = rustix::io::read(pipe, &mut bytes).unwrap_or(0);
    bytes[..read]
        .iter()
        .map(|byte| (i32::from(byte & !FROM_KERNEL), byte & FROM_KERNEL != 0))
        .collect()
}

/// A command below nohup(1) keeps ignoring its signal.
pub(super) fn handle_unless_ignored(signal: i32, action: libc::sighandler_t) {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    let mut wanted = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all-zero sigactions are valid. Handlers live forever, do only what is async-signal-safe, and take no more
    // arguments than SA_SIGINFO passes.
    unsafe {
        if libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) != 0
            || (*now.as_ptr()).sa_sigaction == libc::SIG_IGN
        {
            return;
        }
        (*wanted.as_mut_ptr()).sa_sigaction = action;
        (*wanted.as_mut_ptr()).sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
        libc::sigaction(signal, wanted.as_ptr(), std::ptr::null_mut());
    }
}

extern "C" fn pass_on(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo with SA_SIGINFO. write(2) is async-signal-safe, and errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let mark = if (*info).si_code == SI_KERNEL {
            FROM_KERNEL
        } else {
            0
        };
        let byte = signal as u8 | mark;
        libc::write(PIPE.load(Ordering::SeqCst), (&raw const byte).cast(), 1);
        *libc::__errno_location() = errno;
    }
}

/// Sends a signal to a process by its descriptor, so that it cannot reach another one.
pub(super) fn send(process: &OwnedFd, signal: i32) {
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
        let _ = rustix::process::pidfd_send_signal(process, signal);
    }
}
