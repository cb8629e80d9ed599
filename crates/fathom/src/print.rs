//! The two outputs of commands: results, and messages. Neither a closed pipe nor a full device is a panic.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_linux::{OutputName, Outputs};
use fathom_model::format::terminal_text;
use fathom_report::TestCase;

use crate::outcome::Outcome;

/// `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Turns notes off, or on.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether notes are turned off.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a line to standard error; a failure is ignored.
macro_rules! eprint_line {
    ($($part:tt)*) => {
        $crate::print::eprint_text(&format!($($part)*))
    };
}
pub(crate) use eprint_line;

/// Writes a message and a line end to standard error. Names in it cannot control the terminal.
pub fn eprint_text(message: &str) {
    let _ = writeln!(std::io::stderr(), "{}", terminal_text(message));
}

/// Writes a note to standard error, unless `--quiet` is given.
macro_rules! note_line {
    ($($part:tt)*) => {{
        if !$crate::print::is_quiet() {
            $crate::print::eprint_line!($($part)*);
        }
    }};
}
pub(crate) use note_line;

/// Writes a result to the file that `--output` names, else to standard output.
pub fn print_to(output: Option<&Path>, text: &str) -> Outcome {
    let Some(file) = output else {
        return print(text);
    };
    match Outputs::default().write(file, OutputName::Explicit, text.as_bytes()) {
        Ok(()) => Outcome::Good,
        Err(error) => {
            eprint_line!("fathom: {error}");
            Outcome::Bad
        }
    }
}

/// Writes test cases to the file of `--junit`, if there is one.
pub fn write_junit(file: Option<&Path>, suite: &str, class: &str, cases: &[TestCase]) -> Outcome {
    file.map_or(Outcome::Good, |file| {
        print_to(Some(file), &fathom_report::junit(suite, class, cases))
    })
}

/// Writes the commands that a run would start to standard output; nothing if there are none.
pub fn print_commands(commands: &[String]) {
    if !commands.is_empty() {
        let list = fathom_report::command_list(commands, &crate::output::answer_style());
        print(&(list + "\n"));
    }
}

/// Writes a text to standard output. A closed pipe is not an error; a full device is.
pub fn print(text: &str) -> Outcome {
    if std::io::stdout().is_terminal() {
        print_bytes(terminal_text(text).as_bytes())
    } else {
        print_bytes(text.as_bytes())
    }
}

/// Writes a binary document to standard output.
pub fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprint_line!("fathom: cannot write to standard output: {error}");
            Outcome::Bad
        }
        _ => Outcome::Good,
    }
}
