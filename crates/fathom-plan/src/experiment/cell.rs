//! One measurement of an experiment.

use std::path::Path;

use super::QuickError;

/// A job file, what is set in it, and where it goes. Everything that an experiment measures is a list of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedCell {
    /// What is measured, unique in its experiment but for repeats.
    pub key: String,
    /// Where it stands: axis and value, in the order of the axes.
    pub values: Vec<(String, String)>,
    /// Name of the job file in messages.
    pub source: String,
    /// The job file.
    pub job_file: String,
    /// Options that are set in all its jobs, later ones over earlier ones.
    pub settings: Vec<(String, String)>,
    /// Files or devices in place of those of the job file: none leaves them, several are loaded at once, each by all jobs.
    pub targets: Vec<String>,
    /// Which repeat of the same measurement it is, counted from 0.
    pub repeat: u32,
    /// It brings the target into a state; its figures are no result.
    pub prepares: bool,
}

impl PlannedCell {
    /// What it is saved and found by: its key, and which repeat it is.
    #[must_use]
    pub fn id(&self) -> String {
        if self.repeat == 0 {
            self.key.clone()
        } else {
            format!("{} #{}", self.key, self.repeat + 1)
        }
    }

    /// The arguments of `fathom run` that measure it on its target number `side`.
    #[must_use]
    pub fn arguments(&self, side: usize) -> Vec<String> {
        let target = self
            .targets
            .get(side)
            .map(|target| ("filename".to_owned(), target.clone()));
        let sets = self.settings.iter().cloned().chain(target);
        let sets = sets.flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
        std::iter::once(self.source.clone()).chain(sets).collect()
    }

    /// How many plans it has: one for each target.
    #[must_use]
    pub fn sides(&self) -> usize {
        self.targets.len().max(1)
    }
}

/// A path as the value of `filename`.
///
/// # Errors
/// When it would mean something else in a job file.
pub fn file_value(path: &Path) -> Result<String, QuickError> {
    let name = path.to_str().ok_or(QuickError::Name)?;
    let speaks = name.contains("${")
        || name.contains(['\n', '\r', '\0'])
        || name.trim() != name
        || name.contains('\\');
    // A colon separates the files of a job.
    if speaks {
        Err(QuickError::Name)
    } else {
        Ok(name.replace(':', "\\:"))
    }
}
