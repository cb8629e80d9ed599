//! One measurement of an experiment.

use std::path::Path;

use super::QuickError;

/// A job file, the options set in it, and its targets. An experiment is a list of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedCell {
    /// The key, unique in its experiment except for repeats.
    pub key: String,
    /// Its values: axis and value, in the order of the axes.
    pub values: Vec<(String, String)>,
    /// Name of the job file in messages.
    pub source: String,
    /// The job file.
    pub job_file: String,
    /// Options that are set in all its jobs; later ones override earlier ones.
    pub settings: Vec<(String, String)>,
    /// Files or devices that replace those of the job file: empty keeps them, several run at the same time, each with all jobs.
    pub targets: Vec<String>,
    /// The number of the repeat, from 0.
    pub repeat: u32,
    /// It only preconditions the target; its figures are not part of the result.
    pub prepares: bool,
}

impl PlannedCell {
    /// The identifier in the store: its key and the number of the repeat.
    #[must_use]
    pub fn id(&self) -> String {
        if self.repeat == 0 {
            self.key.clone()
        } else {
            format!("{} #{}", self.key, self.repeat + 1)
        }
    }

    /// The arguments of `fathom run` for its target number `index`.
    #[must_use]
    pub fn arguments(&self, index: usize) -> Vec<String> {
        let target = self
            .targets
            .get(index)
            .map(|target| ("filename".to_owned(), target.clone()));
        let sets = self.settings.iter().cloned().chain(target);
        let sets = sets.flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
        std::iter::once(self.source.clone()).chain(sets).collect()
    }

    /// The number of plans: one for each target.
    #[must_use]
    pub fn plan_count(&self) -> usize {
        self.targets.len().max(1)
    }
}

/// A path as the value of `filename`.
///
/// # Errors
/// When a job file cannot contain the name.
pub fn file_value(path: &Path) -> Result<String, QuickError> {
    let name = path.to_str().ok_or(QuickError::Name)?;
    let is_invalid = name.contains("${")
        || name.contains(['\n', '\r', '\0'])
        || name.trim() != name
        || name.contains('\\');
    // A colon separates the files of a job.
    if is_invalid {
        Err(QuickError::Name)
    } else {
        Ok(name.replace(':', "\\:"))
    }
}
