//! The figures that the sentences of a diagnosis say, with their names.

use std::cell::RefCell;

use crate::figures;

/// Formats the figures of sentences and keeps them, so that results contain each number that a sentence says.
#[derive(Debug, Default)]
pub(crate) struct FigureLog(RefCell<Vec<(&'static str, f64)>>);

impl FigureLog {
    fn keep(&self, name: &'static str, value: f64) {
        let mut all = self.0.borrow_mut();
        if !all.contains(&(name, value)) {
            all.push((name, value));
        }
    }

    /// A rate, or another number that need not be whole.
    pub(super) fn rate(&self, name: &'static str, value: f64) -> String {
        self.keep(name, value);
        figures::rate(value)
    }

    /// Nanoseconds.
    pub(super) fn duration(&self, name: &'static str, ns: f64) -> String {
        self.keep(name, ns);
        figures::duration(ns)
    }

    /// A share of one, said in percent.
    pub(super) fn percent(&self, name: &'static str, share: f64) -> String {
        self.keep(name, share);
        figures::percent(100.0 * share)
    }

    pub(super) fn count(&self, name: &'static str, value: u64) -> String {
        self.keep(name, value as f64);
        figures::count(value)
    }

    pub(super) fn bytes(&self, name: &'static str, value: u64) -> String {
        self.keep(name, value as f64);
        figures::bytes(value)
    }

    /// What was kept since the last time.
    pub(super) fn take(&self) -> Vec<(&'static str, f64)> {
        self.0.take()
    }
}
