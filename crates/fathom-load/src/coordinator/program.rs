//! Jobs of the exec engine: a program runs alongside the load, and the job does no I/O.

use fathom_model::{Job, JobRecording, Nanos, Program};

use crate::clock::Clock;
use crate::host::{Host, HostError};
use crate::job_recording;
use crate::live::{Live, Phase, Stop};

/// Runs such a job until its program, its runtime or the load ends.
///
/// # Errors
/// When the program cannot be started.
pub(super) fn run_program<H: Host>(
    job: &Job,
    program: &Program,
    host: &H,
    live: &Live,
    clock: &impl Clock,
    notes: Vec<String>,
) -> Result<JobRecording, HostError> {
    let launched = clock.now();
    let deadline = job.limits.runtime.map_or(Nanos::MAX, |time| {
        launched
            .saturating_add(job.limits.ramp)
            .saturating_add(time)
    });
    live.enter(Phase::Running);
    let stop = || clock.now() >= deadline || live.stopping() != Stop::No;
    let ended = host.run_program(program, &job.name, &stop)?;
    live.enter(Phase::Done);
    let notes = notes.into_iter().chain(ended).collect();
    Ok(JobRecording {
        tid: host.thread_id(),
        launched,
        measured_from: launched,
        ended: clock.now(),
        notes,
        ..job_recording::empty(job)
    })
}
