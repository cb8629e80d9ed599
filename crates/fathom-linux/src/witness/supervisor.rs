//! The process between fathom and the command: it starts the command and waits for all of its processes, also for those whose
//! parents end first, so that the kernel adds their counters to its own.
//!
//! It speaks with fathom over two pipes. It writes `ready`, `started PID` or `failed ERRNO`, and `ended STATUS`; fathom writes a
//! byte to start the command, and closes its pipe at the end. If fathom is killed, the command goes on, and the supervisor
//! removes the control groups after it.
#![allow(
    unsafe_code,
    reason = "inherited descriptors, sigaction, prctl and waitpid have no safe form"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::groups;

/// The environment variable with the descriptors of the supervisor.
pub const SUPERVISOR_VARIABLE: &str = "FATHOM_WITNESS_SUPERVISOR";

/// What the supervisor reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Ready,
    Started(u32),
    /// errno.
    Failed(i32),
    /// The status of waitpid(2).
    Ended(i32),
}

impl Report {
    pub(super) fn read(from: &mut BufReader<File>) -> Option<Report> {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let (kind, value) = line
            .trim_end()
            .split_once(' ')
            .unwrap_or((line.trim_end(), ""));
        match kind {
            "ready" => Some(Report::Ready),
            "started" => value.parse().ok().map(Report::Started),
            "failed" => value.parse().ok().map(Report::Failed),
            "ended" => value.parse().ok().map(Report::Ended),
            _ => None,
        }
    }
}

/// The body of the supervisor: starts `command` and waits for all of its processes. `descriptors` is the value of
/// [`SUPERVISOR_VARIABLE`]. Returns the exit code of this process, which nobody reads.
#[must_use]
pub fn supervise(descriptors: &str, command: &[OsString]) -> u8 {
    let Some((control, answers)) = open(descriptors) else {
        return 1;
    };
    keep_after_signals();
    become_subreaper();
    let mut answers = File::from(answers);
    let mut control = File::from(control);
    let _ = answers.write_all(b"ready\n");
    // Without fathom nothing is started.
    if control.read_exact(&mut [0]).is_err() {
        return 1;
    }
    let Some((program, arguments)) = command.split_first() else {
        return 1;
    };
    let child = Command::new(program)
        .arg0(program)
        .args(arguments)
        .env_remove(SUPERVISOR_VARIABLE)
        .spawn();
    let pid = match child {
        Ok(child) => child.id(),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::ENOENT);
            let _ = answers.write_all(format!("failed {errno}\n").as_bytes());
            return 1;
        }
    };
    let _ = answers.write_all(format!("started {pid}\n").as_bytes());
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    // Ends the process when fathom has what it needs: orphans of the command then belong to init.
    let watcher = std::thread::Builder::new().spawn(move || {
        let _ = control.read(&mut [0]);
        if is_over.load(Ordering::Acquire) {
            // The other thread waits for orphans, which may never end.
            #[allow(clippy::exit, reason = "the whole task of this process is over")]
            std::process::exit(0);
        }
        // fathom was killed during the command.
    });
    let status = wait_for(pid);
    over.store(true, Ordering::Release);
    let reported = answers.write_all(format!("ended {status}\n").as_bytes());
    match watcher {
        Ok(watcher) if reported.is_ok() => {
            reap_all();
            let _ = watcher.join();
        }
        _ => {}
    }
    // Only without fathom: it removes the groups itself.
    groups::remove_own();
    0
}

/// The two descriptors; the command does not inherit them.
fn open(descriptors: &str) -> Option<(OwnedFd, OwnedFd)> {
    let (control, answers) = descriptors.split_once(',')?;
    let own = |text: &str| {
        let number: i32 = text.parse().ok().filter(|number| *number > 2)?;
        // SAFETY: fathom opened this descriptor for this process alone; nothing else here uses it.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC).ok()?;
        Some(fd)
    };
    Some((own(control)?, own(answers)?))
}

/// A terminal sends its signals to this process too. A handler that does nothing keeps it alive, and is replaced by the default
/// in the command; signals that are ignored stay ignored.
fn keep_after_signals() {
    for signal in super::signals::FORWARDED {
        super::signals::handle_unless_ignored(signal, nothing as *const () as usize);
    }
    // Without this, nothing could be waited for below a parent that ignores it.
    let mut wanted = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero sigaction is valid; SIG_DFL is an action.
    unsafe {
        (*wanted.as_mut_ptr()).sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGCHLD, wanted.as_ptr(), std::ptr::null_mut());
    }
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// Orphans of the command become children of this process. See PR_SET_CHILD_SUBREAPER(2const).
fn become_subreaper() {
    // SAFETY: takes no memory.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) };
}

/// Waits for children until `pid` has ended, and returns its status.
fn wait_for(pid: u32) -> i32 {
    loop {
        match wait() {
            Some((ended, status)) if ended == pid => return status,
            Some(_) => {}
            // Cannot happen while the command is a child.
            None => return 0,
        }
    }
}

fn reap_all() {
    while wait().is_some() {}
}

/// The next child that ends; `None` without children.
fn wait() -> Option<(u32, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one int.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if pid > 0 {
            return Some((pid.unsigned_abs(), status));
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
}
