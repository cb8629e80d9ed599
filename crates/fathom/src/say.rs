//! The two outputs of commands: answers, and what is wrong. Neither a reader who left nor a full device is a panic.

use std::io::{ErrorKind, Write};

use crate::outcome::Outcome;

/// Writes a line to the error stream; where that cannot be written, nobody reads it.
macro_rules! complain {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($part)*);
    }};
}
pub(crate) use complain;

/// Answers with a text on the standard output. A reader who has seen enough is no mistake; a full device is.
pub fn say(text: &str) -> Outcome {
    say_bytes(text.as_bytes())
}

/// Answers with a document that is no text.
pub fn say_bytes(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain!("fathom: the answer could not be written to the standard output: {error}");
            Outcome::Bad
        }
        _ => Outcome::Good,
    }
}
