//! How values are read: by whose rules, and what there is to say about them.

use fathom_model::Personality;

/// Why a value cannot be read, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is the matter.
    pub problem: String,
    /// The way out.
    pub advice: Option<String>,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Fault {
            problem: problem.into(),
            advice: None,
        }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// The rules in force while a value is read, and the doubts raised by it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Whose meaning words have.
    pub personality: Personality,
    /// `kb_base`: 1024, or 1000.
    pub kb_base: u64,
    /// CPUs online, the limit of lists of CPUs.
    pub cpus: u32,
    /// Doubts, in the order they came up.
    pub notes: Vec<Fault>,
}

impl Reading {
    /// fio's defaults under `personality`, for a machine with `cpus` CPUs.
    #[must_use]
    pub fn new(personality: Personality, cpus: u32) -> Self {
        Reading {
            personality,
            kb_base: 1024,
            cpus,
            notes: Vec::new(),
        }
    }

    /// Whether fio's own meaning is wanted, traps included.
    #[must_use]
    pub fn is_fio(&self) -> bool {
        self.personality == Personality::Fio
    }

    /// Notes a doubt, in `fathom run` only: with fio's personality nothing is doubted.
    pub(crate) fn note(&mut self, note: Fault) {
        if !self.is_fio() {
            self.notes.push(note);
        }
    }
}
