//! What is wrong or doubtful in a request: where, what, and how to mend it.

use std::fmt;

use crate::span::Span;

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost, but the user may like to know.
    Note,
    /// The run can be made, but may not mean what was meant.
    Warning,
    /// There is no plan.
    Error,
}

/// One mistake or doubt, at its place, with the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error, warning or note.
    pub severity: Severity,
    /// Where it was written.
    pub at: Span,
    /// The option it is about, under its canonical name.
    pub option: Option<String>,
    /// What is the matter.
    pub problem: String,
    /// How to mend it.
    pub advice: Option<String>,
}

impl Diagnostic {
    /// An error about no option in particular.
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

    /// A warning about no option in particular.
    #[must_use]
    pub fn warning(at: Span, problem: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(at, problem)
        }
    }

    /// A remark about no option in particular.
    #[must_use]
    pub fn note(at: Span, problem: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Note,
            ..Diagnostic::error(at, problem)
        }
    }

    /// The same, about `option`.
    #[must_use]
    pub fn about(mut self, option: impl Into<String>) -> Self {
        self.option = Some(option.into());
        self
    }

    /// The same, with a way out.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Whether this prevents a plan.
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
