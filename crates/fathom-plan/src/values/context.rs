//! The rules in force while values are parsed, and the errors and notes of parsing.

use std::fmt;

use fathom_model::Personality;

use super::quantity_error::QuantityError;

/// Why a value is invalid, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong.
    pub problem: String,
    /// How to fix it.
    pub advice: Option<String>,
}

impl ValueError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        ValueError {
            problem: problem.into(),
            advice: None,
        }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The error about the quantity `text`.
    pub(crate) fn quantity(text: &str, error: &QuantityError) -> Self {
        let problem = ValueError::new(format!("'{text}' {}", error.problem()));
        match error.advice() {
            Some(advice) => problem.advise(advice),
            None => problem,
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        match &self.advice {
            Some(advice) => write!(f, " ({advice})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ValueError {}

/// The rules in force while values are parsed, and the warnings so far.
#[derive(Clone, Debug)]
pub struct ParseContext {
    /// The unit conventions.
    pub personality: Personality,
    /// `kb_base`: 1024, or 1000.
    pub kb_base: u64,
    /// CPUs online, the limit of CPU lists.
    pub cpus: u32,
    /// Warnings, in order.
    pub notes: Vec<ValueError>,
}

impl ParseContext {
    /// fio's defaults under `personality`, for a machine with `cpus` CPUs.
    #[must_use]
    pub fn new(personality: Personality, cpus: u32) -> Self {
        ParseContext {
            personality,
            kb_base: 1024,
            cpus,
            notes: Vec::new(),
        }
    }

    /// Whether values have exactly fio's meaning.
    #[must_use]
    pub fn is_fio(&self) -> bool {
        self.personality == Personality::Fio
    }

    /// Adds a warning, in `fathom run` only: the fio personality has none.
    pub(crate) fn note(&mut self, note: ValueError) {
        if !self.is_fio() {
            self.notes.push(note);
        }
    }
}
