//! Errors of model files, compositions and parameters.

use std::fmt;

/// Where a model is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or "device" for a composition on the command line.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset in a text.
    #[must_use]
    pub fn of(source: &str, text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            source: source.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.source, self.line, self.column)
    }
}

/// Why a model cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Where.
    pub place: Place,
    /// The problem and how to fix it.
    pub problem: String,
}

impl ModelError {
    /// An error at a place.
    pub fn at(place: &Place, problem: impl Into<String>) -> Self {
        ModelError {
            place: place.clone(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for ModelError {}

/// A parameter with a value that a model cannot have. The file that the user wrote is not known here: the
/// kinds add the place and make it a [`ModelError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The name of the parameter, as in the model file.
    pub parameter: &'static str,
    /// What is wrong, and which values are possible.
    pub problem: String,
}

impl ParameterError {
    pub(crate) fn new(parameter: &'static str, problem: impl Into<String>) -> Self {
        ParameterError {
            parameter,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.problem)
    }
}

impl std::error::Error for ParameterError {}

/// Fails with the parameter's name unless the condition holds.
pub(crate) fn require(
    holds: bool,
    parameter: &'static str,
    problem: impl Into<String>,
) -> Result<(), ParameterError> {
    if holds {
        Ok(())
    } else {
        Err(ParameterError::new(parameter, problem))
    }
}
