//! The files that record for a later run which writes of this one completed.

use std::path::Path;

use fathom_linux::{OutputName, Outputs};
use fathom_load::VerifyState;
use fathom_model::{Personality, Plan, Recording, RunEnd};

/// Sets the files that jobs with `verify_state_load` read: in the directory of the other files of a run. A job of `fathom run`
/// that only verifies also reads the state of a run that was killed: what that run did not write is unknown, not damaged.
/// Returns a message for each such state.
pub fn find(plan: &mut Plan, directory: &Path) -> Vec<String> {
    let mut messages = Vec::new();
    let personality = plan.personality;
    for job in &mut plan.jobs {
        let name = VerifyState::file_name(&job.name, u64::from(job.number.saturating_sub(1)));
        let targets = VerifyState::targets_of(job);
        if let Some(verify) = job
            .verify
            .as_mut()
            .filter(|verify| verify.only && verify.state_load.is_none())
            .filter(|_| personality == Personality::Fathom)
        {
            let path = directory.join(&name);
            if is_unfinished(&path, targets) {
                messages.push(format!(
                    "{}: the run that wrote did not end; its progress is in {}, and blocks that it may not have written are unknown",
                    job.name,
                    path.display()
                ));
                verify.state_load = Some(path);
            }
            continue;
        }
        if let Some(load) = job
            .verify
            .as_mut()
            .and_then(|verify| verify.state_load.as_mut())
        {
            *load = directory.join(name);
        }
    }
    messages
}

/// Whether `path` is the state of a run that was killed while it wrote these targets.
fn is_unfinished(path: &Path, targets: u64) -> bool {
    std::fs::read(path)
        .ok()
        .and_then(|bytes| VerifyState::decode(&bytes, 1).ok())
        .is_some_and(|state| state.unfinished == Some(targets))
}

/// Saves the states of jobs with `verify_state_save`. Those of other jobs, saved while the run lasted, are removed when it is
/// complete.
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
    for job in recording
        .plan
        .jobs
        .iter()
        .filter(|_| recording.end == RunEnd::Completed && recording.host.simulated.is_none())
    {
        let saved = job
            .verify
            .as_ref()
            .is_none_or(|verify| verify.state_save || verify.only);
        let name = VerifyState::file_name(&job.name, u64::from(job.number.saturating_sub(1)));
        let path = directory.join(name);
        if !saved
            && recording.plan.personality == Personality::Fathom
            && is_unfinished(&path, VerifyState::targets_of(job))
        {
            std::fs::remove_file(&path)
                .map_err(|error| format!("verify state: {}: {error}", path.display()))?;
        }
    }
    Ok(())
}
