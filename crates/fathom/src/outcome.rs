//! The exit code of the program.

use std::process::ExitCode;

/// The outcome of a command, which determines its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run is valid, or the request was answered.
    Good,
    /// It ran, but a finding makes it invalid or an I/O failed.
    Bad,
    /// The request was refused: bad input, unsafe target.
    Refused,
    /// The results do not show whether a limit is exceeded.
    Undecided,
    /// Interrupted; the partial result was kept.
    Interrupted,
    /// fio's own code.
    Fio(u8),
    /// The code of a command that `fathom witness` ran.
    Command(u8),
}

/// Every exit code and its meaning; `docs/reference/formats.md` has the same list.
const EXIT_CODES: [(Outcome, u8, &str); 5] = [
    (Outcome::Good, 0, "the results are valid or degraded"),
    (
        Outcome::Bad,
        1,
        "the results are invalid, an I/O failed, a limit of `compare` or `ready` fails, or `durable` finds a loss",
    ),
    (Outcome::Refused, 2, "refused: the run was not started"),
    (
        Outcome::Undecided,
        3,
        "`compare`: no limit fails, but at least one is inconclusive; `ready`, `durable` and `limits`: undecided; `why`: not known",
    ),
    (Outcome::Interrupted, 130, "interrupted"),
];

/// The exit codes of `fathom fio`, which are fio's, and their meanings.
#[cfg(test)]
const FIO_EXIT_CODES: [(&str, &str); 3] = [
    ("0", "no job failed"),
    ("1 to 127", "number of failed jobs"),
    ("128", "interrupted"),
];
/// fio's exit code after an interrupt.
pub const FIO_INTERRUPTED: u8 = 128;
/// The highest number of failed jobs that fio's exit code can express.
pub const FIO_MAX_FAILED: u32 = 127;

impl Outcome {
    fn code(self) -> u8 {
        if let Outcome::Fio(code) | Outcome::Command(code) = self {
            return code;
        }
        let row = EXIT_CODES.iter().find(|(outcome, ..)| *outcome == self);
        row.expect("every outcome has an exit code").1
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(outcome.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/reference/formats.md");

    /// The cells of the table below `heading`.
    fn table(heading: &str) -> Vec<(String, String)> {
        let below = PAGE
            .split_once(heading)
            .expect("the page has the heading")
            .1;
        below
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .map(|line| {
                let mut cells = line.trim_matches('|').split('|').map(str::trim);
                let mut next = || cells.next().unwrap_or_default().to_owned();
                (next(), next())
            })
            .collect()
    }

    #[test]
    fn exit_codes_are_documented() {
        let codes = EXIT_CODES.map(|(_, code, meaning)| (code.to_string(), meaning.to_owned()));
        assert_eq!(table("## Exit codes"), codes);
        let fio = FIO_EXIT_CODES.map(|(code, meaning)| (code.to_owned(), meaning.to_owned()));
        assert_eq!(table("`fathom fio` has fio's exit codes"), fio);
        assert_eq!(FIO_EXIT_CODES[2].0, FIO_INTERRUPTED.to_string());
        assert!(FIO_EXIT_CODES[1].0.ends_with(&FIO_MAX_FAILED.to_string()));
    }

    #[test]
    fn every_outcome_has_its_exit_code() {
        let outcomes = [
            Outcome::Good,
            Outcome::Bad,
            Outcome::Refused,
            Outcome::Undecided,
            Outcome::Interrupted,
            Outcome::Fio(128),
        ];
        assert_eq!(outcomes.map(Outcome::code), [0, 1, 2, 3, 130, 128]);
    }
}
