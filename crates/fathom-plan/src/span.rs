//! Locations in job files and command lines.

use std::fmt;
use std::sync::Arc;

/// A location in a job file, or an argument of the command line. Lines, columns and arguments count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// A character of a job file.
    File {
        /// Name of the file as given.
        name: Arc<str>,
        /// Line.
        line: u32,
        /// Column in characters.
        column: u32,
    },
    /// The Nth argument after the program's name.
    Argument(u32),
    /// An option that replaces one of the jobs, as its text: `--set bs=4k`.
    Override(Arc<str>),
    /// The command line as a whole.
    CommandLine,
}

impl Span {
    /// The same line, `columns` further right; other locations are unchanged.
    #[must_use]
    pub fn right(&self, columns: usize) -> Span {
        match self {
            Span::File { name, line, column } => Span::File {
                name: Arc::clone(name),
                line: *line,
                column: column.saturating_add(u32::try_from(columns).unwrap_or(u32::MAX)),
            },
            other => other.clone(),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Span::Argument(n) => write!(f, "argument {n}"),
            Span::Override(text) => f.write_str(text),
            Span::CommandLine => f.write_str("command line"),
        }
    }
}
