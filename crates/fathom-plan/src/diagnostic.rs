//! Errors and warnings about a command line or job file: where, what, and how to fix it.

use std::fmt;

use crate::span::Span;

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information; the result is the same.
    Note,
    /// The run is possible, but may not be what was intended.
    Warning,
    /// The jobs cannot run.
    Error,
}

/// One error, warning or note, with its location and a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error, warning or note.
    pub severity: Severity,
    /// Its location.
    pub at: Span,
    /// The canonical name of the option it is about.
    pub option: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// How to fix it.
    pub advice: Option<String>,
}

impl Diagnostic {
    /// An error that is not about an option.
    #[must_use]
    pub fn error(at: Span, problem: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            at,
            option: None,
            problem: problem.into(),
            advice: None,
        }
    }

    /// A warning that is not about an option.
    #[must_use]
    pub fn warning(at: Span, problem: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(at, problem)
        }
    }

    /// A note that is not about an option.
    #[must_use]
    pub fn note(at: Span, problem: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Note,
            ..Diagnostic::error(at, problem)
        }
    }

    /// Sets the option.
    #[must_use]
    pub fn about(mut self, option: impl Into<String>) -> Self {
        self.option = Some(option.into());
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Whether this is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.at)?;
        match self.severity {
            Severity::Error => {}
            Severity::Warning => f.write_str("warning: ")?,
            Severity::Note => f.write_str("note: ")?,
        }
        if let Some(option) = &self.option {
            write!(f, "{option}: ")?;
        }
        f.write_str(&self.problem)?;
        match &self.advice {
            Some(advice) => write!(f, " ({advice})"),
            None => Ok(()),
        }
    }
}
