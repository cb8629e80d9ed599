//! A command in a process of its own, for questions that may never be answered.
//!
//! A thread that waits for a device that hangs cannot be ended, and its process does not end before it. So the questions are put
//! by a child that does all the work and the printing; the parent learns how it ended by a byte, and leaves without it.

use std::fs::File;
use std::io::{PipeReader, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use crate::outcome::Outcome;

/// Says to the child that it is one, and that its standard input takes the answer.
const MARK: &str = "FATHOM_ANSWERS_BELOW";

/// Does `command` with `arguments` in a child that was started by the same words. Where none can be started, it is done here.
pub fn run_in_child(
    word: &str,
    arguments: &[String],
    command: fn(&[String]) -> Outcome,
) -> Outcome {
    if std::env::var_os(MARK).is_some() {
        let outcome = command(arguments);
        answer(outcome);
        return outcome;
    }
    match child(word, arguments) {
        Some((child, answer)) => heard(child, answer),
        None => command(arguments),
    }
}

fn child(word: &str, arguments: &[String]) -> Option<(Child, PipeReader)> {
    let (reader, writer) = pipe().ok()?;
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .arg(word)
        .args(arguments)
        .env(MARK, "1")
        .stdin(Stdio::from(OwnedFd::from(writer)));
    // The command, with its copy of the writing end, is dropped here: a child that ends in silence ends the pipe.
    Some((command.spawn().ok()?, reader))
}

/// Without an answer the child has ended, by itself or by a signal.
fn heard(mut child: Child, mut answer: PipeReader) -> Outcome {
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
        130 => Outcome::Interrupted,
        _ => Outcome::Bad,
    }
}

/// Lets go of the outputs, so that nobody waits for more, and tells the parent.
fn answer(outcome: Outcome) {
    let code = match outcome {
        Outcome::Good => 0,
        Outcome::Bad | Outcome::Fio(_) => 1,
        Outcome::Refused => 2,
        Outcome::Interrupted => 130,
    };
    if let Ok(nowhere) = File::open("/dev/null") {
        let _ = (
            rustix::stdio::dup2_stdout(&nowhere),
            rustix::stdio::dup2_stderr(&nowhere),
        );
    }
    let parent = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from);
    // A parent that is gone needs no answer.
    let _ = parent.and_then(|mut parent| parent.write_all(&[code]));
}
