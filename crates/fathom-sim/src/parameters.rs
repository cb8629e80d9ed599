//! The error of a model whose parameters cannot be.

use std::fmt;

/// A parameter with a value that the model cannot have.
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
