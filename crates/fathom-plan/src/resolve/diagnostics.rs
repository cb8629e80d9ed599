//! Errors, warnings and notes collected while a plan is made.

use crate::diagnostic::{Diagnostic, Severity};

/// Maximum number of diagnostics kept; a file that is not a job file would produce thousands.
const MAX_COUNT: usize = 1000;

/// Diagnostics in order of occurrence, each once.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    all: Vec<Diagnostic>,
}

impl Diagnostics {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.all.len() < MAX_COUNT && !self.all.contains(&diagnostic) {
            self.all.push(diagnostic);
        }
    }

    pub(crate) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics
            .into_iter()
            .for_each(|diagnostic| self.push(diagnostic));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.all.iter().any(Diagnostic::is_error)
    }

    /// All diagnostics of this severity, in order.
    pub(crate) fn with(&self, severity: Severity) -> Vec<Diagnostic> {
        self.all
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .cloned()
            .collect()
    }

    /// Errors and warnings, sorted by location, when there is no plan.
    pub(crate) fn into_failure(self) -> Vec<Diagnostic> {
        let mut kept: Vec<Diagnostic> = self
            .all
            .into_iter()
            .filter(|diagnostic| diagnostic.severity != Severity::Note)
            .collect();
        kept.sort_by(|a, b| a.at.cmp(&b.at));
        kept
    }
}
