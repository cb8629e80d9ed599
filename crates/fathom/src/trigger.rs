//! `--trigger-file`, `--trigger-timeout`, `--trigger`: when a file appears, or after a time, the jobs end, their verify states
//! are saved, and a command runs.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_model::Plan;
use fathom_plan::TriggerOptions;

use crate::session::Session;

/// How often the file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Ends a run early.
pub struct Trigger<'a> {
    session: &'a Session,
    options: &'a TriggerOptions,
    started: Instant,
    next_poll: Cell<Instant>,
    fired: Cell<bool>,
}

/// Checks that the trigger file does not exist and is not a target: it is removed when it appears, so it must have been created
/// for this run.
///
/// # Errors
/// What the file is instead.
pub fn check_file(options: &TriggerOptions, plan: &Plan) -> Result<(), String> {
    let Some(file) = options.file.as_ref().map(Path::new) else {
        return Ok(());
    };
    if std::fs::symlink_metadata(file).is_ok() {
        return Err(format!(
            "--trigger-file: {} exists already, and a trigger file is removed when it is found; remove it, or name another file",
            file.display()
        ));
    }
    let location = |path: &Path| {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
        (parent, path.file_name().map(OsStr::to_owned))
    };
    let targets = plan.jobs.iter().flat_map(|job| &job.files.paths);
    if targets
        .into_iter()
        .any(|path| location(path) == location(file))
    {
        return Err(format!(
            "--trigger-file: {} is a target of this run; name another file",
            file.display()
        ));
    }
    Ok(())
}

impl<'a> Trigger<'a> {
    /// Starts the time of `--trigger-timeout`.
    pub fn new(session: &'a Session, options: &'a TriggerOptions) -> Trigger<'a> {
        let started = session.now();
        Trigger {
            session,
            options,
            started,
            next_poll: Cell::new(started),
            fired: Cell::new(false),
        }
    }

    /// Whether the run should end. The file is removed.
    pub fn poll(&self) -> bool {
        if self.fired.get() {
            return true;
        }
        let timed_out = self.options.after.is_some_and(|after| {
            self.session.elapsed(self.started) >= Duration::from_nanos(after.get())
        });
        self.fired.set(timed_out || self.file_appeared());
        self.fired.get()
    }

    fn file_appeared(&self) -> bool {
        let now = self.session.now();
        let Some(file) = self
            .options
            .file
            .as_ref()
            .filter(|_| now >= self.next_poll.get())
        else {
            return false;
        };
        self.next_poll.set(now + POLL_INTERVAL);
        std::fs::remove_file(file).is_ok()
    }

    /// Whether the trigger ended the run.
    pub fn has_fired(&self) -> bool {
        self.fired.get()
    }

    /// Runs the command. Its output goes to standard error, so that it does not mix with a document.
    ///
    /// # Errors
    /// When it cannot be run or fails.
    pub fn run_command(&self) -> Result<(), String> {
        let Some(line) = self.options.command.as_ref().filter(|_| self.has_fired()) else {
            return Ok(());
        };
        let failed = |what: String| Err(format!("--trigger: '{line}' {what}"));
        let done = Command::new("/bin/sh")
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status();
        match done {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => failed(format!("ended with {status}")),
            Err(error) => failed(format!("cannot be run: {error}")),
        }
    }
}
