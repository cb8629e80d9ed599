//! An engine with a filter in front of it, which decides when each request may be submitted.

use crate::engine::{Completion, Engine, EngineError, EngineUser, Request, Wait};

/// Decides which requests may be submitted now, and is informed of the outcome.
pub(crate) trait SubmitFilter {
    /// The number of requests at the start of `batch` that may be submitted now. `in_flight` I/Os
    /// of this engine have not completed yet. May wait.
    fn admit(&mut self, engine: &mut dyn Engine, batch: &[Request], in_flight: u32) -> usize;

    /// The engine accepted the first `accepted` of the `admitted` requests.
    fn submitted(&mut self, admitted: &[Request], accepted: usize);

    /// These I/Os have completed; `in_flight` others have not.
    fn completed(&mut self, completions: &mut [Completion], in_flight: u32);
}

/// Gives its user an engine with a filter.
///
/// A single copy of the load loop serves all engines here: it calls them through a table, which
/// costs less than any filter.
pub(crate) struct Filtered<U, F> {
    pub user: U,
    pub filter: F,
}

impl<U: EngineUser, F: SubmitFilter> EngineUser for Filtered<U, F> {
    type Output = U::Output;

    fn run<E: Engine>(self, engine: E, name: &'static str, fallback: Option<String>) -> U::Output {
        let mut engine = engine;
        let filtered = FilteredEngine {
            inner: &mut engine,
            filter: self.filter,
            in_flight: 0,
        };
        let filtered: Box<dyn Engine + '_> = Box::new(filtered);
        self.user.run(filtered, name, fallback)
    }
}

struct FilteredEngine<'a, F> {
    inner: &'a mut dyn Engine,
    filter: F,
    in_flight: u32,
}

impl<F: SubmitFilter> Engine for FilteredEngine<'_, F> {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn is_synchronous(&self) -> bool {
        self.inner.is_synchronous()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        if batch.is_empty() {
            return Ok(0);
        }
        let admitted = self.filter.admit(self.inner, batch, self.in_flight);
        if admitted == 0 {
            return Ok(0);
        }
        let result = self.inner.submit(&batch[..admitted]);
        let accepted = *result.as_ref().unwrap_or(&0);
        self.in_flight += accepted as u32;
        self.filter.submitted(&batch[..admitted], accepted);
        result
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.inner.reap(wait, done)?;
        self.in_flight -= (done.len() - before) as u32;
        self.filter.completed(&mut done[before..], self.in_flight);
        Ok(())
    }
}
