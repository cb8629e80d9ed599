//! The interface of a build without SQLite: no store can be opened, so no other method is ever called.

use std::convert::Infallible;
use std::path::Path;

use fathom_model::{
    CellContent, Experiment, Interval, Recording, Run, RunId, RunState, StoredCell,
};

use crate::{Copied, RunFilter, StoreError};

/// A store that this build cannot open.
pub struct Store(Infallible);

/// A journal that this build cannot open.
pub struct Journal(Infallible);

/// Never called: whoever needs documents refuses to begin without them.
#[must_use]
pub fn write_recording(_: &Recording) -> Vec<u8> {
    Vec::new()
}

/// Fails: documents belong to the store.
///
/// # Errors
/// Always.
pub fn read_recording(_: &[u8]) -> Result<Recording, StoreError> {
    not_built(Path::new("of another host"))
}

fn not_built<T>(path: &Path) -> Result<T, StoreError> {
    Err(StoreError::NotBuilt {
        store: path.display().to_string(),
    })
}

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "documented where the store is built in"
)]
impl Store {
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        not_built(path)
    }

    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        not_built(path)
    }

    pub fn open_read_only(path: &Path) -> Result<Store, StoreError> {
        not_built(path)
    }

    pub fn path(&self) -> &str {
        match self.0 {}
    }

    pub fn begin(&mut self, _: &Experiment) -> Result<RunId, StoreError> {
        match self.0 {}
    }

    pub fn resume(&mut self, _: RunId, _: &str) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn finish(&mut self, _: RunId, _: RunState, _: u64) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn set_facts(&mut self, _: RunId, _: Vec<(String, String)>) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn add_labels(&mut self, _: RunId, _: &[(String, String)]) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn set_labels(
        &mut self,
        _: RunId,
        _: &[(String, Option<String>)],
    ) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn copy_to(&mut self, _: &mut Store, _: bool) -> Result<Copied, StoreError> {
        match self.0 {}
    }

    pub fn find_runs(
        &mut self,
        _: &RunFilter,
        _: impl FnMut(&Run) -> bool,
    ) -> Result<Vec<Run>, StoreError> {
        match self.0 {}
    }

    pub fn set_planned(&mut self, _: RunId, _: u64) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn runs(&mut self) -> Result<Vec<Run>, StoreError> {
        match self.0 {}
    }

    pub fn unfinished(&mut self) -> Result<Vec<Run>, StoreError> {
        match self.0 {}
    }

    pub fn run(&mut self, _: &str) -> Result<Run, StoreError> {
        match self.0 {}
    }

    pub fn remove(&mut self, _: RunId) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn save_cell(
        &mut self,
        _: RunId,
        _: &StoredCell,
        _: &CellContent,
    ) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn save_cells(
        &mut self,
        _: RunId,
        _: impl IntoIterator<Item = (StoredCell, CellContent)>,
    ) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub fn cells(&mut self, _: RunId) -> Result<Vec<StoredCell>, StoreError> {
        match self.0 {}
    }

    pub fn content(&mut self, _: RunId, _: u64) -> Result<CellContent, StoreError> {
        match self.0 {}
    }

    pub fn journal(&mut self, _: RunId, _: u64) -> Result<Vec<Vec<Interval>>, StoreError> {
        match self.0 {}
    }
}

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "documented where the store is built in"
)]
impl Journal {
    pub fn open(store: &Path, _: RunId, _: u64) -> Result<Journal, StoreError> {
        not_built(store)
    }

    pub fn beside(store: &Store, _: RunId, _: u64) -> Result<Journal, StoreError> {
        match store.0 {}
    }

    pub fn add(&mut self, _: &[(usize, Vec<Interval>)]) -> Result<(), StoreError> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0593: a build without a feature did not say how to get it: here `store`.
    #[test]
    fn the_missing_feature_is_named() {
        let path = Path::new("results.db");
        for error in [
            Store::open(path).err(),
            Store::open_existing(path).err(),
            Store::open_read_only(path).err(),
        ] {
            let text = error.expect("no store").to_string();
            assert!(text.contains("results.db"), "{text}");
            assert!(text.contains("feature `store` is missing"), "{text}");
            assert!(
                text.ends_with("build fathom with `cargo build --features store`"),
                "{text}"
            );
            assert_eq!(text.lines().count(), 1);
        }
    }
}
