//! `--trigger-file`, `--trigger-timeout`, `--trigger`: a file that appears, or a time, ends the jobs; their states are saved, and
//! then a command is run.

use std::cell::Cell;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_plan::TriggerOptions;

/// How often the file is looked for.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What ends a run before its time.
pub struct Trigger<'a> {
    wish: &'a TriggerOptions,
    begun: Instant,
    next_look: Cell<Instant>,
    pulled: Cell<bool>,
}

impl<'a> Trigger<'a> {
    /// Time is counted from now.
    pub fn new(wish: &'a TriggerOptions) -> Trigger<'a> {
        let begun = Instant::now();
        Trigger {
            wish,
            begun,
            next_look: Cell::new(begun),
            pulled: Cell::new(false),
        }
    }

    /// Whether the run is to end. The file is a wish: it is removed.
    pub fn is_pulled(&self) -> bool {
        if self.pulled.get() {
            return true;
        }
        let late = self
            .wish
            .after
            .is_some_and(|after| self.begun.elapsed() >= Duration::from_nanos(after.get()));
        self.pulled.set(late || self.file_appeared());
        self.pulled.get()
    }

    fn file_appeared(&self) -> bool {
        let now = Instant::now();
        let Some(file) = self
            .wish
            .file
            .as_ref()
            .filter(|_| now >= self.next_look.get())
        else {
            return false;
        };
        self.next_look.set(now + LOOK_UP);
        std::fs::remove_file(file).is_ok()
    }

    /// Whether it ended the run.
    pub fn ended_the_run(&self) -> bool {
        self.pulled.get()
    }

    /// Runs the command. What it says goes to the error stream, so that no document is spoilt.
    ///
    /// # Errors
    /// When it cannot be run or does not succeed, in words.
    pub fn shoot(&self) -> Result<(), String> {
        let Some(line) = self.wish.command.as_ref().filter(|_| self.ended_the_run()) else {
            return Ok(());
        };
        let told = |what: String| Err(format!("--trigger: '{line}' {what}"));
        let done = Command::new("/bin/sh")
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status();
        match done {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => told(format!("ended with {status}")),
            Err(error) => told(format!("cannot be run: {error}")),
        }
    }
}
