//! The two outputs of commands: answers, and what is wrong. Neither a reader who left nor a full device is a panic.

use std::io::{ErrorKind, Write};

use crate::outcome::Outcome;

/// Writes a line to the error stream; where that cannot be written, nobody reads it.
macro_rules! eprint_line {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($part)*);
    }};
}
pub(crate) use eprint_line;

/// Answers with a text on the standard output. A reader who has seen enough is no mistake; a full device is.
pub fn print(text: &str) -> Outcome {
    print_bytes(text.as_bytes())
}

/// Answers with a document that is no text.
pub fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprint_line!("fathom: the answer could not be written to the standard output: {error}");
            Outcome::Bad
        }
        _ => Outcome::Good,
    }
}
