//! The files that record for a later run which writes of this one completed.

use std::path::Path;

use fathom_linux::{OutputName, Outputs};
use fathom_load::VerifyState;
use fathom_model::{Plan, Recording};

/// Sets the files that jobs with `verify_state_load` read: in the directory of the other files of a run.
pub fn find(plan: &mut Plan, directory: &Path) {
    for job in &mut plan.jobs {
        let name = VerifyState::file_name(&job.name, u64::from(job.number.saturating_sub(1)));
        if let Some(load) = job
            .verify
            .as_mut()
            .and_then(|verify| verify.state_load.as_mut())
        {
            *load = directory.join(name);
        }
    }
}

/// Saves the states of jobs with `verify_state_save`.
///
/// # Errors
/// The first file that cannot be written.
pub fn save(recording: &Recording, directory: &Path, outputs: &Outputs) -> Result<(), String> {
    for (name, bytes) in recording
        .jobs
        .iter()
        .filter_map(|job| job.verify_state.as_ref())
    {
        let path = directory.join(name);
        outputs
            .write(&path, OutputName::Implicit, bytes)
            .map_err(|error| format!("verify state: {error}"))?;
    }
    Ok(())
}
