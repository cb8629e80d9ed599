//! The files that tell a later run how far the writes of this one came.

use std::path::Path;

use fathom_load::VerifyState;
use fathom_model::{Plan, Recording};

/// Names the files that jobs with `verify_state_load` read: beside the other files a run leaves behind.
pub fn find(plan: &mut Plan, folder: &Path) {
    for job in &mut plan.jobs {
        let name = VerifyState::file_name(&job.name, u64::from(job.number.saturating_sub(1)));
        if let Some(load) = job
            .verify
            .as_mut()
            .and_then(|verify| verify.state_load.as_mut())
        {
            *load = folder.join(name);
        }
    }
}

/// Leaves the states of jobs with `verify_state_save` behind.
///
/// # Errors
/// The first file that could not be written, in words.
pub fn save(recording: &Recording, folder: &Path) -> Result<(), String> {
    for (name, bytes) in recording
        .jobs
        .iter()
        .filter_map(|job| job.verify_state.as_ref())
    {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| {
            format!(
                "the verify state {} could not be written: {error}",
                path.display()
            )
        })?;
    }
    Ok(())
}
