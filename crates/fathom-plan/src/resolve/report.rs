//! Mistakes, doubts and remarks gathered while a plan is made.

use crate::diagnostic::{Diagnostic, Severity};

/// Most diagnostics kept; a file that is no job file would produce thousands.
const MOST: usize = 1000;

/// Diagnostics in the order they came up, each once.
#[derive(Debug, Default)]
pub(crate) struct Report {
    all: Vec<Diagnostic>,
}

impl Report {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.all.len() < MOST && !self.all.contains(&diagnostic) {
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

    /// Everything said with this severity, by place.
    pub(crate) fn with(&self, severity: Severity) -> Vec<Diagnostic> {
        self.all
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .cloned()
            .collect()
    }

    /// Errors and warnings, by place, when there is no plan.
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
