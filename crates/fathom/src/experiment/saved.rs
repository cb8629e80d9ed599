//! The stored inputs of an experiment, and this process's working directory.

use fathom_experiment::{ExperimentTarget, Saved};

/// The inputs of an experiment that starts in the current directory.
///
/// # Errors
/// When the current directory cannot be read.
pub fn save_inputs(arguments: &[String], targets: &[ExperimentTarget]) -> Result<Saved, String> {
    let directory =
        std::env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
    Ok(Saved::of(arguments, &directory, targets))
}

/// Changes to the directory in which the run was started; returns its arguments.
///
/// # Errors
/// When the directory does not exist any more.
pub fn enter_directory(saved: &Saved) -> Result<Vec<String>, String> {
    let directory = saved
        .directory()
        .ok_or("the stored run does not contain its directory")?;
    std::env::set_current_dir(directory).map_err(|error| {
        format!(
            "{}: {error}; the run was started there",
            directory.display()
        )
    })?;
    Ok(saved.arguments())
}
