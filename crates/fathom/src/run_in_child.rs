//! A command in a child process, for queries that may never be answered.
//!
//! A thread that waits for a hanging device cannot be killed, and its process cannot end before it. So a child process does
//! all the work and the printing. The parent reads its outcome as one byte, and exits without waiting for the child.

use std::fs::File;
use std::io::{PipeReader, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use crate::outcome::Outcome;

/// Set in the environment of the child, which writes its outcome to its standard input, a pipe.
const MARK: &str = "FATHOM_CHILD_COMMAND";

/// Runs `command` with `arguments` in a child process, or here when none can be started.
pub fn run_in_child(
    name: &str,
    arguments: &[String],
    command: fn(&[String]) -> Outcome,
) -> Outcome {
    if std::env::var_os(MARK).is_some() {
        let outcome = command(arguments);
        send_outcome(outcome);
        return outcome;
    }
    match child(name, arguments) {
        Some((child, answer)) => wait_for(child, answer),
        None => command(arguments),
    }
}

fn child(name: &str, arguments: &[String]) -> Option<(Child, PipeReader)> {
    let (reader, writer) = pipe().ok()?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .arg(name)
        .args(arguments)
        .env(MARK, "1")
        .stdin(Stdio::from(OwnedFd::from(writer)));
    // The command, with its copy of the writing end, is dropped here: a child that ends without an answer closes the pipe.
    Some((command.spawn().ok()?, reader))
}

/// The outcome that the child sends, or its exit code when it ended without.
fn wait_for(mut child: Child, mut answer: PipeReader) -> Outcome {
    let mut byte = [0];
    match answer.read_exact(&mut byte) {
        Ok(()) => outcome(byte[0]),
        Err(_) => child
            .wait()
            .ok()
            .and_then(|status| status.code())
            .map_or(Outcome::Bad, |code| outcome(code as u8)),
    }
}

fn outcome(code: u8) -> Outcome {
    match code {
        0 => Outcome::Good,
        2 => Outcome::Refused,
        3 => Outcome::Undecided,
        130 => Outcome::Interrupted,
        _ => Outcome::Bad,
    }
}

/// Closes the outputs, so that no reader waits for more, and sends the outcome to the parent.
fn send_outcome(outcome: Outcome) {
    let code = match outcome {
        Outcome::Good => 0,
        Outcome::Bad | Outcome::Fio(_) | Outcome::Command(_) => 1,
        Outcome::Refused => 2,
        Outcome::Undecided => 3,
        Outcome::Interrupted => 130,
    };
    if let Ok(null) = File::open("/dev/null") {
        let _ = (
            rustix::stdio::dup2_stdout(&null),
            rustix::stdio::dup2_stderr(&null),
        );
    }
    let parent = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from);
    // Without a parent nobody reads the answer.
    let _ = parent.and_then(|mut parent| parent.write_all(&[code]));
}
