//! The exit code of the program.

use std::process::ExitCode;

/// The outcome of a command, as its exit code tells the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run is valid, or the request was answered.
    Good,
    /// It ran, but a finding makes it invalid or an I/O failed.
    Bad,
    /// The request was refused: bad input, unsafe target.
    Refused,
    /// Interrupted; the partial result was kept.
    Interrupted,
    /// fio's own code.
    Fio(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Good => 0,
            Outcome::Bad => 1,
            Outcome::Refused => 2,
            Outcome::Interrupted => 130,
            Outcome::Fio(code) => code,
        })
    }
}
