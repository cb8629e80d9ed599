//! A program that runs beside the load (`ioengine=exec`).

use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fathom_load::HostError;
use fathom_model::Program;
use rustix::process::{Pid, Signal, kill_process};

use super::error::refused;

/// How often the program is looked after.
const LOOK_UP: Duration = Duration::from_millis(20);

/// Runs it until it ends or `stop` says so: then it is asked to end, and made to after the time of grace.
pub(super) fn accompany(
    program: &Program,
    name: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Option<String>, HostError> {
    let mut running = Running(start(program, name)?);
    loop {
        if let Some(status) = running.ended()? {
            return Ok((!status.success())
                .then(|| format!("{} ended by itself with {status}", program.path)));
        }
        if stop() {
            running.end(Duration::from_nanos(program.grace.get()))?;
            return Ok(None);
        }
        std::thread::sleep(LOOK_UP);
    }
}

fn start(program: &Program, name: &str) -> Result<Child, HostError> {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).stdin(Stdio::null());
    if program.redirect {
        command
            .stdout(output(name, "stdout")?)
            .stderr(output(name, "stderr")?);
    }
    command.spawn().map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        refused(
            errno,
            format!(
                "cannot start '{}': program= is a path, or a name that is looked for in PATH",
                program.path
            ),
        )
    })
}

fn output(name: &str, what: &str) -> Result<File, HostError> {
    let path = format!("{}.{what}", name.replace('/', "_"));
    File::create(&path).map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        refused(errno, format!("cannot write {path}, where the output of the program goes (std_redirect=0 leaves it where it is)"))
    })
}

/// A program that does not outlive the job, however that ends.
struct Running(Child);

impl Running {
    fn ended(&mut self) -> Result<Option<ExitStatus>, HostError> {
        self.0.try_wait().map_err(|error| {
            refused(
                error.raw_os_error().unwrap_or(libc::ECHILD),
                "cannot wait for the program".to_owned(),
            )
        })
    }

    fn end(&mut self, grace: Duration) -> Result<(), HostError> {
        let asked = Instant::now();
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        while asked.elapsed() < grace && self.ended()?.is_none() {
            std::thread::sleep(LOOK_UP.min(grace));
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
    }
}
