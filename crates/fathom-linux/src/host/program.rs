//! Runs a program beside the load (`ioengine=exec`).

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fathom_load::HostError;
use fathom_model::Program;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::error::refused;

/// Interval between two checks of the program.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs the program until it ends or `stop` returns true. Then it receives SIGTERM, and SIGKILL
/// after the grace time.
pub(super) fn run_program(
    program: &Program,
    name: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Option<String>, HostError> {
    let mut group = ProgramGroup::start();
    let child = start(program, name, group.as_ref().map(ProgramGroup::id))?;
    let mut running = Running(child, group.take());
    loop {
        if let Some(status) = running.ended()? {
            running.leave_others();
            return Ok((!status.success())
                .then(|| format!("{} ended before the job with {status}", program.path)));
        }
        if stop() {
            running.end(Duration::from_nanos(program.grace.get()))?;
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The process group of a program and of all that it starts, with a watcher that kills the group when
/// this process ends, however it ends: the kernel's own signal reaches only the program itself.
struct ProgramGroup {
    watcher: Child,
    /// The watcher reads the other end of this pipe, which is closed with this process.
    _alive: std::io::PipeWriter,
}

impl ProgramGroup {
    /// `None` if the watcher cannot be started; the program is then the only process that surely ends.
    fn start() -> Option<ProgramGroup> {
        let (read, alive) = std::io::pipe().ok()?;
        let watcher = Command::new("/bin/sh")
            .args(["-c", "trap '' HUP INT TERM; read line; kill -KILL 0"])
            .stdin(read)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        Some(ProgramGroup {
            watcher,
            _alive: alive,
        })
    }

    fn id(&self) -> i32 {
        self.watcher.id().cast_signed()
    }
}

fn start(program: &Program, name: &str, group: Option<i32>) -> Result<Child, HostError> {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).stdin(Stdio::null());
    if program.redirect {
        command
            .stdout(output(name, "stdout")?)
            .stderr(output(name, "stderr")?);
    }
    if let Some(group) = group {
        command.process_group(group);
    }
    end_with_this_process(&mut command);
    command.spawn().map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        refused(
            errno,
            format!(
                "cannot start '{}': program= must be a path, or a name that is found in PATH",
                program.path
            ),
        )
    })
}

/// Makes the kernel kill the program when the thread that starts it ends, and this thread waits for
/// the program: so it ends also when fathom is killed. See PR_SET_PDEATHSIG(2const).
#[allow(
    unsafe_code,
    reason = "what a child does between fork and exec has no safe form"
)]
fn end_with_this_process(command: &mut Command) {
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    let in_child = move || {
        // SAFETY: both calls take no memory and are async-signal-safe.
        let (set, parent_now) = unsafe {
            (
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong),
                libc::getppid(),
            )
        };
        match (set, parent_now == parent) {
            (0, true) => Ok(()),
            // The parent was killed before the request.
            (0, false) => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure only makes two system calls and allocates nothing.
    unsafe {
        command.pre_exec(in_child);
    }
}

fn output(name: &str, what: &str) -> Result<File, HostError> {
    let path = format!("{}.{what}", name.replace('/', "_"));
    crate::Outputs::default()
        .stream(std::path::Path::new(&path), crate::OutputName::Implicit)
        .map_err(|error| {
        let errno = std::io::Error::from(error).raw_os_error().unwrap_or(libc::EIO);
        refused(errno, format!("cannot write {path} for the output of the program (std_redirect=0 disables the redirection)"))
    })
}

/// A program that never outlives the job, however the job ends; neither does what it started, unless the
/// program ended first.
struct Running(Child, Option<ProgramGroup>);

impl Running {
    /// The program ended by itself: what it left running stays.
    fn leave_others(&mut self) {
        if let Some(mut group) = self.1.take() {
            let _ = group.watcher.kill();
            let _ = group.watcher.wait();
        }
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, HostError> {
        self.0.try_wait().map_err(|error| {
            refused(
                error.raw_os_error().unwrap_or(libc::ECHILD),
                "cannot wait for the program".to_owned(),
            )
        })
    }

    fn end(&mut self, grace: Duration) -> Result<(), HostError> {
        let started = Instant::now();
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        while started.elapsed() < grace && self.ended()?.is_none() {
            std::thread::sleep(POLL_INTERVAL.min(grace));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
        if let Some(mut group) = self.1.take() {
            if let Some(id) = Pid::from_raw(group.id()) {
                let _ = kill_process_group(id, Signal::KILL);
            }
            let _ = group.watcher.wait();
        }
    }
}
